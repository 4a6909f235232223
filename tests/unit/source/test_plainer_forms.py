"""Forms that passes start from where they find nothing: groups of threads, branches of other instances, shifts."""

from __future__ import annotations

import pytest

from warpsmith.core.hardware import Language
from warpsmith.source import KernelSource, parse_kernel
from warpsmith.source.plain_groups import with_plain_groups
from warpsmith.source.quotients import with_quotients
from warpsmith.source.settled_branches import with_settled_branches


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
