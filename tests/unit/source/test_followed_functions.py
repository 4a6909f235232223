"""Functions that passes could not follow, said in the kernel: the only one it calls, a type's own, a variable's second life."""

from __future__ import annotations

import pytest

from warpsmith.core.hardware import Language
from warpsmith.source import parse_kernel
from warpsmith.source.forwarded_kernels import with_forwarded_body
from warpsmith.source.inlined_exchanges import with_inlined_exchanges
from warpsmith.source.own_variables import with_own_variables

_ROW = """template <typename A, int N, int M = 4>
__device__ void row(float* sums, A* to, const int count) {
  to[count] = N + M;
}
"""


def _forwarded(call: str, parameters: str = "T* out, int n", row: str = _ROW) -> str:
    text = f"{row}template <typename T, int N>\n__global__ void k({parameters}) {{\n  {call}\n}}\n"
    found = with_forwarded_body(parse_kernel(text, Language.CUDA, "k<float, 2>"))
    return "" if found == text else found.rpartition(f"({parameters}) ")[2]


def test_a_kernel_that_calls_one_function_has_its_body():
    said = ["using A = T;", "constexpr int M = 4;", "float* sums = nullptr;", "out[n] = N + M;"]
    assert _forwarded("row<T, N>(nullptr, out, n);") == "{\n  " + "\n  ".join(said) + "\n}\n"


@pytest.mark.parametrize(
    ("call", "parameters", "row"),
    [
        ("row<T, N>(nullptr, out, n); n = 1;", "T* out, int n", _ROW),
        ("row<T, N>(out, out, n);", "T* out, int n", _ROW),  # two names for one
        ("row<T, N>(nullptr, out, n);", "T* out, float n", _ROW),  # which is converted
        ("row<T, N>(nullptr, out, n);", "T* out, int n", _ROW.replace("N + M", "n")),  # a name of the file
        ("row<T>(nullptr, out, n);", "T* out, int n", _ROW),
        ("row<T, N>(nullptr, out, n);", "T* out, int n", f"{_ROW}#define M 5\n"),
        ("row<T, N>(nullptr, out, n);", "T* out, int n", _ROW.replace("float* sums", "float*& sums")),
        ("row<T, N>(nullptr, out, n);", "T* out, int n", _ROW + _ROW.replace("float* sums", "int* sums")),
    ],
)
def test_where_a_name_could_mean_something_else_the_call_stays(call: str, parameters: str, row: str):
    assert _forwarded(call, parameters, row) == ""


_DOT = """template <int G, typename V, int N>
__device__ float dot_(const V (&q)[N], const V (&k)[N]) {
  float s = 0;
  for (int i = 0; i < N; ++i) s += q[i] * k[i];
  for (int m = G / 2; m >= 1; m /= 2) s += __shfl_xor_sync(~0u, s, m);
  return s;
}
template <typename T, int G>
struct Dot {
  template <typename V, int N>
  static __device__ float dot(const V (&q)[N], const V (&k)[N]) {
    return dot_<G>(q, k);
  }
};
__device__ float dot(float a, float b) { return a * b; }
"""


def _kernel(body: str, before: str = _DOT) -> str:
    return f"{before}__global__ void k(float* out, int n) {{\n{body}\n}}\n"


def _inlined(body: str, before: str = _DOT) -> list[str]:
    text = with_inlined_exchanges(parse_kernel(_kernel(body, before), Language.CUDA, "k"))
    return [line.strip() for line in text.rpartition("int n) {\n")[2].removesuffix("\n}\n").splitlines()]


def test_a_static_function_of_a_type_is_written_out_with_those_that_it_calls():
    assert _inlined("  float keys[8];\n  __shared__ float query[2][8];\n  float a = n * Dot<float, 4>::dot(query[n], keys);") == [
        "float keys[8];",
        "__shared__ float query[2][8];",
        "float s_2 = 0;",
        "for (int i_2 = 0; i_2 < 8; ++i_2) s_2 += query[n][i_2] * keys[i_2];",
        "for (int m_2 = 4 / 2; m_2 >= 1; m_2 /= 2) s_2 += __shfl_xor_sync(~0u, s_2, m_2);",
        "float a = n * s_2;",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "  float keys[8];\n  out[0] = n ? Dot<float, 4>::dot(keys, keys) : 0;",
        "  float keys[8];\n  if (n > 1 && Dot<float, 4>::dot(keys, keys) > 0) out[0] = 1;",
        "  float keys[8];\n  while (Dot<float, 4>::dot(keys, keys) > n) ++n;",
        "  float keys[8];\n  out[n++] = Dot<float, 4>::dot(keys, keys);",
        "  float keys[8];\n  out[0] = dot(keys[0], keys[1]);",
    ],
)
def test_what_may_be_evaluated_otherwise_or_is_no_exchange_stays(body: str):
    assert _inlined(body) == [line.strip() for line in body.splitlines()]


def test_a_function_of_a_type_is_not_reached_by_its_name_alone():
    alone = parse_kernel(_kernel("  out[0] = dot(out[1], out[2]);"), Language.CUDA, "k")
    called = parse_kernel(_kernel("  out[0] = Dot<float, 4>::dot(out, out);"), Language.CUDA, "k")
    assert not any("__shfl" in alone.text_of(body) for body in alone.reached())
    assert any("__shfl" in called.text_of(body) for body in called.reached())


def test_constructors_and_methods_are_reached():
    types = (
        "struct Place { int at; __device__ Place(int i) : at(i + threadIdx.x) {} __device__ int twice() { return half() * 4; }\n"
        "  __device__ int half() { return at / 2; } };\n"
    )
    source = parse_kernel(_kernel("  Place p(n);\n  out[p.twice()] = 1;", types), Language.CUDA, "k")
    texts = [source.text_of(body) for body in source.reached()]
    assert any("threadIdx" in text for text in texts)
    assert any("half()" in text for text in texts)
    assert any("at / 2" in text for text in texts)


_TWICE = "  float s = out[n];\n  s += __shfl_xor_sync(~0u, s, 1);\n"


def _owned(body: str) -> str:
    return (
        with_own_variables(parse_kernel(_kernel(body, ""), Language.CUDA, "k")).partition("int n) {\n")[2].removesuffix("\n}\n")
    )


def test_a_second_value_that_nobody_else_asks_for_is_another_variable():
    body = _TWICE + "  if (n < 2) {\n    s = out[1];\n    s += __shfl_xor_sync(~0u, s, 1);\n    out[2] = s;\n  }"
    assert _owned(body) == body.replace("    s = out[1]", "    float s = out[1]")


@pytest.mark.parametrize(
    "body",
    [
        _TWICE + "  if (n < 2) {\n    s = out[1];\n  }\n  out[0] = s;",
        _TWICE + "  for (int i = 0; i < n; ++i) {\n    out[i] = s;\n    s = out[1];\n  }",
        _TWICE + "  if (n < 2) {\n    s = s + out[1];\n  }",
        _TWICE + "  float& t = s;\n  if (n < 2) {\n    s = out[1];\n  }",
        _TWICE + "  s = out[1];",
        "  float s = 0;\n  if (n < 2) {\n    s = out[1];\n  }",
    ],
)
def test_a_value_that_is_asked_for_elsewhere_stays(body: str):
    assert _owned(body) == body
