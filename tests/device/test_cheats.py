"""A fast part of the suite of cheats (`python -m benchmarks cheats` takes all of it to the end): who is refused, and by what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.cheats.candidate import Candidate
from benchmarks.cheats.candidate import Path as Door
from benchmarks.cheats.judge import Finding, submitted
from benchmarks.cheats.suite import SUITE
from benchmarks.cheats.victims import VICTIMS

from warpsmith.mcp.labs import Labs
from warpsmith.mcp.tools.templates import TemplateTools
from warpsmith.mcp.workspace import Workspace

READ = (
    "a __device__ array",
    "a static local of a lambda",
    "a macro with arguments that declares",
    "a counter of its own",
    "the constructor of a global object",
    "#if __CUDA_ARCH__",
    "includes a file of the machine",
)
VERIFIED = (
    "the input itself",
    "guard zones behind an output",
    "the declared shapes only",
    "no check of the bounds",
    "does nothing",
    "the last row left as it was",
    "sums in half precision",
    "a quarter of a mean, within rtol = 1e-2",
    "writes to address zero",
)


def named(name: str) -> Candidate:
    return next(candidate for candidate in SUITE if candidate.name == name)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemplateTools]:
    labs = Labs(tmp_path_factory.mktemp("binaries"))
    yield TemplateTools(Workspace(tmp_path_factory.mktemp("workspace")), labs)
    labs.close()


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("victims")
    return {name: victim.lay_down(folder / name) for name, victim in VICTIMS.items()}


def test_the_suite_has_no_name_twice_and_enough_of_both_kinds():
    assert len({(c.family, c.name) for c in SUITE}) == len(SUITE)
    assert sum(not c.is_honest for c in SUITE) >= 60
    assert sum(c.is_honest for c in SUITE) >= 10
    assert {c.path for c in SUITE} == set(Door)


@pytest.mark.parametrize("name", READ)
def test_what_no_form_may_do_is_refused_when_it_is_read(tools: TemplateTools, kernels: dict[str, Path], name: str):
    found = submitted(named(name), tools, str(kernels[named(name).victim]))
    assert isinstance(found, Finding)
    assert found.caught_by == "reading", found.detail


@pytest.mark.parametrize("name", VERIFIED)
def test_what_computes_something_else_is_refused_when_it_is_verified(tools: TemplateTools, kernels: dict[str, Path], name: str):
    found = submitted(named(name), tools, str(kernels[named(name).victim]))
    assert isinstance(found, Finding)
    assert found.caught_by in {"verification", "the checkers"}, found.detail


@pytest.mark.parametrize("name", [c.name for c in SUITE if c.is_honest and c.victim == "rows"][::2])
def test_what_only_looks_suspicious_is_accepted(tools: TemplateTools, kernels: dict[str, Path], name: str):
    found = submitted(named(name), tools, str(kernels["rows"]))
    assert isinstance(found, str) or found.caught_by is None, found
