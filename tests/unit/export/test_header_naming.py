"""An instance of a kernel is named from outside the header's namespaces, with what its template arguments mean."""

from __future__ import annotations

import pytest

from warpsmith.export.header.naming import qualified

TEXT = """
namespace a { namespace b {
#include <cuda_fp16.h>
}}  // namespace a::b
namespace a { namespace b {
struct Half { int v; };
enum class Act { silu, gelu };
using alias = Half;
namespace lib { using half = int; template <class T, int n> __global__ void scale(T* x) {} }
template <class T> __global__ void plain(T* x) {}
}}
"""


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("plain<float>", "a::b::plain<float>"),
        ("plain<Half>", "a::b::plain<a::b::Half>"),
        ("lib::scale<lib::half, 8>", "a::b::lib::scale<a::b::lib::half, 8>"),
        ("lib::scale<half, 8>", "a::b::lib::scale<half, 8>"),  # the toolkit's: lib's own is not seen from outside
        ("plain<::alias>", "a::b::plain<::a::b::alias>"),
        ("plain<other::Half>", "a::b::plain<other::Half>"),
        ("lib::scale<Half, (int)Act::silu>", "a::b::lib::scale<a::b::Half, (int)a::b::Act::silu>"),
        ("made_by_a_macro", "a::b::made_by_a_macro"),
    ],
)
def test_what_the_text_declares_gets_its_namespaces(entry: str, expected: str) -> None:
    assert qualified(entry, TEXT, ("a", "b")) == expected
