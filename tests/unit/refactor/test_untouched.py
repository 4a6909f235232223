"""The untouched kernel: parameters gone, expressions as a person would have written them, values the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refactor_support import SOURCE, TOML, scale_kernel

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.expression.folding import folded
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.bundled import bundled_names
from warpsmith.spec.load import load_kernel


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("ceildiv(tokens, ROWS)", {"ROWS": 1}, "tokens"),
        ("1 + ceildiv(tokens, ROWS) * ROWS - tokens", {"ROWS": 1}, "1"),
        ("4 * d if STAGE == 0 else 0", {"STAGE": 0}, "4 * d"),
        ("4 * d if STAGE == 0 else 0", {"STAGE": 1}, "0"),
        ("min(ceildiv(d / (V / 4), 32) * 32, BLOCK)", {"V": 16, "BLOCK": 1024}, "min(ceildiv(d / 4, 32) * 32, 1024)"),
        ("n / (2 * k) * A", {"A": 1}, "n / (2 * k)"),
        ("n - (m - A)", {"A": 3}, "n - m + 3"),
        ("A - n", {"A": 0}, "-n"),
        ("(a if n > A else b) * 2", {"A": 4}, "(a if n > 4 else b) * 2"),
        ("n in (A, 2) and not m", {"A": 1}, "n in (1, 2) and not m"),
        ("A == 1 or n % A == 0", {"A": 2}, "n % 2 == 0"),
        ("A == 1 or n % A == 0", {"A": 1}, "true"),
        ("n > A and A < 9", {"A": 2}, "n > 2"),
        ("A == 1 or n", {"A": 2}, "false or n"),
        ("2 ** n ** A", {"A": 2}, "2 ** n ** 2"),
        ("n", {"A": 1}, "n"),
    ],
)
def test_folding(text: str, values: dict[str, int], expected: str) -> None:
    assert folded(Expression.parse(text), values) == expected


NAMES = st.sampled_from(["n", "m", "A", "B"])
EXPRESSIONS = st.recursive(
    NAMES | st.integers(0, 9).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "%", "<<", "&", "|", "<", "==", "and", "or"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} if {parts[1]} else {parts[2]})"),
        st.tuples(inner, inner).map(lambda parts: f"ceildiv({parts[0]}, {parts[1]})"),
        inner.map(lambda part: f"(-{part})"),
        inner.map(lambda part: f"(not {part})"),
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(EXPRESSIONS, st.fixed_dictionaries({name: st.integers(0, 5) for name in "nmAB"}))
@example("ceildiv(A, A) if n else n", dict.fromkeys("nmAB", 0))  # a part without a value that nobody asks for
def test_folding_keeps_the_value(text: str, names: dict[str, int]) -> None:
    expression = Expression.parse(text)
    try:
        value = expression.evaluate(names)
    except InputError:
        return  # without a value there is none to keep
    short = Expression.parse(folded(expression, {"A": names["A"], "B": names["B"]}))
    assert short.evaluate({"n": names["n"], "m": names["m"]}) == value
    assert not short.names & {"A", "B"}


@pytest.mark.parametrize("name", bundled_names())
def test_bundled_kernels_lose_their_parameters(name: str) -> None:
    kernel = load_kernel(name)
    plain = untouched(kernel)
    assert not plain.parameters
    assert plain.template_source is None
    assert plain.source == kernel.source
    for workload in kernel.workloads:
        names = {**workload.sizes}
        geometry = kernel.launch.geometry({**names, **kernel.default_configuration})
        assert plain.launch.geometry(names) == geometry


def test_a_source_that_needs_parameters_gets_their_defaults(tmp_path: Path) -> None:
    toml = TOML.replace("128", '"BLOCK"').replace('"ceildiv(n, "BLOCK")"', '"ceildiv(n, BLOCK)"')
    toml = (
        toml.replace('entry = "scale"', 'entry = "scale<BLOCK>"')
        + "\n[parameters]\nBLOCK = { values = [64, 128], default = 128 }\n"
    )
    source = "template <int N>\n" + SOURCE.replace("128", "BLOCK")
    plain = untouched(scale_kernel(tmp_path, toml, source))
    assert plain.defines == {"BLOCK": 128}
    assert plain.entry == "scale<128>"
    assert [str(extent) for extent in (*plain.launch.grid, *plain.launch.block)] == ["ceildiv(n, 128)", "128"]
    own = "#ifndef BLOCK\n#define BLOCK 128\n#endif\n" + source
    assert untouched(scale_kernel(tmp_path / "own", toml, own)).defines == {}
