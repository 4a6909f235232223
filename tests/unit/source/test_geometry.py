import pytest
from source_support import cuda

from warpsmith.source import Names
from warpsmith.source.geometry import Strength, geometry_of

_DEFAULTS = {"TILE": 32, "PART": 4, "THREADS": 8, "WARPS": 4}

_STEPS = "for (int j = 0; j < TILE; j += {}) out[blockIdx.x * TILE + {}] = 0;"
_PARTS = "for (int j = 0; j < PART; ++j) out[blockIdx.x * TILE + {}] = 0;"


def _geometry(body: str):
    return geometry_of(Names(cuda(body), _DEFAULTS), _DEFAULTS)


def _threads(body: str) -> set[tuple[str, str, Strength]]:
    return {(t.axes, t.extent, t.strength) for t in _geometry(body).threads}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for (int i = threadIdx.x; i < n; i += THREADS) out[i] = 0;", ("x", "THREADS", Strength.STRIDE)),
        ("for (int i = threadIdx.x * 4; i < n; i += 4 * THREADS) out[i] = 0;", ("x", "(4*THREADS) / (4)", Strength.STRIDE)),
        ("out[blockIdx.y * TILE + threadIdx.y] = 0;", ("y", "TILE", Strength.COORDINATE)),
        (_STEPS.format("THREADS", "threadIdx.x + j"), ("x", "(1) * (THREADS)", Strength.DIGIT)),
        (_PARTS.format("threadIdx.x * PART + j"), ("x", "(TILE) / (PART)", Strength.COORDINATE)),
        (_PARTS.format("j * THREADS + threadIdx.x"), ("x", "THREADS", Strength.DIGIT)),
        ("out[blockIdx.x * WARPS + threadIdx.x / 32] = 0;", ("x", "(WARPS) * 32", Strength.DIGIT)),
        ("__shared__ float s[TILE]; s[threadIdx.x] = in[0];", ("x", "TILE", Strength.EXTENT)),
    ],
)
def test_how_a_kernel_says_how_many_threads_it_has(body, expected):
    assert expected in _threads(body)


def test_threads_in_one_line_over_two_axes():
    found = _threads("for (int i = threadIdx.y * PART + threadIdx.x; i < n; i += THREADS) out[i] = 0;")
    assert ("xy", "THREADS", Strength.STRIDE) in found
    assert ("x", "PART", Strength.STRIDE) in found


def test_how_far_blocks_are_apart():
    shares = _geometry("const int i = blockIdx.x * (blockDim.x * PART) + threadIdx.x; out[i] = 0; out[blockIdx.y] = 0;").shares
    assert {(s.axis, s.extent) for s in shares} == {("x", "PART*blockDim_x")}


def test_an_element_for_each_block():
    assert _geometry("out[blockIdx.x] = in[blockIdx.x * TILE + threadIdx.x];").per_block == {"x": 3}
    assert _geometry("out[blockIdx.x * TILE + threadIdx.x] = 0;").per_block == {}
