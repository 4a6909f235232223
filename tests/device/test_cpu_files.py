"""Kernels in the files people have: with headers of their own, beside code that cannot run here, in any encoding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cpu_support import launch

from warpsmith.core.errors import UnsupportedFeature
from warpsmith.devices.base import CompileError

OUT = np.zeros(64, np.float32)
KERNEL = "__global__ void k(float* o) { o[threadIdx.x] = twice(threadIdx.x); }\n"
TWICE = "__device__ float twice(float x) { return 2 * x; }\n"
EXPECTED = 2 * np.arange(64, dtype=np.float32)


def run_file(folder: Path, source: str | bytes, **headers: str | bytes) -> None:
    """Runs `k` of the source, with these headers (`name.cuh`) beside it, and checks that it doubled."""
    for name, text in headers.items():
        (folder / f"{name}.cuh").write_bytes(text if isinstance(text, bytes) else text.encode())
    text = source.decode(errors="replace") if isinstance(source, bytes) else source
    np.testing.assert_array_equal(launch(text, [OUT], folder=folder), EXPECTED)


def test_host_code_in_headers_of_the_users(tmp_path: Path) -> None:
    util = """#pragma once
    #include <torch/extension.h>
    #include <ATen/cuda/CUDAContext.h>
    #define CHECK(x) TORCH_CHECK(x.is_cuda())
    inline void fail(const char* message) { fprintf(stderr, "%s", message); abort(); }
    at::Tensor forward(at::Tensor x, const std::vector<int>& shape);
    struct Holder { at::Tensor tensor; std::vector<float> values; };
    """
    binding = "at::Tensor forward(at::Tensor x) { k<<<1, 64>>>(x.data_ptr<float>()); return x; }\nPYBIND11_MODULE(x, m) {}\n"
    run_file(tmp_path, f'#include "outer.cuh"\n{KERNEL}{binding}', outer=f'#include "util.cuh"\n{TWICE}', util=util)


@pytest.mark.parametrize(
    "other",
    [
        "texture<float, 2> image;\n__global__ void other(float* o) { o[0] = tex2D(image, 1, 2); }",
        "__device__ float at(cudaTextureObject_t image) { return tex1Dfetch<float>(image, 1); }",
        "#include <mma.h>\n__global__ void other(half* a) { nvcuda::wmma::fragment<nvcuda::wmma::matrix_a> f; }",
        '__device__ short bits() { short r; asm("mov.b16 %0, 1;" : "=h"(r)); return r; }',
        "template <class T> struct Loader { __device__ T load(T* p) { return __made_up(p); } };",
        "#include <curand_kernel.h>\n__global__ void other(curandState* s) { curand_init(1, 2, 3, s); }",
    ],
    ids=["texture", "texture-object", "tensor-cores", "assembly", "member", "curand"],
)
def test_code_beside_the_kernel_does_not_count_against_it(tmp_path: Path, other: str) -> None:
    run_file(tmp_path, f"{other}\n{TWICE}{KERNEL}")
    run_file(tmp_path, f'#include "other.cuh"\n{TWICE}{KERNEL}', other=other)


REACHED = {
    "function": """__device__ float twice(float x) {
      float y = x;
      return made_up(y);
    }""",
    # Neither another overload nor the general template may take the place of what does not compile.
    "overload": """__device__ float f(float x) { return x; }
    __device__ float f(int x) {
      return made_up(x);
    }
    __device__ float twice(int x) { return f(x); }""",
    "specialised function": """template <class T> struct F { static __device__ T f() { return 2; } };
    template <> struct F<float> {
      static __device__ float f() { return made_up(); } };
    __device__ float twice(float x) { return F<float>::f() * x; }""",
    "specialised function on one line": """template <class T> struct F { static __device__ T f() { return 2; } };

    template <> struct F<float> { static __device__ float f() { return made_up(); } };
    __device__ float twice(float x) { return F<float>::f() * x; }""",
    "specialised constant": """template <class T> struct F { static constexpr T f = 2; };
    template <> struct F<float> {
      static constexpr float f = made_up; };
    __device__ float twice(float x) { return F<float>::f * x; }""",
}


@pytest.mark.parametrize("other", REACHED.values(), ids=REACHED.keys())
def test_what_the_kernel_reaches_is_refused_with_its_line(tmp_path: Path, other: str) -> None:
    with pytest.raises(CompileError, match=r"kernel\.cu:3: .*made_up"):
        run_file(tmp_path, f"{other}\n{KERNEL}")


def test_a_refused_feature_is_named_where_it_is_used(tmp_path: Path) -> None:
    twice = "__device__ float twice(float x) {\n  nvcuda::wmma::fragment<int> f;\n  return x;\n}\n"
    with pytest.raises(UnsupportedFeature, match=r"tensor cores") as refusal:
        run_file(tmp_path, f"#include <mma.h>\n{twice}{KERNEL}")
    assert refusal.value.location is not None
    assert refusal.value.location.line == 3


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: b"// caf\xe9\n" + text.encode(),
    ],
    ids=["crlf", "byte-order-mark", "latin-1"],
)
def test_encodings(tmp_path: Path, encode) -> None:
    header = "// ünïcode ©\n#define TWICE(x) \\\n  ((x) * 2)\n__device__ float twice(float x) { return TWICE(x); }\n"
    run_file(tmp_path, encode(f'#include "header.cuh"\n{KERNEL}'), header=encode(header))


def test_a_missing_header_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"kernel\.cu:2: 'nowhere\.h' file not found"):
        run_file(tmp_path, f'\n#include "nowhere.h"\n{TWICE}{KERNEL}')
    with pytest.raises(CompileError, match=r"header\.cuh:3: 'nowhere/else\.h' file not found"):
        run_file(tmp_path, f'#include "header.cuh"\n{TWICE}{KERNEL}', header="\n\n#include <nowhere/else.h>\n")


def test_a_missing_host_header_takes_no_header_of_ours_with_it(tmp_path: Path) -> None:
    pairs = (
        ("curand.h", "curand_kernel.h"),
        ("thrust/sort.h", "thrust/complex.h"),
        ("cub/device/device_scan.cuh", "cub/util_type.cuh"),
    )
    includes = "".join(f"#include <{missing}>\n#include <{ours}>\n" for missing, ours in pairs)
    twice = """__device__ float twice(float x) {
      curandState state;
      curand_init(1, 2, 3, &state);
      const thrust::complex<float> z(x, 0);
      const cub::KeyValuePair<int, float> pair{1, z.real() + (curand_uniform(&state) > 2)};
      return 2 * pair.value;
    }
    """
    run_file(tmp_path, includes + twice + KERNEL)


def test_a_header_that_is_parsed_beforehand_is_not_in_the_way_of_who_does_not_include_it() -> None:
    commented_out = "/*\n#include <cuda_fp16.h>\n*/\nstruct half { float value; };\n"
    source = f"{commented_out}__global__ void k(float* o) {{ half h{{2}}; o[threadIdx.x] = h.value; }}"
    np.testing.assert_array_equal(launch(source, [np.zeros(64, np.float32)]), np.full(64, 2))


def test_a_name_that_a_left_out_header_may_have_had_says_so(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"'twice'; hint: not found and left out: helper_image\.h"):
        run_file(tmp_path, f'#include "helper_image.h"\n{KERNEL}')


def test_arguments_that_do_not_fit_a_class_of_a_library_are_no_missing_feature(tmp_path: Path) -> None:
    source = """#include <cub/block/block_reduce.cuh>
    __global__ void k(float* x) {
      __shared__ cub::BlockReduce<float, 64>::TempStorage other;
      x[0] = cub::BlockReduce<float, 32>(other).Sum(x[0]);
    }"""
    with pytest.raises(CompileError, match="no matching conversion"):
        run_file(tmp_path, source)


def test_a_function_without_a_body_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeature, match=r"kernel\.cu:3: .* a call of twice, which is declared and defined nowhere"):
        run_file(tmp_path, f"namespace a {{ __device__ float twice(float x); }}\nusing a::twice;\n{KERNEL}")


def test_another_configuration_gets_what_the_first_one_could_not_use(tmp_path: Path) -> None:
    source = """
    #if WIDE
    struct Wide { float v; };
    #endif
    __device__ float f(float x) { return 0 * x; }
    __device__ float f(Wide x) { return 2 * x.v; }
    #if WIDE
    __device__ float twice(float x) { return f(Wide{x}); }
    #else
    __device__ float twice(float x) { return f(x) + 2 * x; }
    #endif
    """
    for wide in (0, 1, 0, 1):
        np.testing.assert_array_equal(launch(source + KERNEL, [OUT], folder=tmp_path, defines={"WIDE": wide}), EXPECTED)


def test_a_header_that_was_edited_is_read_again(tmp_path: Path) -> None:
    host = "#include <torch/extension.h>\nat::Tensor forward(at::Tensor x);\n"
    run_file(tmp_path, f'#include "header.cuh"\n{KERNEL}', header=host + TWICE)
    (tmp_path / "header.cuh").write_text(host + TWICE.replace("2 * x", "3 * x"))
    np.testing.assert_array_equal(launch(f'#include "header.cuh"\n{KERNEL}', [OUT], folder=tmp_path), EXPECTED * 1.5)


def test_folders_may_have_quotes_and_backslashes_in_their_names(tmp_path: Path) -> None:
    folder = tmp_path / 'a "b" \\c'
    folder.mkdir()
    run_file(folder, f'#include "own.cuh"\n{KERNEL}', own=TWICE)
