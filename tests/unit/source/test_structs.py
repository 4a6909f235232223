"""Types by name: aliases and template parameters are looked through, members and sizes of packs are found."""

import pytest

from warpsmith.core.hardware import Language
from warpsmith.source import Names, parse_kernel
from warpsmith.source.structs import member_type, plain_type, size_expression

SOURCE = """
typedef float real;
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T lane[N];
};
struct __align__(16) Three {
  float lane[3];
};
struct Pair {
  float value;
  int index;
};
template <typename T>
__global__ void k(T* x) {
  constexpr int kLanes = WIDTH / sizeof(T);
  using Packed = Pack<T, kLanes>;
  using Four = Pack<real, 4>;
}
"""


@pytest.fixture
def names():
    return Names(parse_kernel(SOURCE, Language.CUDA, "k<__half>"), ["WIDTH"])


def test_what_a_type_comes_down_to(names):
    assert plain_type("const T* __restrict__", names) == "__half"
    assert plain_type("real", names) == "float"
    assert plain_type("const Packed", names) == "Pack<T, kLanes>"
    assert plain_type("Unknown", names) == "Unknown"


def test_the_type_of_a_member(names):
    assert member_type("Packed", "lane", names) == "__half"
    assert member_type("Four", "lane", names) == "float"
    assert member_type("Pair", "index", names) == "int"
    assert member_type("Pair", "missing", names) is None
    assert member_type("float4", "x", names) is None


def test_sizes(names):
    assert size_expression("real", names) == "4"
    assert size_expression("Packed", names) == "2 * ((WIDTH / 2))"
    assert size_expression("Four", names) == "4 * (4)"
    assert size_expression("Three", names) == "ceildiv(4 * (3), 16) * 16"
    assert size_expression("Pair", names) is None
    assert size_expression("Unknown", names) is None
