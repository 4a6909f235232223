"""Whole extractions: what is taken along, what is left behind, and that the result reads well."""

from __future__ import annotations

import re
import tomllib

import pytest
from extract_support import from_acme, from_text

from warpsmith.core.errors import InputError
from warpsmith.source.extract import ExtractRequest, extract
from warpsmith.source.extract.program import Program

SCALE = "scale_kernel<float, SQUARED>"


def test_everything_needed_comes_along_in_order():
    text = from_acme("scale_kernel", SCALE).source_text
    wanted = [
        "#define ACME_DEVICE",
        "#define ACME_WIDE (ACME_ARCH / 800)",
        "float square(float x)",
        "int square(int x)",
        "ACME_UNARY(twice, x * 2.0f)",
        "typedef enum { PLAIN, SQUARED } Mode;",
        "constexpr int kBlock",
        "__global__ void scale_kernel",
    ]
    places = [text.index(piece) for piece in wanted]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "left_behind",
    [
        "torch",
        "std::string",
        "describe",
        "<<<",
        "kUnused",
        "kPi",
        "round_up",
        "ACME_CHECK",
        "packed_scale",
        "struct Vec",
        "stream",
        "half, x",
    ],
)
def test_nothing_else_does(left_behind: str):
    assert left_behind not in from_acme("scale_kernel", SCALE).source_text


def test_host_members_go_and_operators_stay():
    text = from_acme("packed_scale_kernel").source_text
    assert "operator[]" in text
    assert "operator+(const Vec<T, N>& a" in text
    assert "Other" not in text
    assert "What it holds" not in text, "a member's comment goes with it"
    assert "torch" not in text


def test_names_are_qualified_from_outside():
    assert from_acme("scale_kernel", SCALE).entry == "acme::scale_kernel<float, acme::SQUARED>"
    assert from_acme("acme::scale_kernel", "acme::scale_kernel<float, acme::SQUARED>").entry == (
        "acme::scale_kernel<float, acme::SQUARED>"
    )


def test_the_result_reads_like_source():
    text = from_acme("scale_kernel", SCALE).source_text
    assert "namespace {\n" not in text, "a kernel in a nameless namespace cannot be called by name"
    assert "namespace acme::host {}" in text, "the kernel opens it, and nothing of it is needed"
    assert "/// \\brief Scales, after squaring if asked to.\ntemplate" in text
    assert "// The overload for whole numbers.\nACME_DEVICE int square" in text
    assert "SPDX-License-Identifier" in text
    assert "// from acme/math.cuh" in text
    assert "\n\n\n" not in text
    assert text.count("{") == text.count("}")


def test_macros_given_stay_open():
    text = from_acme("scale_kernel", SCALE).source_text
    assert "#ifndef ACME_ARCH\n#define ACME_ARCH 800\n#endif" in text
    assert "ACME_ARCH" not in from_acme("packed_scale_kernel").source_text.partition("\n\n")[2]


def test_branches_follow_the_macros_given():
    assert "#define ACME_WIDE 1" in from_acme("scale_kernel", SCALE, arch="900").source_text


def test_the_result_extracts_to_itself(tmp_path):
    once = from_acme("scale_kernel", SCALE)
    again = from_text(tmp_path, once.source_text, "scale_kernel", SCALE)
    names = [sorted(d.names) for d in Program(once.source_text).declarations]
    assert [sorted(d.names) for d in Program(again.source_text).declarations] == names


def test_the_skeleton_knows_the_instance():
    found = from_acme("scale_kernel", "scale_kernel<__half, PLAIN>")
    data = tomllib.loads(found.kernel_toml)
    assert data["kernel"] == {
        "name": "scale_kernel",
        "source": "scale_kernel.cu",
        "entry": "acme::scale_kernel<__half, acme::PLAIN>",
    }
    assert data["arguments"]["out"] == {"dtype": "f16", "shape": ["n"], "role": "out"}
    assert data["arguments"]["in"]["dtype"] == "f16"
    assert data["arguments"]["n"] == {"dtype": "i32", "value": "n"}


def test_lines_are_counted_by_file():
    files = {file.name: lines for file, lines in from_acme("scale_kernel", SCALE).files.items()}
    assert set(files) == {"config.h", "math.cuh", "scale.cu"}
    assert all(lines > 0 for lines in files.values())


def test_a_host_library_that_is_needed_is_missed(tmp_path):
    text = "#include <thing/vec.h>\n__global__ void k(float* x) { thing::store(x, 1.0f); }\n"
    with pytest.raises(InputError) as error:
        from_text(tmp_path, text)
    assert "<thing/vec.h>" in str(error.value)
    assert re.search(r"source\.cu:1: .*\n.*-I", str(error.value))


def test_a_library_that_is_only_opened_may_not_be_needed(tmp_path):
    text = "#include <thing/vec.h>\nusing namespace thing;\n__global__ void k(float* x) { x[0] = 1.0f; }\n"
    found = from_text(tmp_path, text)
    assert found.unknown == ("thing",)
    assert "thing" not in found.source_text


def test_standard_headers_follow_the_names(tmp_path):
    text = """#include <vector>
template <typename T> __global__ void k(T* x, uint32_t n) {
  static_assert(std::is_same_v<T, float>);
  x[0] = std::numeric_limits<T>::max() + FLT_MAX;
}
"""
    includes = from_text(tmp_path, text, "k", "k<float>").includes
    assert includes == ("<cfloat>", "<cstdint>", "<limits>", "<type_traits>")


def test_cub_comes_by_its_parts(tmp_path):
    text = """#include <cub/cub.cuh>
__global__ void k(float* x) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  x[0] = Reduce(storage).Sum(x[threadIdx.x]);
}
"""
    assert "<cub/block/block_reduce.cuh>" in from_text(tmp_path, text).includes
    assert "<cub/cub.cuh>" not in from_text(tmp_path, text).includes


def test_types_of_the_hosts_c_library_are_declared(tmp_path):
    text = "__global__ void k(uint* x, ushort y) { x[0] = y; }\n"
    assert "typedef unsigned short ushort;\ntypedef unsigned int uint;" in from_text(tmp_path, text).source_text


@pytest.mark.parametrize(
    "text",
    [
        "#define KERNEL __global__ __launch_bounds__(64)\nKERNEL void k(float* x, int n) { x[0] = n; }\n",
        "#define MAKE(NAME, T) __global__ void NAME(T* x, int n) { x[0] = n; }\nMAKE(k, float)\n",
    ],
)
def test_kernels_that_macros_make(tmp_path, text: str):
    found = from_text(tmp_path, text)
    assert text.splitlines()[0] in found.source_text
    assert list(tomllib.loads(found.kernel_toml)["arguments"]) == ["x", "n"]


def test_hip_is_read_as_hip(tmp_path):
    text = """#include <hip/hip_runtime.h>
#ifdef __HIP_PLATFORM_AMD__
__device__ int lanes() { return 64; }
#else
__device__ int lanes() { return 32; }
#endif
__global__ void k(int* x) { x[0] = lanes(); }
"""
    (tmp_path / "source.hip").write_text(text)
    found = extract(ExtractRequest(tmp_path / "source.hip", "k"))
    assert found.source_name == "k.hip"
    assert "return 64;" in found.source_text
    assert "return 32;" not in found.source_text
    assert found.includes == ("<hip/hip_runtime.h>",)


LAUNCHED = """
template <typename T> struct __align__(4) Box { T x; };
template <typename T> __device__ struct Marked { T x; };
template <typename T> __global__ void k(Marked<Box<T>>* x) {
  cuda::atomic_ref<int> seen(x[0].x.x);
  seen.store(1);
}
LAUNCH
"""


@pytest.mark.parametrize(
    ("launch", "shown"),
    [
        ("void run(int n) { int blocks = n / 4; k<int>\n    <<<blocks, 128>>>(nullptr); }", "k<int> <<<blocks, 128>>>(nullptr)"),
        ("void run() { auto f = k<int>; LaunchKernel(8, 64)(f); }", "LaunchKernel(8, 64)(f)"),
        ("#define RUN(T) \\\n  k<T><<<9, \\\n    32>>>(nullptr);", "k<T><<<9, 32>>>"),
        ("void run() {}", None),
    ],
)
def test_how_the_code_launches_it_stands_above_the_grid(tmp_path, launch, shown):
    found = from_text(tmp_path, LAUNCHED.replace("LAUNCH", launch), instance="k<int>")
    comment = re.search(r"^\[launch\].*\n# source\.cu:\d+: (.*)\ngrid", found.kernel_toml, re.MULTILINE)
    assert (comment[1] if comment else None) == shown


@pytest.mark.parametrize(
    ("launch", "block"),
    [
        ("k<int><<<n / 4, 128, 0, stream>>>(nullptr)", [128]),
        ("k<int><<<dim3(n, 2), dim3(32, 8)>>>(nullptr)", [32, 8]),
        ("k<int><<<n, THREADS>>>(nullptr)", [96]),
        ("k<int><<<n, n / 2>>>(nullptr)", [256]),
    ],
)
def test_a_block_of_numbers_is_taken_from_the_launch(tmp_path, launch, block):
    text = LAUNCHED.replace("LAUNCH", f"#define THREADS 96\nvoid run(int n) {{ {launch}; }}")
    assert tomllib.loads(from_text(tmp_path, text, instance="k<int>").kernel_toml)["launch"]["block"] == block


def test_what_only_the_usual_build_forgives_is_mended(tmp_path):
    text = from_text(tmp_path, LAUNCHED.replace("LAUNCH", ""), instance="k<int>").source_text
    assert "template <typename T> struct Marked" in text, "a mark before a type means nothing, and NVRTC does not take it"
    assert "#include <cuda/atomic>" in text, "though no header of the code base includes it"


def test_types_by_other_names_in_the_skeleton(tmp_path):
    named = (
        "typedef int32_t count_t;\nusing word_t = std::uint32_t;\ntypedef unsigned long long wide_t;\nusing many_t = count_t;\n"
    )
    text = "__global__ void k(count_t* out, const word_t* x, many_t n, std::size_t m, wide_t w, const std::uint8_t* y) "
    found = from_text(tmp_path, f"{named}{text}{{ out[n] = x[m] + w + y[0]; }}\n")
    arguments = tomllib.loads(found.kernel_toml)["arguments"]
    assert {name: argument["dtype"] for name, argument in arguments.items()} == {
        "out": "i32", "x": "u32", "n": "i32", "m": "u64", "w": "u64", "y": "u8"
    }  # fmt: skip
