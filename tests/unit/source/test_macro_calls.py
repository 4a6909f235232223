from __future__ import annotations

import pytest

from warpsmith.source.macro_calls import expanded


def _body(defines: str, body: str, entry: str = "k") -> str:
    text = f"{defines}\n__global__ void k(float* out, int n) {{\n{body}\n}}\nvoid host() {{ {body} }}\n"
    found = expanded(text, entry)
    assert found.hidden is None
    head, _, rest = found.text.partition("int n) {\n")
    inside, _, after = rest.partition("\n}\n")
    assert head == f"{defines}\n__global__ void k(float* out, "
    assert after == f"void host() {{ {body} }}\n", "what the kernel does not reach stays"
    return inside


_LOOP = (
    "#define LOOP(i, n) \\\n  for (int i = blockIdx.x * blockDim.x + threadIdx.x; \\\n"
    "       i < (n); i += gridDim.x * blockDim.x)"
)


@pytest.mark.parametrize(
    ("defines", "body", "expected"),
    [
        (
            _LOOP,
            "LOOP(k, n) { out[k] = 1; }",
            "for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < (n); k += gridDim.x * blockDim.x) { out[k] = 1; }",
        ),
        ("#define SYNC __syncthreads()", "SYNC;", "__syncthreads();"),
        ("#define SKIP(c) if (c) return\n#define OUT SKIP", "OUT(n < 1);", "if (n < 1) return;"),  # another name for it
        ("#define TX threadIdx.x\n#define AT (TX + 1)", "out[AT] = TX;", "out[(threadIdx.x + 1)] = threadIdx.x;"),
        ("#define SKIP(c) if (c) return // early", "SKIP(n < f(1, 2));", "if (n < f(1, 2)) return;"),
        ("#define ROW(r, c) ((r) * n + (c))", "out[ROW(1, 2)] = ROW(3, 4);", "out[((1) * n + (2))] = ROW(3, 4);"),
        ('#define UNROLL _Pragma("unroll 2")', "  UNROLL\n  for (;;) {}", "  #pragma unroll 2\n  for (;;) {}"),
        ("#define ALONE __restrict__", "float* ALONE own = out;", "float* __restrict__ own = out;"),
        ("#define ROW(i) ((i) >> 5)", "out[ROW(n)] = 1;", "out[((n) >> 5)] = 1;"),  # one token, though templates end with two
        ("#define MORE(v, by) v >>=by", "MORE(n, 1);", "n >>=1;"),
        ("#define UP(v, by) v >by", "out[UP(n, >1)] = 1;", "out[n > >1] = 1;"),  # two tokens, whose own they stay
        ("#define NEXT(v) v++", "n = n +NEXT(n);", "n = n +n++;"),
        ("#define LESS(v) -v; n", "n = -LESS(-n);", "n = - - -n; n;"),
        ("", "out[hipThreadIdx_x] = hipBlockDim_y;", "out[threadIdx.x] = blockDim.y;"),  # HIP's header defines them
        ("", "HIP_DYNAMIC_SHARED(float, tile)", "extern __shared__ float tile[];"),
    ],
)
def test_what_says_more_than_it_shows_is_written_out(defines: str, body: str, expected: str):
    assert _body(defines, body) == expected


@pytest.mark.parametrize(
    ("defines", "body"),
    [
        ("#define TILE 16", "out[TILE] = TILE;"),  # a number: to be lifted by its name
        ("#define SQ(x) ((x) * (x))", "out[0] = SQ(n);"),
        ("#define LE(a, b) ((a) <= (b) && (a) != 0)", "if (LE(n, 3)) out[0] = 1;"),
        ("#define PAIR(a) a, return_value", "f(PAIR(1));"),
    ],
)
def test_arithmetic_stays_as_it_is(defines: str, body: str):
    assert _body(defines, body) == body


@pytest.mark.parametrize(
    ("define", "reason"),
    [
        ("#define WAIT(...) __syncthreads(); f(__VA_ARGS__)", "takes any number of arguments"),
        ("#define WAIT(a) __syncthreads ## a", "puts tokens together"),
        (
            "#define WAIT(a) __syncthreads()\n#undef WAIT\n#define WAIT(a) f(a)",
            "is defined in several ways, or undefined somewhere",
        ),
    ],
)
def test_what_cannot_be_written_out_is_told(define: str, reason: str):
    text = f"{define}\n__global__ void k(float* out) {{ WAIT(()); }}\n"
    assert expanded(text, "k").hidden == f"WAIT {reason}"
    assert expanded(text, "k").text == text


def test_a_helper_that_ends_after_its_function_is_written_out():
    text = "__global__ void k(float* out) {\n#define WAIT(a) __syncthreads(); f(a)\n  WAIT(1);\n#undef WAIT\n}\n"
    found = expanded(text, "k")
    assert found.hidden is None
    assert "__syncthreads(); f(1);" in found.text.replace("\n#undef WAIT", "")


def test_functions_that_the_kernel_reaches_are_read_too():
    helper = "#define ID threadIdx.x\n__device__ int own() { return ID; }\n__device__ int other() { return ID; }\n"
    found = expanded(helper + "namespace a { template <int N> __global__ void k(int* out) { out[0] = own(); } }", "a::k<2>")
    assert "own() { return threadIdx.x; }" in found.text
    assert "other() { return ID; }" in found.text


def test_macros_of_the_authors_headers_are_written_out_too():
    text = '#include "grid.h"\n__global__ void k(int* out) { out[AT(1, ID)] = 2 * SIZE; }\n'
    header = "#ifndef GRID_H\n#define GRID_H\n#define ID threadIdx.x\n#define AT(r, c) ((r) * SIZE + (c))\n#endif\n"
    assert "out[((1) * SIZE + (threadIdx.x))] = 2 * SIZE;" in expanded(text, "k", headers=[header]).text
    assert (
        expanded(text, "k", headers=[header, "#define ID 0\n"]).hidden == "ID is defined in several ways, or undefined somewhere"
    )
