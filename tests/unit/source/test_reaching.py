from __future__ import annotations

import pytest
from source_support import cuda

from warpsmith.source.reaching import ReachingNames
from warpsmith.source.tree import of_kind, text_of

_LOOPS = [
    "for (int j = 0; j < n; ++j) {{ {body} }}",
    "while (n-- > 0) {{ {body} }}",
    "do {{ {body} }} while (n-- > 0);",
    "for (float each : values) {{ {body} }}",
]


def _is_fixed(body: str, use: str) -> bool:
    source = cuda(
        body, before="struct Values { float* begin() const; float* end() const; };", signature="float* out, Values values, int n"
    )
    (found,) = (node for node in of_kind(source.body, "identifier") if node.parent is not None and text_of(node.parent) == use)
    return ReachingNames(source).definition(found).is_fixed


@pytest.mark.parametrize("loop", _LOOPS)
def test_what_a_loop_around_changes_is_not_fixed(loop: str):
    inside = loop.format(body="out[first] = 1; first += 2;")
    assert not _is_fixed(f"int first = 3; {inside}", "[first]")


def test_what_changes_later_is_fixed_before():
    assert _is_fixed("int first = 3; out[first] = 1; first += 2; out[0] = first;", "[first]")
