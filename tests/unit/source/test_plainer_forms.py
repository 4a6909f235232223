"""Forms that passes start from where they find nothing: groups of threads, branches of other instances, shifts."""

from __future__ import annotations

import pytest

from warpsmith.core.hardware import Language
from warpsmith.source import KernelSource, parse_kernel
from warpsmith.source.inlined_helpers import with_inlined_helpers
from warpsmith.source.plain_groups import with_plain_groups
from warpsmith.source.plain_reductions import with_plain_reductions
from warpsmith.source.quotients import with_quotients
from warpsmith.source.reductions import block_reductions
from warpsmith.source.settled_branches import with_settled_branches
from warpsmith.source.whole_block import whole_reductions


def _source(body: str, entry: str = "k<false, 16>") -> KernelSource:
    head = "#include <cooperative_groups.h>\n#define LANES 8\nnamespace cg = cooperative_groups;\n"
    return parse_kernel(
        f"{head}template <bool A, int N> __global__ void k(float* out, int n, unsigned m) {{\n{body}\n}}\n", Language.CUDA, entry
    )


def _body(text: str) -> list[str]:
    return [line.strip() for line in text.partition("unsigned m) {")[2].rstrip().removesuffix("}").splitlines() if line.strip()]


def _grouped(body: str, grid_axes: int = 1, block_axes: int = 1) -> list[str]:
    return _body(with_plain_groups(_source(body), grid_axes, block_axes))


@pytest.mark.parametrize(
    ("group", "use", "written"),
    [
        ("auto g = cg::this_grid();", "unsigned i = g.thread_rank();", "unsigned i = blockIdx.x * blockDim.x + threadIdx.x;"),
        (
            "auto g = cg::this_grid();",
            "auto i = g.thread_rank();",
            "auto i = ((unsigned long long)blockIdx.x * blockDim.x + threadIdx.x);",
        ),
        ("cg::thread_block b = cg::this_thread_block();", "b.sync();", "__syncthreads();"),
        ("const auto b = cooperative_groups::this_thread_block();", "cg::sync(b);", "__syncthreads();"),
        ("", "out[cg::this_thread_block().group_index().x] = 1;", "out[blockIdx.x] = 1;"),
        (
            "auto w = cg::tiled_partition<32>(cg::this_thread_block());",
            "out[w.meta_group_rank()] = w.shfl_down(w.shfl(1.0f, 0), 16);",
            "out[(threadIdx.x / 32u)] = __shfl_down_sync(0xffffffffu, __shfl_sync(0xffffffffu, 1.0f, 0), 16);",
        ),
        (
            "cg::thread_block_tile<LANES> w(cg::tiled_partition<LANES>(cg::this_thread_block()));",
            "out[w.thread_rank()] = w.shfl_xor(out[0], 1);",
            "out[(threadIdx.x % 8u)] = __shfl_xor_sync((0xffu << (threadIdx.x % 32u / 8u * 8u)), out[0], 1, 8);",
        ),
    ],
)
def test_groups_are_said_in_the_launchs_names(group: str, use: str, written: str):
    assert _grouped(f"  {group}\n  {use}") == [written]


def test_ranks_in_a_block_of_two_dimensions():
    assert _grouped("  auto b = cg::this_thread_block();\n  out[b.thread_rank()] = b.size();", 1, 2) == [
        "out[(threadIdx.y * blockDim.x + threadIdx.x)] = (blockDim.x * blockDim.y);"
    ]


@pytest.mark.parametrize(
    "body",
    [
        "  auto w = cg::coalesced_threads();\n  out[w.thread_rank()] = 1;",
        "  auto b = cg::this_thread_block();\n  auto w = cg::tiled_partition<64>(b);\n  out[0] = cg::reduce(w, 1, plus);",
    ],
)
def test_what_else_is_asked_of_a_group_stays(body: str):
    assert _grouped(body) == [line.strip() for line in body.splitlines()]


def test_branches_of_other_instances_are_gone():
    body = """
  if constexpr (A) n = 1;
  if constexpr (!A && N >= 16) {
    const int own = n;
    if constexpr (N == 4) { n = 2; } else if constexpr (N == 16) n = own; else n = 7;
  } else {
    n = 5;
  }
  if constexpr (N == 16) { int twice = 2; n += twice; }
  { int twice = 3; n += twice; }
  if constexpr (UNKNOWN) n = 8;
  if (A) n = 9;
"""
    assert _body(with_settled_branches(_source(body))) == [
        "const int own = n;",
        "n = own;",
        "{ int twice = 2; n += twice; }",
        "{ int twice = 3; n += twice; }",
        "if constexpr (UNKNOWN) n = 8;",
        "if (A) n = 9;",
    ]


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        ("threadIdx.x >> 5", "(threadIdx.x / 32)"),
        ("blockIdx.x + threadIdx.x >> 2 & 7", "((((blockIdx.x + threadIdx.x) / 4)) % 8)"),
        ("threadIdx.x & (N - 1)", "(threadIdx.x % N)"),
        ("threadIdx.x << 1", "(threadIdx.x * 2)"),
        ("n >> 1", "n >> 1"),
        ("(n - 1) & 7", "(n - 1) & 7"),
        ("threadIdx.x & 6", "threadIdx.x & 6"),
    ],
)
def test_shifts_and_masks_of_what_is_not_negative(expression: str, written: str):
    assert _body(with_quotients(_source(f"  out[0] = {expression};"))) == [f"out[0] = {written};"]


_CUB = """
#include <cub/cub.cuh>
using CubMax = cuda::maximum<>;
struct Least { __device__ float operator()(float a, float b) const { return a < b ? a : b; } };
struct Product { __device__ float operator()(float a, float b) const { return a * b; } };
"""


def _reduced(body: str, block_axes: int = 1) -> str:
    text = f"{_CUB}__global__ void k(float* out, int n, unsigned m) {{\n  float v = out[0];\n{body}\n}}\n"
    return with_plain_reductions(parse_kernel(text, Language.CUDA, "k"), block_axes)


@pytest.mark.parametrize(
    ("call", "name", "step"),
    [
        ("Sum(v)", "block_sum", "value += __shfl_xor_sync(0xffffffffu, value, offset)"),
        ("Reduce(v, CubMax{}, blockDim.x)", "block_max", "value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset))"),
        ("Reduce(v, cub::Min())", "block_min", "value = fminf(value, "),
        ("Reduce(v, Least())", "block_min", "value = fminf(value, "),
        ("Reduce(v, [](float a, float b) { return a > b ? a : b; })", "block_max", "value = fmaxf(value, "),
    ],
)
def test_reductions_of_a_block_become_functions_that_are_recognised(call: str, name: str, step: str):
    text = _reduced(
        f"  using R = cub::BlockReduce<float, 256>;\n  __shared__ typename R::TempStorage s;\n  v = R(s).{call};\n  out[0] = v;"
    )
    assert _body(text) == ["float v = out[0];", f"v = {name}(v);", "out[0] = v;"]
    assert step in text
    (known,) = block_reductions(parse_kernel(text, Language.CUDA, "k"))
    assert (known.name, known.is_guarded) == (name, True)
    assert known.otherwise
    assert name in whole_reductions(parse_kernel(text, Language.CUDA, "k"))


@pytest.mark.parametrize(
    ("call", "axes"),
    [
        ("Sum(v, n)", 1),  # of some threads
        ("Reduce(v, Product())", 1),
        ("Reduce(v, cub::ArgMax())", 1),
        ("Sum(v)", 2),  # in an order of its own
    ],
)
def test_reductions_that_are_something_else_stay(call: str, axes: int):
    body = f"  __shared__ cub::BlockReduce<float, 256>::TempStorage s;\n  v = cub::BlockReduce<float, 256>(s).{call};"
    assert f"(s).{call}" in _reduced(body, axes)


def test_storage_that_somebody_else_uses_stays():
    body = "  using R = cub::BlockReduce<float, 256>;\n  __shared__ R::TempStorage s;\n  v = R(s).Sum(v);\n  other(&s);"
    assert "R::TempStorage s;" in _reduced(body)


def test_tiles_are_reduced_by_shuffles():
    head = (
        "  auto b = cg::this_thread_block();\n  auto w = cg::tiled_partition<32>(b);\n  auto t = cg::tiled_partition<LANES>(b);\n"
    )
    body = f"{head}  float v = out[0];\n"
    body += "  v = cg::reduce(w, v * v, cg::plus<float>{});\n  v = 2 + cg::reduce(t, v, cg::greater<float>());"
    text, mask = with_plain_reductions(_source(body), 1), "(0xffu << (threadIdx.x % 32u / 8u * 8u))"
    assert _body(text)[4:] == [
        "v = warp_sum(v * v);",
        "float reduced = v;",
        f"for (int offset = 4; offset > 0; offset /= 2) reduced = fmaxf(reduced, __shfl_xor_sync({mask}, reduced, offset, 8));",
        "v = 2 + reduced;",
    ]


_HELPERS = """
template <int N, typename T, typename F>
__device__ void each(const T* in, int len, int first, F&& use) {
  static_assert(N > 0, "of some");
  if (len % N == 0) {
    for (int i = first; i < len; ++i) use(in[i]);
    return;
  }
  in += 1;
  for (int i = first; i + 1 < len; ++i) use(in[i]);
}
__device__ int at(int i) { return i; }
template <typename F> __device__ int kept(F&& use) { return use(1); }
"""


def _inlined(body: str) -> list[str]:
    text = f"{_HELPERS}__global__ void k(float* out, int n, unsigned m) {{\n{body}\n}}\n"
    return _body(with_inlined_helpers(parse_kernel(text, Language.CUDA, "k")))


def test_helpers_with_lambdas_are_written_out():
    body = "  float sum = 0;\n  auto add = [&sum](const float& x) { const float y = x; sum += y; };"
    body += "\n  each<4>(out, n, threadIdx.x, add);"
    assert _inlined(body) == [
        "float sum = 0;",
        "const float* in = out;",
        "const int first = threadIdx.x;",
        "if (n % 4 == 0) {",
        "for (int i = first; i < n; ++i) {",
        "const float y_2 = in[i];",
        "sum += y_2;",
        "}",
        "} else {",
        "in += 1;",
        "for (int i = first; i + 1 < n; ++i) {",
        "const float y_3 = in[i];",
        "sum += y_3;",
        "}",
        "}",
    ]


@pytest.mark.parametrize(
    ("body", "stays"),
    [
        (
            "  float s = 1;\n  auto f = [s](float x) { use(x * s); };\n  s = 2;\n  each<4>(out, n, 0, f);",
            "each<4>(out, n, 0, f);",
        ),
        ("  out[0] = kept([&](int x) { return x; });", "out[0] = kept([&](int x) { return x; });"),
        (
            "  each<4>(out, n, 0, [&](float x) { while (x) { return; } });",
            "each<4>(out, n, 0, [&](float x) { while (x) { return; } });",
        ),
        ("  int in = 0;\n  auto f = [&](float x) { static int y; };\n  f(1);", "f(1);"),
    ],
)
def test_what_cannot_be_written_out_stays(body: str, stays: str):
    assert stays in _inlined(body)
