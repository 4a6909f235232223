"""The GPU's hardware counters, sampled during a kernel through CUPTI (`cupti-python`).

Each figure is measured in a separate run, together with multiprocessor activity, which identifies the kernel's samples: which
metrics can be sampled together differs by chip, and so do names. A figure that the chip lacks is None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from types import ModuleType
from typing import Any

from warpsmith.core.hardware import Counters, NotCounted

WHEEL = "cupti-python"
_ELAPSED = "avg.pct_of_peak_sustained_elapsed"
_ACTIVITY = f"sm__cycles_active.{_ELAPSED}"
# Alternatives for a figure, of which the first that the chip has is used; the metrics of one alternative are summed.
_MEMORY = ((f"dram__throughput.{_ELAPSED}",), (f"dram__read_throughput.{_ELAPSED}", f"dram__write_throughput.{_ELAPSED}"))
_COMPUTE = ((f"sm__throughput.{_ELAPSED}",), (f"sm__inst_executed_realtime.{_ELAPSED}",), (f"sm__inst_executed.{_ELAPSED}",))
_CACHE = (("lts__t_sector_hit_rate.pct",), ("lts__average_t_sector_hit_rate_realtime.pct",))
_OCCUPANCY = (("sm__warps_active.avg.pct_of_peak_sustained_active",),)
_SAMPLES = 32  # wanted of a launch
_SHORTEST_INTERVAL_NS = 1000
_BUFFER_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Run:
    """A launch to measure: `prepare` empties the caches, `launch` waits for the end. `duration_ns` is its earlier duration."""

    prepare: Callable[[], None]
    launch: Callable[[], None]
    duration_ns: int


def count(index: int, run: Run) -> Counters | NotCounted:
    """For the GPU with that number. The context must be current."""
    bindings = _library()
    if bindings is None:
        return NotCounted(f"CUPTI's bindings are not installed; hint: pip install {WHEEL}")
    cupti, sampling = bindings
    collector = sampling.Collector(device_index=index)
    try:
        collector.enable()
    except PermissionError:
        return NotCounted(
            "the driver does not permit counters (ERR_NVGPUCTRPERM); hint: an administrator sets"
            " NVreg_RestrictProfilingToAdminUsers=0 for the kernel module nvidia; being root does not help a confined worker"
        )
    except (RuntimeError, ValueError, MemoryError, cupti.cuptiError) as error:
        return NotCounted(f"CUPTI does not start: {error}")
    try:
        sampled = [_figure(cupti, sampling, collector, ways, run) for ways in (_MEMORY, _COMPUTE, _CACHE, _OCCUPANCY)]
    finally:
        collector.disable()
    samples = max(len(found) for found in sampled)
    if not samples:
        return NotCounted(f"no sample fell into the {run.duration_ns / 1e3:.1f} µs of a launch, or the chip has no such metric")
    memory, compute, cache_hits, occupancy = (round(fmean(found), 1) if found else None for found in sampled)
    return Counters(memory, compute, cache_hits, occupancy, samples)


def _figure(cupti: ModuleType, sampling: ModuleType, collector: Any, ways: tuple[tuple[str, ...], ...], run: Run) -> list[float]:
    """The figure in each of the kernel's samples; none if the chip does not have it."""
    interval = max(_SHORTEST_INTERVAL_NS, run.duration_ns // _SAMPLES)
    # Turing and GA100 cannot sample by time; a system clock cycle is about a nanosecond.
    by = (sampling.TriggerMode.GPU_TIME_INTERVAL, sampling.TriggerMode.GPU_SYSCLK_INTERVAL)
    for metrics, mode in ((metrics, mode) for metrics in ways for mode in by):
        try:
            collector.configure(
                metrics=[_ACTIVITY, *metrics],
                hardware_buffer_size=_BUFFER_BYTES,
                sampling_interval=interval,
                trigger_mode=mode,
            )
        except (ValueError, cupti.cuptiError):  # not on this chip, or not with the activity in one pass
            continue
        run.prepare()
        collector.start()
        run.launch()
        collector.stop()
        return _at_work([sample.metric_values for sample in collector.decode()])
    return []


def _at_work(samples: list[list[float]]) -> list[float]:
    """Without idle time around the launch, and without its half-idle first and last samples."""
    busiest = max((activity for activity, *_ in samples), default=0.0)
    return [sum(values) for activity, *values in samples if activity > 0 and activity >= busiest / 2]


@cache
def _library() -> tuple[ModuleType, ModuleType] | None:
    try:
        from cupti import cupti, pm_sampling  # type: ignore[import-not-found]  # noqa: PLC0415 - optional
    except (ImportError, RuntimeError):  # the second where a library behind the bindings is missing
        return None
    return cupti, pm_sampling
