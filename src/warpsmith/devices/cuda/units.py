"""How fast the parts of a multiprocessor are, by compute capability: what estimates of time are made from.

Throughputs: the table "Throughput of Native Arithmetic Instructions" of the CUDA C++ Programming Guide, as cycles for which a
partition's unit is taken by an instruction of a warp. Loads and stores: the number of such units in a multiprocessor, by NVIDIA's
white papers (16 in TU102, GA10x and AD10x, 32 in GA100 and GH100). Sizes of the first cache: the guide's table of technical
specifications. Latencies were measured by Jia et al., "Dissecting the NVidia Turing T4 GPU via Microbenchmarking" (2019), and
Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking" (2024; A100, RTX 4090, H100);
sm_86 has those of sm_80.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpsmith.core.hardware import UnitRates

_KIB = 1024


@dataclass(frozen=True, slots=True)
class Units:
    """`cache_bytes` are shared memory and first cache together."""

    cache_bytes: int
    first_cache_cycles: float
    second_cache_cycles: float
    shared_cycles: float
    rates: UnitRates


def _units(cache_kib: int, latencies: tuple[float, float, float], fma: float, fp64: float, fp16: float, lsu: float) -> Units:
    first, second, shared = latencies
    return Units(cache_kib * _KIB, first, second, shared, UnitRates(fma=fma, fp64=fp64, fp16=fp16, lsu=lsu))


UNITS: dict[tuple[int, int], Units] = {
    (7, 5): _units(96, (32, 188, 19), fma=2, fp64=64, fp16=1, lsu=2),
    (8, 0): _units(192, (37.9, 261.5, 29), fma=2, fp64=2, fp16=0.5, lsu=1),
    (8, 6): _units(128, (37.9, 261.5, 29), fma=1, fp64=64, fp16=1, lsu=2),
    (8, 9): _units(128, (43.4, 273, 30.1), fma=1, fp64=64, fp16=1, lsu=2),
    (9, 0): _units(256, (40.7, 263, 29), fma=1, fp64=2, fp16=0.5, lsu=1),
}
