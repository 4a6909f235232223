"""Code objects for AMD GPUs without ROCm: what their metadata says, against clang's own remarks."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace

import pytest

from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError, UnsupportedFeature
from warpsmith.core.hardware import Geometry, Language, Limiter
from warpsmith.devices._elf import Elf
from warpsmith.devices.base import CompileError, CompileRequest, ParameterType
from warpsmith.devices.hip import CompiledCodeObject, compile_code_object, hiprtc
from warpsmith.devices.hip.occupancy import occupancy, waves_by_registers
from warpsmith.devices.hip.target import TARGETS
from warpsmith.devices.registry import load_device

REMARKS = ("-Rpass-analysis=kernel-resource-usage",)


def compiled(source: str, target: str, entry: str = "k", **more: object) -> CompiledCodeObject:
    return compile_code_object(source, name="kernel.hip", target=target, entry=entry, **more)  # type: ignore[arg-type]


def pressing(registers: int, shared: int, threads: int) -> str:
    """A kernel that keeps so many values alive, in blocks of exactly so many threads."""
    tile = f"__shared__ float tile[{shared}]; tile[threadIdx.x % {shared}] = r[0]; __syncthreads(); r[0] += tile[{shared} / 2];"
    return f"""
    __global__ void __attribute__((amdgpu_flat_work_group_size({threads}, {threads}))) k(float* p, const float* q, int m) {{
      float r[{registers}];
      for (int i = 0; i < {registers}; ++i) r[i] = q[threadIdx.x + i * m];
      {tile if shared else ""}
      for (int j = 0; j < m; ++j) for (int i = 0; i < {registers}; ++i) r[i] = r[i] * q[j] + r[{registers} - 1 - i];
      for (int i = 0; i < {registers}; ++i) p[threadIdx.x + i * m] = r[i];
    }}"""


CASES = [(name, *case) for name in TARGETS for case in ((90, 2977, 64), (45, 3141, 128))]


@pytest.mark.parametrize(
    ("name", "registers", "shared", "threads"), [*CASES, ("gfx942", 200, 0, 1024), ("gfx1100", 200, 0, 1024)]
)
def test_figures_are_those_of_clangs_remark(name: str, registers: int, shared: int, threads: int) -> None:
    target = TARGETS[name]
    result = compiled(pressing(registers, shared, threads), name, options=REMARKS)

    def remark(what: str) -> int:
        found = re.search(rf"{re.escape(what)}: (\d+)", result.log)
        assert found is not None, result.log
        return int(found[1])

    facts = result.facts
    assert facts.shared_bytes == remark("LDS Size [bytes/block]") == 4 * shared
    assert facts.stack_bytes == remark("ScratchSize [bytes/lane]")
    assert facts.scalar_registers == remark("TotalSGPRs")
    assert facts.spilled_vector_registers == remark("VGPRs Spill")
    assert (facts.wave_size, facts.max_threads) == (target.wave_size, threads)
    assert result.code[8] == 3  # ELFABIVERSION_AMDGPU_HSA_V5

    # clang tells the waves of a SIMD, counts parts of blocks where registers limit, and leaves out that the LDS is given out in
    # steps; the hardware runs whole blocks.
    found = occupancy(replace(target, shared_granularity=1), result.resources, Geometry((1, 1, 1), (threads, 1, 1)))
    waves = -(-threads // target.wave_size)
    others = min(count for limiter, count in found.by if limiter is not Limiter.REGISTERS)
    assert remark("Occupancy [waves/SIMD]") == min(
        waves_by_registers(target, result.resources), -(-others * waves // target.simds)
    )
    assert found.blocks * waves <= target.simds * remark("Occupancy [waves/SIMD]")


CUDA_SOURCE = """
#include <cuda_fp16.h>
#include <stdint.h>
__constant__ float table[64];
template <typename T>
__global__ void __launch_bounds__(256) k(T* out, const float4* in, int n) {
  extern __shared__ float row[];
  const float4 x = in[blockIdx.x * blockDim.x + threadIdx.x];
  float sum = x.x + x.y + x.z + x.w + table[threadIdx.x % 64];
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (__ballot_sync(0xffffffffu, sum > 0) == 0xffffffffu) sum = rsqrtf(expf(sum));
  row[threadIdx.x] = sum;
  __syncthreads();
  out[gridDim.x * n] = T(row[255 - threadIdx.x]);
}
__global__ void needs_library(float* p) { p[0] = sinf(p[1]); }
"""


@pytest.mark.parametrize("name", TARGETS)
def test_cuda_spelling_compiles_for_every_target(name: str) -> None:
    result = compiled(CUDA_SOURCE, name, "k<__half>", language=Language.CUDA, variables=["table"])
    assert result.variables == {"table": "table"}
    assert result.facts.parameter_bytes == (8, 8, 4)
    assert result.facts.max_threads == 256
    assert result.resources.load_bytes == 16
    assert result.resources.instructions is not None
    assert result.resources.instructions > 20


@pytest.mark.parametrize(
    ("before", "behind", "lowered"),
    [("", "", "table"), ("static ", "", "_ZL5table"), ("namespace { ", " }", "_ZN12_GLOBAL__N_15tableE")],
)
def test_constants_of_the_file_alone_are_filled_too(before: str, behind: str, lowered: str) -> None:
    source = f"{before}__constant__ float table[4];{behind} __global__ void k(float* p) {{ p[0] = table[1]; }}"
    result = compiled(source, "gfx942", variables=["table"])
    assert result.variables == {"table": lowered}
    assert lowered in {symbol.name for symbol in Elf(result.code).symbols}
    assert result.resources.instructions is not None
    assert result.resources.instructions > 5  # it is read, not taken for the zero that it begins with


@pytest.mark.parametrize("device", ["cuda:sm_75", "cuda:sm_120", "hip:gfx942"])
def test_what_outlives_a_launch_is_told_and_nothing_else(device: str) -> None:
    source = """
        #include <assert.h>
        __device__ float kept[4] = {1.0f};
        namespace { __device__ unsigned char bytes[5]; }
        __constant__ float scale[2];
        __global__ void k(float* out, int n) {
            __shared__ float s[64];
            s[threadIdx.x] = out[threadIdx.x];
            __syncthreads();
            assert(n < 1000);
            out[threadIdx.x] = s[n] * scale[0] + kept[n] + bytes[n]++;
            kept[threadIdx.x] = n;
        }"""
    types = (ParameterType("out", DType.F32, is_pointer=True), ParameterType("n", DType.I32, is_pointer=False))
    constants = (ParameterType("scale", DType.F32, is_pointer=True),)
    geometry = Geometry((1, 1, 1), (64, 1, 1))
    binary = load_device(device).compile(
        CompileRequest(source, Path("/k.cu"), Language.CUDA, "k", types, geometry, constants=constants)
    )
    assert sorted(binary.lasting_bytes.values()) == [5, 16]


def test_a_hip_wave_is_the_targets() -> None:
    source = """#include <hip/hip_runtime.h>
    __global__ void k(unsigned long long* p) { static_assert(warpSize == WAVE); p[hipThreadIdx_x] = __ballot(p[0] > 1); }"""
    compiled(source, "gfx942", defines={"WAVE": 64})
    compiled(source, "gfx1100", defines={"WAVE": 32})


class StandInHiprtc:
    """The calls and answers of `hip.hiprtc`, which is not here. What it returns our own clang made of another text."""

    hiprtcResult = IntEnum("hiprtcResult", {"HIPRTC_SUCCESS": 0, "HIPRTC_ERROR_COMPILATION": 6})  # noqa: N815 - the library's

    def __init__(self, code: bytes, entry: str) -> None:
        self.code, self.entry = code, entry
        self.options: list[bytes] = []
        self.is_destroyed = False

    def hiprtcVersion(self):
        return self.hiprtcResult.HIPRTC_SUCCESS, 7, 0

    def hiprtcCreateProgram(self, source, name, count, headers, names):
        assert (count, headers, names) == (0, None, None)
        self.is_wrong = b"wrong" in source
        return self.hiprtcResult.HIPRTC_SUCCESS, SimpleNamespace(createRef=lambda: "a reference")

    def hiprtcAddNameExpression(self, _program, expression):
        assert expression in {b"k", b"&table"}
        return (self.hiprtcResult.HIPRTC_SUCCESS,)

    def hiprtcCompileProgram(self, _program, count, options):
        assert count == len(options)
        self.options = options
        return (self.hiprtcResult.HIPRTC_ERROR_COMPILATION if self.is_wrong else self.hiprtcResult.HIPRTC_SUCCESS,)

    def hiprtcGetProgramLogSize(self, _program):
        return self.hiprtcResult.HIPRTC_SUCCESS, len(WRONG) if self.is_wrong else 1

    def hiprtcGetProgramLog(self, _program, log):
        log[:] = WRONG if self.is_wrong else b"\0"
        return (self.hiprtcResult.HIPRTC_SUCCESS,)

    def hiprtcGetCodeSize(self, _program):
        return self.hiprtcResult.HIPRTC_SUCCESS, len(self.code)

    def hiprtcGetCode(self, _program, code):
        code[:] = self.code
        return (self.hiprtcResult.HIPRTC_SUCCESS,)

    def hiprtcGetLoweredName(self, _program, expression):
        return self.hiprtcResult.HIPRTC_SUCCESS, self.entry if expression == b"k" else "table"

    def hiprtcDestroyProgram(self, reference):
        self.is_destroyed = reference == "a reference"
        return (self.hiprtcResult.HIPRTC_SUCCESS,)


WRONG = b"kernel.hip:1:40: error: use of undeclared identifier 'wrong'\n\0"


def test_where_rocm_is_installed_its_hiprtc_compiles_what_needs_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = compiled("__constant__ float table[4]; __global__ void k(float* p) { p[0] = p[1] * table[2]; }", "gfx942")
    found = StandInHiprtc(plain.code, plain.entry)
    monkeypatch.setattr(hiprtc, "_bindings", lambda: found)
    hiprtc.version.cache_clear()
    try:
        source = "__constant__ float table[4]; __global__ void k(float* p) { p[0] = sinf(p[1] * table[N]); }"
        result = compiled(source, "gfx942", defines={"N": 2}, variables=["table"])
        assert (result.code, result.entry, result.variables) == (plain.code, plain.entry, {"table": "table"})
        assert result.resources.registers == plain.resources.registers
        assert result.resources.instructions is None, "nobody showed the code as text"
        assert {b"--offload-arch=gfx942", b"-DN=2"} <= set(found.options)
        assert found.is_destroyed
        with pytest.raises(CompileError, match=r"kernel.hip:1: use of undeclared identifier 'wrong'"):
            compiled(source + "// wrong", "gfx942", defines={"N": 2}, variables=["table"])
    finally:
        hiprtc.version.cache_clear()


def test_what_only_rocms_library_has_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeature, match="__ocml_sin_f32"):
        compiled(CUDA_SOURCE, "gfx942", "needs_library", language=Language.CUDA)


@pytest.mark.parametrize(
    ("source", "entry", "reason"),
    [
        ("__global__ void k(float* p) {\n  p[0] = nothing;\n}", "k", "kernel.hip:2: use of undeclared identifier 'nothing'"),
        ("__global__ void k(float* p) {}", "other", "the entry is not in the source"),
        ("template <class T> __global__ void k(T* p) {}", "k", "hint: name one instance"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(source: str, entry: str, reason: str) -> None:
    with pytest.raises(CompileError, match=reason):
        compiled(source, "gfx942", entry)


def test_an_unknown_target_is_bad_input() -> None:
    with pytest.raises(InputError, match="the limits of gfx803 are not known"):
        compiled("__global__ void k(float* p) {}", "gfx803")


def test_a_launch_that_does_not_fit_says_why() -> None:
    result = compiled(pressing(4, 0, 64), "gfx942")
    found = occupancy(TARGETS["gfx942"], result.resources, Geometry((1, 1, 1), (64, 1, 1), 70_000))
    assert found.problem == "70000 bytes of shared memory exceed the 65536 of a block"


def test_assembly_of_another_gpu_is_named() -> None:
    with pytest.raises(CompileError, match=r"inline assembly that is not gfx942's: mov\.u32 \w+, %laneid;"):
        compiled('__global__ void k(int* p) { int x; asm("mov.u32 %0, %%laneid;" : "=r"(x)); p[0] = x; }', "gfx942")


def test_warp_primitives_of_cub_compile_too() -> None:
    body = "__shared__ cub::BlockReduce<float, 256>::TempStorage s; const float v = cub::BlockReduce<float, 256>(s).Sum(p[threadIdx.x]);"
    found = compiled(
        f"#include <cub/cub.cuh>\n__global__ void k(float* p) {{ {body} if (threadIdx.x == 0) p[0] = v; }}", "gfx942"
    )
    assert found.resources.registers
