"""What need not be said: where the code base's headers lie, its name for the architecture, PyTorch's names for types."""

from __future__ import annotations

from pathlib import Path

import pytest
from extract_support import ACME, from_text

from warpsmith.core.errors import InputError
from warpsmith.source.extract import Extraction, ExtractRequest, extract

KERNEL = "__global__ void k(int* x) { x[0] = twice(2); }\n"
TWICE = "__device__ inline int twice(int x) { return 2 * x; }\n"


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def taken(source: Path) -> Extraction:
    return extract(ExtractRequest(source, "k"))


def test_headers_are_found_beside_the_sources():
    found = extract(ExtractRequest(ACME / "src" / "scale.cu", "packed_scale_kernel", defines={"ACME_ARCH": "800"}))
    named = ExtractRequest(ACME / "src" / "scale.cu", "packed_scale_kernel", None, (ACME / "include",), {"ACME_ARCH": "800"})
    assert found.folders == (ACME / "include",)
    assert found.source_text == extract(named).source_text


@pytest.mark.parametrize("place", ["own/util/twice.h", "own/include/util/twice.h", "own/core/include/util/twice.h"])
def test_upwards_in_includes_and_in_those_of_neighbours(tmp_path: Path, place: str):
    written(tmp_path, {"own/part/deep/k.cu": f"#include <util/twice.h>\n{KERNEL}", place: TWICE})
    found = taken(tmp_path / "own" / "part" / "deep" / "k.cu")
    assert found.folders == ((tmp_path / place).parents[1],)
    assert "return 2 * x" in found.source_text


def test_a_header_that_another_folders_header_includes_is_looked_for_beside_the_source(tmp_path: Path):
    written(
        tmp_path, {"own/all.h": '#include "twice.h"\n', "own/part/k.cu": f'#include "all.h"\n{KERNEL}', "own/part/twice.h": TWICE}
    )
    assert "return 2 * x" in taken(tmp_path / "own" / "part" / "k.cu").source_text


@pytest.mark.parametrize("places", [["a/include/util/twice.h", "b/include/util/twice.h"], [".hidden/include/util/twice.h"]])
def test_nothing_is_guessed_and_nothing_hidden(tmp_path: Path, places: list[str]):
    written(tmp_path, {"src/k.cu": f"#include <util/twice.h>\n{KERNEL}", **dict.fromkeys(places, TWICE)})
    found = taken(tmp_path / "src" / "k.cu")
    assert found.folders == ()
    assert "return 2 * x" not in found.source_text


def test_a_copy_of_the_toolkit_is_not_the_code_base(tmp_path: Path):
    source = "#include <cub/cub.cuh>\n__global__ void k(int* x) { x[0] = cub::Twice(2); }\n"
    written(tmp_path, {"src/k.cu": source, "cccl/include/cub/cub.cuh": TWICE})
    assert taken(tmp_path / "src" / "k.cu").folders == ()


def test_the_architecture_by_the_code_bases_own_name(tmp_path: Path):
    text = """
#ifndef MINE_CUDA_ARCH
#error "MINE_CUDA_ARCH is not defined; pass -DMINE_CUDA_ARCH"
#endif
__global__ void k(int* x) { x[0] = MINE_CUDA_ARCH; }
"""
    found = from_text(tmp_path, text)
    assert found.assumed == {"MINE_CUDA_ARCH": "800"}
    assert "#define MINE_CUDA_ARCH 800" in found.source_text


def test_instances_that_the_code_itself_has_are_shown(tmp_path: Path):
    text = """
template <int N, bool B> __global__ void k(int* x) { x[0] = N; }
template <int M> void launch(int* x) { k<M, true><<<1, 1>>>(x); k<4, false><<<1, 1>>>(x); }
"""
    with pytest.raises(InputError) as error:
        from_text(tmp_path, text)
    assert "the code has k<4, false>, k<M, true>" in str(error.value)


@pytest.mark.parametrize("declared", ["", "__global__ void k(int* x);\n"])
def test_where_it_is_defined_instead(tmp_path: Path, declared: str):
    written(tmp_path, {"include/k.cuh": declared, "src/other.cu": f"\n{TWICE}{KERNEL}"})
    with pytest.raises(InputError) as error:
        taken(tmp_path / "include" / "k.cuh")
    assert f"{tmp_path / 'src' / 'other.cu'}:3" in str(error.value)


TENSORS = """
#include <torch/types.h>
template <typename T> struct Pair;
template <> struct Pair<__half> { using type = __half2; };
template <> struct Pair<c10::Half> { using type = __half2; };
template <> struct Pair<c10::BFloat16> { using type = __nv_bfloat162; };
template <typename T> __global__ void k(typename Pair<T>::type* x) {
  static_assert(!std::is_same_v<T, c10::Float8_e4m3fnuz>);
  __asm__ __volatile__("");
  x[0] = x[1];
}
"""


def test_pytorchs_names_for_the_toolkits_types(tmp_path: Path):
    text = from_text(tmp_path, TENSORS, instance="k<c10::BFloat16>").source_text
    assert "using BFloat16 = __nv_bfloat16;" in text
    assert "struct Pair<c10::BFloat16>" in text
    assert "struct Pair<__half>" in text
    assert "struct Pair<c10::Half>" not in text, "it would be the one for __half again"
    assert "#include <cuda_bf16.h>" in text
    assert "struct Float8_e4m3fnuz;" in text
    assert "#define __asm__ asm" in text, "a spelling of the host's compiler"
    assert "torch/" not in text


AMDS = """
#include <torch/types.h>
template <typename T> struct Largest { static constexpr float value = 448; };
template <> struct Largest<c10::Float8_e4m3fnuz> {
  static constexpr c10::Float8_e4m3fnuz value() { return c10::Float8_e4m3fnuz(126, c10::Float8_e4m3fnuz::from_bits()); }
};
template <typename T> __global__ void k(float* x) { x[0] = Largest<T>::value; }
"""


def test_what_is_for_amds_types_alone_is_left_out(tmp_path: Path):
    text = from_text(tmp_path, AMDS, instance="k<c10::Float8_e4m3fn>").source_text
    assert "Largest<c10::Float8_e4m3fnuz>" not in text, "a type that is only named has no values"
    assert "value = 448" in text


LIMITS = """
#include <torch/types.h>
template <typename T> struct Top { C10_HOST_DEVICE static constexpr T value() { return std::numeric_limits<T>::max(); } };
template <> struct Top<__nv_fp8_e4m3> { static constexpr float value() { return 1; } };
template <> struct Top<c10::Float8_e5m2> { C10_DEVICE C10_ALWAYS_INLINE static float value() { return 2; } };
template <typename T> __global__ void C10_LAUNCH_BOUNDS_1(64) k(float* x) { x[0] = Top<T>::value(); x[1] = at::Half(x[0]); }
"""


def test_limits_and_marks_of_pytorch(tmp_path: Path):
    text = from_text(tmp_path, LIMITS, instance="k<c10::Float8_e4m3fn>").source_text
    assert "class numeric_limits<pytorch::Float8_e4m3fn>" in text, "else its largest number would be 0"
    assert "class numeric_limits<__half>" in text
    assert "using Float8_e4m3fn = pytorch::Float8_e4m3fn;" in text
    assert "struct Top<__nv_fp8_e4m3>" in text
    assert "C10_DEVICE C10_ALWAYS_INLINE static float value()" in text, "a member for the device"
    assert "#define C10_HOST_DEVICE __host__ __device__" in text
    assert "#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__((threads))" in text


def test_headers_that_come_along_with_pytorchs(tmp_path: Path):
    text = "#include <torch/types.h>\n__global__ void k(float* x) { __half h = __float2half(x[0]); x[0] = h; }\n"
    assert "#include <cuda_fp16.h>" in from_text(tmp_path, text).source_text


def test_function_objects_of_the_toolkits_library(tmp_path: Path):
    text = "#include <cub/cub.cuh>\nusing Max = cuda::maximum<>;\n__global__ void k(float* x) { x[0] = Max{}(x[1], x[2]); }\n"
    assert "#include <cuda/functional>" in from_text(tmp_path, text).source_text, "cub's headers bring it along"


TABLES = """
#define TABLE_BEGIN(type, name, size) static const __device__ type name[size] = {
#define TABLE_END() };
TABLE_BEGIN(int, unused, 3)
  7, 8, 9
TABLE_END()
TABLE_BEGIN(int, steps, 4)
  1, 2,
  3, 4,
TABLE_END()
namespace inner {
TABLE_BEGIN(float, factors, 2) 0.5f, 0.25f TABLE_END()
__device__ int twice(int x) { return 2 * x; }
}
__global__ void k(int* x) { x[0] = inner::twice(steps[x[1]]); }
"""


def test_tables_between_two_macros(tmp_path: Path):
    text = from_text(tmp_path, TABLES).source_text
    assert "TABLE_BEGIN(int, steps, 4)\n  1, 2,\n  3, 4,\nTABLE_END()" in text
    assert "#define TABLE_END() };" in text
    assert "unused" not in text
    assert "__device__ int twice" in text


def test_other_things_of_pytorch_are_missed(tmp_path: Path):
    with pytest.raises(InputError, match="torch/types"):
        from_text(tmp_path, "#include <torch/types.h>\n__global__ void k(int* x) { x[0] = torch::twice(2); }\n")


def test_the_toolkits_libraries_have_the_toolkits_version(tmp_path: Path):
    text = "#include <cub/cub.cuh>\n#if CUB_VERSION >= 200800\n#define NEW 1\n#else\n#define NEW 0\n#endif\n"
    assert "#define NEW 1" in from_text(tmp_path, text + "__global__ void k(int* x) { x[0] = NEW; }\n").source_text


@pytest.mark.parametrize("place", ["own/includes/twice.h", "own/inc/twice.h"])
def test_other_names_of_the_folder_with_headers(tmp_path: Path, place: str):
    written(tmp_path, {"own/part/k.cu": f'#include "twice.h"\n{KERNEL}', place: TWICE})
    assert "return 2 * x" in taken(tmp_path / "own" / "part" / "k.cu").source_text


def test_a_header_that_includes_nothing_is_read_with_what_includes_it(tmp_path: Path):
    whole = f'#define MANY 3\n{TWICE}#include "part/k.cuh"\n'
    written(tmp_path, {"own/whole.cu": whole, "own/part/k.cuh": "__global__ void k(int* x) { x[0] = twice(MANY); }\n"})
    found = taken(tmp_path / "own" / "part" / "k.cuh")
    assert "return 2 * x" in found.source_text
    assert "#define MANY 3" in found.source_text


def test_a_build_that_switches_the_kernel_on(tmp_path: Path):
    text = f"#ifdef USE_CUDA\n#if defined(FAST_MATH)\n{TWICE}{KERNEL}#endif\n#endif\n"
    found = from_text(tmp_path, text)
    assert found.assumed == {"USE_CUDA": "1", "FAST_MATH": "1"}
    assert "-D USE_CUDA=1" in found.source_text


@pytest.mark.parametrize("condition", ["#ifdef USE_ROCM", "#ifndef USE_CUDA\n#else", "#if LEVEL > 2", "#ifdef A\n#else"])
def test_no_other_condition_is_guessed(tmp_path: Path, condition: str):
    defined = "".join(f"#define {name} 1\n" for name in ("A",) if name in condition.split())
    with pytest.raises(InputError, match="no kernel"):
        from_text(tmp_path, f"{defined}{condition}\n{TWICE}{KERNEL}#endif\n".replace("USE_CUDA\n", "USE_CUDA\nint a;\n"))


def test_what_the_hosts_compiler_says_of_the_machine(tmp_path: Path):
    ordered = "#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n#error unknown order of bytes\n#endif\n"
    assert "return 2 * x" in from_text(tmp_path, ordered + TWICE + KERNEL).source_text


def test_types_of_the_toolkit_by_their_short_names(tmp_path: Path):
    assert "#include <cuda_fp16.h>" in from_text(tmp_path, "__global__ void k(half* x) { x[0] = half(2); }\n").source_text


def test_macros_behind_a_member(tmp_path: Path):
    text = "#define BY_DEFAULT = default\nstruct V { float x; __device__ V() BY_DEFAULT; };\n"
    assert "#define BY_DEFAULT" in from_text(tmp_path, f"{text}__global__ void k(V* x) {{ V v; x[0] = v; }}\n").source_text


def test_functions_of_memory_have_their_header(tmp_path: Path):
    text = "__global__ void k(float* x) { float y; std::memcpy(&y, x, 4); x[1] = std::abs(y); }\n"
    found = from_text(tmp_path, text).source_text
    assert "#include <cstring>" in found
    assert "#include <cmath>" in found
