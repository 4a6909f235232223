"""NVRTC without a GPU: targets, instances, what the cubin says, and what goes wrong in words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from warpsmith.core.errors import InputError
from warpsmith.devices.base import CompileError
from warpsmith.devices.cuda import CompiledCubin, compile_cubin, sass
from warpsmith.devices.cuda.cubin import read_cubin

SOURCE = """
#include <cstdint>
#include <type_traits>
constexpr int twice(int x) { return 2 * x; }
namespace ours {
template <typename T, int N>
__global__ void __launch_bounds__(128) scale(T* out, const T* in, int n, double by) {
  static_assert(std::is_floating_point_v<T>);
  __shared__ T row[128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  row[threadIdx.x] = i < n ? in[i] : T(0);
  __syncthreads();
  if (i < n) out[i] = row[127 - threadIdx.x] * T(by) * twice(N);
}
}
extern "C" __global__ void plain(float4* p) { p[threadIdx.x + 1] = p[threadIdx.x]; }
"""


def compiled(source: str = SOURCE, target: str = "sm_90", entry: str = "ours::scale<float, 3>", **more: object) -> CompiledCubin:
    return compile_cubin(source, name="kernel.cu", target=target, entry=entry, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a", "sm_100", "sm_120"])
def test_facts_are_those_of_ptxas_and_of_the_disassembler(target: str) -> None:
    result = compiled(target=target)
    (said,) = result.resources.remarks
    assert said.startswith(f"Used {result.resources.registers} registers")
    assert "512 bytes smem" in said
    assert result.resources.shared_bytes == 512
    assert result.resources.barriers == 1
    assert (result.resources.spill_bytes, result.facts.max_threads) == (0, 128)
    assert result.facts.parameter_bytes == (8, 8, 4, 8)
    assert result.entry == "_ZN4ours5scaleIfLi3EEEvPT_PKS1_id"

    instructions = sass(result.cubin, result.entry)
    assert result.resources.instructions == len(instructions)
    assert result.resources.load_bytes == 4
    # Another kernel of the same file, whose loads are wide.
    vectors = compiled(target=target, entry="plain")
    assert vectors.resources.load_bytes == 16
    assert any(".128" in line for line in sass(vectors.cubin, "plain") if line.startswith("LDG"))


def test_spills_are_told_apart_from_a_stack() -> None:
    source = """
    __global__ void __launch_bounds__(1024) crowded(float* p, int n) {
      float r[64];
      for (int i = 0; i < 64; ++i) r[i] = p[i * n + threadIdx.x];
      for (int k = 0; k < n; ++k) for (int i = 0; i < 64; ++i) r[i] = r[i] * r[(i + 7) % 64] + p[k];
      for (int i = 0; i < 64; ++i) p[i * n + threadIdx.x] = r[i];
    }
    __global__ void indexed(float* p, const int* where) {
      float r[64];
      for (int i = 0; i < 64; ++i) r[where[i] & 63] = p[i];
      p[threadIdx.x] = r[where[threadIdx.x]];
    }
    """
    crowded = compiled(source, entry="crowded").resources
    assert crowded.registers == 64
    assert crowded.spill_bytes is not None
    assert crowded.spill_bytes > 0
    indexed = compiled(source, entry="indexed").resources
    assert indexed.spill_bytes == 0
    assert indexed.stack_bytes == 256


def test_equal_code_has_equal_sass_whatever_its_names_are() -> None:
    body = "float s = 0; for (int i = 0; i < n; ++i) s += p[i]; p[threadIdx.x] = s;"
    one = compiled(f"__global__ void a(float* p, int n) {{ {body} }}", entry="a")
    other = compiled(f"__global__ void z(int*) {{}} namespace {{ __global__ void b(float* p, int n) {{ {body} }} }}", entry="b")
    assert sass(one.cubin, one.entry) == sass(other.cubin, other.entry)
    changed = compiled(f"__global__ void a(float* p, int n) {{ {body.replace('+=', '-=')} }}", entry="a")
    assert sass(one.cubin, one.entry) != sass(changed.cubin, changed.entry)
    with pytest.raises(ValueError, match="no kernel nobody"):
        sass(one.cubin, "nobody")


def test_headers_that_come_again_are_precompiled_and_the_code_is_the_same() -> None:
    source = "#include <cuda/std/cstdint>\n__global__ void k(cuda::std::uint32_t* p) { p[threadIdx.x] = N; }"
    results = [compiled(source, entry="k", defines={"N": n}) for n in (7, 8, 7)]
    codes = [sass(result.cubin, result.entry) for result in results]
    assert codes[0] == codes[2] != codes[1]
    assert results[0].resources == results[2].resources
    assert results[2].log == ""
    with pytest.raises(CompileError, match=r'kernel.cu:2: identifier "M" is undefined'):
        compiled(source.replace("N", "M"), entry="k", defines={"N": 7})


def test_parameters_variables_and_options_reach_the_compiler() -> None:
    source = "__constant__ float table[N]; __global__ void k(float* p) { p[threadIdx.x] = WHOLE ? table[threadIdx.x] : 0; }"
    result = compiled(source, entry="k", defines={"N": 8, "WHOLE": True}, variables=["table"], options=["--maxrregcount=16"])
    assert result.variables == {"table": "table"}
    assert result.facts.registers <= 16


@pytest.mark.parametrize(
    ("source", "entry", "reason"),
    [
        ("__global__ void k(float* p) {\n  p[0] = nothing;\n}", "k", r'kernel.cu:2: identifier "nothing" is undefined'),
        ("__global__ void k(float* p) {}", "other", "the entry is not in the source"),
        ("template <class T> __global__ void k(T* p) {}", "k", "hint: name one instance"),
        (
            "__global__ void k(float* p) {}\nvoid run() { k<<<1, 2>>>(nullptr); }",
            "k",
            "kernel.cu:2: a kernel launch, which is host code",
        ),
        ("#include <vector>\n__global__ void k(float* p) {}", "k", "kernel.cu:1: no header 'vector'"),
        (
            '__global__ void k(float* p) { asm("no.such %0;" :: "f"(p[0])); }',
            "k",
            "ptxas: .*no.such|ptxas: Not a name|ptxas: Unknown",
        ),
        (
            "__global__ void k(float* p) { __shared__ float s[20000]; s[threadIdx.x] = p[0]; p[1] = s[7]; }",
            "k",
            "80000 bytes of static shared memory exceed the 49152 of a block",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(source: str, entry: str, reason: str) -> None:
    with pytest.raises(CompileError, match=reason) as caught:
        compiled(source, entry=entry)
    assert "ptxas info" not in caught.value.log


def test_a_target_that_is_none_is_bad_input() -> None:
    with pytest.raises(InputError, match="'h100' is not an NVIDIA target"):
        compiled(target="h100")


def test_bytes_that_are_no_cubin_are_refused() -> None:
    with pytest.raises(ValueError, match="not a 64-bit little-endian ELF"):
        read_cubin(b"nothing", "k")


def test_headers_of_cuda_and_of_the_standard_library(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("constexpr int kOwn = 3;")
    headers = [
        "cuda_fp16.h",
        "cuda_bf16.h",
        "mma.h",
        "algorithm",
        "cmath",
        "limits",
        "utility",
        "cstring",
        "cfloat",
        "climits",
        "cstdint",
        "concepts",
    ]
    text = "".join(f"#include <{header}>\n" for header in headers) + '#include "own.h"\n'
    text += """__global__ void k(__half* p, float* q) {
      static_assert(std::numeric_limits<float>::max() == FLT_MAX && std::max(INT_MAX, kOwn) == INT_MAX);
      static_assert(std::numeric_limits<float>::has_denorm == std::denorm_present && std::numeric_limits<float>::max_digits10 == 9);
      static_assert(std::numeric_limits<unsigned>::is_modulo && std::numeric_limits<int>::round_error() == 0);
      static_assert(std::is_same_v<std::make_index_sequence<3>, std::index_sequence<0, 1, 2>>);
      q[0] = std::fma(std::exp(q[1]), std::sqrt(q[2]), std::min(q[3], INFINITY));
      p[0] = __float2half(q[4]);
    }"""
    assert compiled(text, entry="k", include_dirs=[tmp_path]).resources.spill_bytes == 0


def test_hip_spelling_compiles_for_nvidia() -> None:
    source = """#include <hip/hip_runtime.h>
    #include <hip/hip_fp16.h>
    __global__ void k(__half* p) { p[hipThreadIdx_x] = __float2half(__shfl_xor(__half2float(p[hipThreadIdx_x + 1]), 16)); }"""
    instructions = sass(compiled(source, entry="k").cubin, "_Z1kP6__half")
    assert any("SHFL.BFLY" in line for line in instructions)


def test_compiling_never_touches_the_driver() -> None:
    script = """
import sys
from pathlib import Path
from warpsmith.devices.cuda import compile_cubin
compile_cubin("__global__ void k(float* p) { p[0] = 1; }", name="k.cu", target="sm_90", entry="k")
assert not {"cuda.core", "warpsmith.devices.cuda.driver", "warpsmith.devices.cuda.gpu"} & sys.modules.keys()
assert "libcuda.so" not in Path("/proc/self/maps").read_text()
"""
    subprocess.run([sys.executable, "-c", script], check=True)
