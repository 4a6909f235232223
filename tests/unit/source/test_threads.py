from __future__ import annotations

import pytest

from warpsmith.core.hardware import Language
from warpsmith.source import KernelSource, Names, Polynomial, parse_kernel
from warpsmith.source.arrays import arrays_of
from warpsmith.source.guards import guard_of
from warpsmith.source.statements import at_margin, pieces_of
from warpsmith.source.threads import launch_uses, spelled, teamwork


def _source(body: str, before: str = "", language: Language = Language.CUDA) -> KernelSource:
    word = "__kernel" if language is Language.OPENCL else "__global__"
    return parse_kernel(f"{before}\n{word} void k(float* out, int n) {{\n{body}\n}}\n", language, "k")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("__shared__ float s[4];", "shared memory"),
        ("__syncthreads();", "barriers"),
        ("out[0] = summed(out[1]);", "__shfl_xor_sync"),
        ("auto g = cg::this_thread_block();", "cg::"),
        ("out[0] = theirs(n);", "theirs"),
    ],
)
def test_teamwork_also_in_functions(body: str, words: str):
    before = '#include "theirs.h"\n__device__ float summed(float v) { return v + __shfl_xor_sync(~0u, v, 1); }'
    found = teamwork(_source(body, before))
    assert not found.none
    assert words in found.described()


@pytest.mark.parametrize(
    ("body", "abroad"),
    [
        ("auto w = cg::tiled_partition<32>(cg::this_thread_block()); out[0] = cg::reduce(w, out[1], cg::plus<float>());", None),
        ("auto b = cooperative_groups::this_thread_block(); cooperative_groups::sync(b); out[0] = b.thread_rank();", None),
        ("using R = cub::BlockReduce<float, 128>; out[0] = R(s).Reduce(out[1], cub::Max());", None),
        ("auto g = cg::this_grid(); g.sync();", "cg::"),
        ("cg::thread_block b = cg::this_thread_block(); out[0] = b.group_index().x;", ".group_index("),
        ("cg::memcpy_async(cg::this_thread_block(), out, out, 4);", "cg::"),
        ('asm volatile("nop;");', "asm"),
        ('__asm__ volatile("nop;");', "__asm__"),
    ],
)
def test_what_reaches_beyond_a_block(body: str, abroad: str | None):
    found = teamwork(_source(body))
    assert found.abroad == abroad
    assert found.library
    assert found.meets


@pytest.mark.parametrize(
    ("code", "is_own"),
    [
        ("lop3.b32 %0, %1, %1, %1, 0x96;\\n", True),
        ("{ .reg .b16 l; .reg .pred p; cvt.rn.f16.f32 l, %1; // note\\n setp.ne.b32 p, %1, 0; @p mov.b32 %0, {l, l}; }", True),
        ("mov.u32 %0, %%warpid;", False),
        ("mov.s32 %0, %warpid;", False),
        ("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, -1;", False),
        ("add.u32 %0, %1, 1; ld.global.u32 %0, [%1];", False),
        ("bar.sync 0;", False),
        ("", False),
    ],
)
def test_assembly_that_a_thread_only_calculates_with_is_no_teamwork(code: str, is_own: bool):
    found = teamwork(_source(f'unsigned a, b = 0; asm volatile("{code}" : "=r"(a) : "r"(b));'))
    assert found.none is is_own
    assert (found.telling is None) is is_own


@pytest.mark.parametrize("code", ["mov.u32 %0, %%laneid;", "mov.s32 %0, %laneid;", "mov.u32 %0, %%lanemask_lt;"])
def test_a_lane_is_the_same_in_all_blocks_of_whole_warps(code: str):
    asked = f'unsigned a; asm volatile("{code}" : "=r"(a));'
    found = teamwork(_source(asked))
    assert found.by_warps
    assert not found.none
    assert not found.meets
    assert (found.library, found.telling, found.abroad, found.waits) == (None, None, None, None)
    assert "lane" in found.described()
    # Whether a place in shared memory is a lane's or a warp's, or who comes to a barrier or a shuffle, could not be told.
    for before in ("__shared__ float s[8];", "__syncthreads();", "out[0] = __shfl_xor_sync(~0u, out[1], 1);"):
        assert teamwork(_source(f"{before} {asked}")).telling == "asm"


@pytest.mark.parametrize(
    ("code", "is_plain"),
    [
        ("ld.global.nc.L1::no_allocate.v2.s32 {%0, %1}, [%2];", True),
        ("st.global.cs.b32 [%2], %1;", True),
        ("griddepcontrol.wait;", True),
        ("prefetch.global.L2 [%2];", True),
        ("ld.global.u32 %0, [%2];", False),  # another thread may write it meanwhile
        ("ld.volatile.global.u32 %0, [%2];", False),
        ("ld.acquire.gpu.global.u32 %0, [%2];", False),
        ("st.release.gpu.global.b32 [%2], %1;", False),
        ("st.shared.b32 [%2], %1;", False),
        ("red.global.add.u32 [%2], %1;", False),
        ("{ .reg .u32 l; mov.u32 l, %%laneid; st.global.u32 [%2], l; }", False),
    ],
)
def test_assembly_that_only_moves_device_memory_tells_nobody_apart(code: str, is_plain: bool):
    found = teamwork(_source(f'unsigned a, b = 0; asm volatile("{code}" : "=r"(a) : "r"(b), "l"(out));'))
    assert found.library == "asm"
    assert (found.strange is None) is is_plain
    assert (found.telling is None) is is_plain
    assert (found.waits is None) is is_plain


def test_system_headers_hide_no_teamwork():
    assert teamwork(_source("out[0] = unheard_of(n);", "#include <math.h>")).none


def test_opencl_local_memory():
    assert teamwork(_source("__local float s[4];", language=Language.OPENCL)).shared
    assert teamwork(_source("__local float s[2 * 4][(3 + 1) * 2];", language=Language.OPENCL)).shared
    assert teamwork(_source("const __local float s[4];", language=Language.OPENCL)).shared
    assert len(teamwork(_source("__local float s[4]; float own[2];", language=Language.OPENCL)).shared) == 1
    assert not teamwork(_source("__local float* s = 0;\nfloat local_sum[2];", language=Language.OPENCL)).shared


def test_local_parameters_are_shared_memory_and_get_no_value():
    text = "__kernel void k(__global float* out, __local float* row, const local int *part, int local_n, int n) { }"
    source = parse_kernel(text, Language.OPENCL, "k")
    assert [p.name for p in source.parameters] == ["out", "local_n", "n"]
    assert [p.name for p in source.local_parameters] == ["row", "part"]
    assert [(a.name, a.element, a.is_dynamic) for a in arrays_of(Names(source))] == [
        ("row", "float", True),
        ("part", "int", True),
    ]
    assert len(teamwork(source).shared) == 2


def test_launch_uses():
    source = _source("out[threadIdx.x + blockIdx.y] = f(blockDim) + threadIdx.x;")
    counts = {name: len(nodes) for name, nodes in launch_uses(source.body, Names(source)).items()}
    assert counts == {"threadIdx.x": 2, "blockIdx.y": 1, "blockDim.*": 1}
    source = _source("out[get_global_id(0)] = get_local_id(1) + get_group_id(n);", language=Language.OPENCL)
    assert set(launch_uses(source.body, Names(source))) == {"get_global_id.x", "threadIdx.y", "get_group_id.*"}


def test_spelled():
    assert spelled("blockIdx.x * 4 + threadIdx.y", Language.OPENCL) == "get_group_id(0) * 4 + get_local_id(1)"
    assert spelled("gridDim.z", Language.HIP) == "gridDim.z"


@pytest.mark.parametrize(
    ("text", "limit", "around"),
    [
        ("if (i >= n) return;", "n", False),
        ("if (n <= i) { return; }", "n", False),
        ("if (i < n * 2) { out[i] = 1.0f; }", "n * 2", True),
        ("if (n > i) out[i] = 1.0f;", "n", True),
    ],
)
def test_guards(text: str, limit: str, around: bool):
    source = _source(f"int i = threadIdx.x;\n{text}")
    names = Names(source)
    guards = [g for g in guard_of(source.body.named_children[1], names) if g.left == Polynomial.atom("threadIdx.x")]
    assert [(source.text_of(g.limit), g.body is not None) for g in guards] == [(limit, around)]


@pytest.mark.parametrize("text", ["if (i > n) return;", "if (i < n) out[i] = 1; else out[0] = 2;", "if (i) return;", "return;"])
def test_no_guards(text: str):
    source = _source(f"int i = threadIdx.x;\n{text}")
    names = Names(source)
    assert not [g for g in guard_of(source.body.named_children[1], names) if g.left == Polynomial.atom("threadIdx.x")]


def test_statements_keep_their_comments_and_pragmas():
    source = _source("  int a = 1;  // one\n  // two\n#pragma unroll\n  for (;;) {\n    f();\n  }\n  a = 2;")
    pieces = pieces_of(source.body, source.tree)
    lines = [at_margin(piece, source.tree) for piece in pieces]
    assert lines == [["int a = 1;  // one"], ["// two", "#pragma unroll", "for (;;) {", "  f();", "}"], ["a = 2;"]]
