import pytest
from source_support import cuda

from warpsmith.core.hardware import Language
from warpsmith.source import LoopKind, Names, loops_of, parse_kernel
from warpsmith.spec.load import load_kernel


def loop(header: str, body: str = "out[i] = in[i];", before: str = ""):
    source = cuda(f"{before}\nfor ({header}) {{ {body} }}")
    return next(loops_of(source.body, Names(source)), None)


@pytest.mark.parametrize(
    ("header", "kind", "axis"),
    [("int i = threadIdx.x; i < n; i += blockDim.x", LoopKind.BLOCK_STRIDE, "x"),
     ("int i = n - n % 4 + threadIdx.y; i < n; i += blockDim.y", LoopKind.BLOCK_STRIDE, "y"),
     ("int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x", LoopKind.GRID_STRIDE, "x"),
     ("int i = 0; i < n; ++i", LoopKind.COUNTED, ""),
     ("int i = threadIdx.x; i < n; i += 2 * blockDim.x", LoopKind.OTHER, "x"),
     ("int i = threadIdx.x * 4; i < n; i += blockDim.x", LoopKind.OTHER, ""),
     ("int i = blockIdx.x; i < n; i += gridDim.x", LoopKind.OTHER, "")],
)  # fmt: skip
def test_kinds(header, kind, axis):
    found = loop(header)
    assert (found.kind, found.axis) == (kind, axis)


def test_kinds_are_seen_through_names():
    found = loop(
        "int i = first; i < n; i += threads", before="const int first = threadIdx.x; const unsigned threads = blockDim.x;"
    )
    assert found.kind is LoopKind.BLOCK_STRIDE


@pytest.mark.parametrize(
    ("header", "trips"),
    [("int i = 0; i < 9; ++i", 9), ("int i = 0; i <= 9; i++", 10), ("int i = 1; i < 9; i += 3", 3), ("int i = 5; i < 2; ++i", 0),
     ("int i = 0; i < n; ++i", None)],
)  # fmt: skip
def test_trips(header, trips):
    assert loop(header).trips == trips


@pytest.mark.parametrize("header", ["int i = 9; i > 0; --i", "int i = 0; i < 9 && n; ++i", "int i = 1; i < 9; i *= 2", ";;"])
def test_other_forms_are_left_out(header):
    assert loop(header) is None


def test_jumps_and_changes_of_the_variable():
    assert loop("int i = 0; i < n; ++i", "if (in[i] < 0) break;").jumps()
    source = cuda("for (int i = 0; i < n; ++i) { i += 1; }")
    assert next(loops_of(source.body, Names(source))).changes_variable(Names(source))


def test_bundled_kernels_have_the_loops_one_sees():
    kernel = load_kernel("softmax")
    source = parse_kernel(kernel.source.read_text(), kernel.language, kernel.entry)
    found = [(x.kind, x.pragma is not None, x.trips) for x in loops_of(source.body, Names(source))]
    strided, lanes = (LoopKind.BLOCK_STRIDE, False, None), (LoopKind.COUNTED, True, 4)
    assert found == [strided, lanes, lanes, strided, lanes]


def test_opencl_loops():
    text = (
        "__kernel void k(__global float* out, int n) { for (int i = get_local_id(0); i < n; i += get_local_size(0)) out[i] = 1; }"
    )
    source = parse_kernel(text, Language.OPENCL, "k")
    assert next(loops_of(source.body, Names(source))).kind is LoopKind.BLOCK_STRIDE
