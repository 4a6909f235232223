"""Chosen configurations under a checker: a stand-in for compute-sanitizer watches real launches in a confined worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from bench_support import UNARY, candidate, make_kernel, prepare

from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import UnavailableError
from warpsmith.core.jsonable import as_json
from warpsmith.core.outcome import CompileFailed
from warpsmith.devices.base import CheckReport
from warpsmith.devices.cuda import sanitizer
from warpsmith.tuning.claims.scrutiny import Scrutinised, Scrutiny
from warpsmith.tuning.events import Event, Warned
from warpsmith.verify.prepared import PreparedWorkload

DOUBLE = """
__global__ void k(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * x[i];
}
"""
CLEAN = "========= ERROR SUMMARY: 0 errors"
STRAY = "========= Invalid __global__ read of size 4 bytes\n=========     at k+0x90\n========= ERROR SUMMARY: 1 error"
# Takes the tool's options, runs the program behind them to its end and writes a report: all that the real one has in common with it.
STAND_IN = 'report=$0; while [ "${1#--}" != "$1" ]; do shift; done; "$@" && printf "%s\\n" "$report" > check.txt'


class StandIn:
    """Reports what it is told to, one text a run."""

    checks = ("memcheck",)

    def __init__(self, reports: Sequence[str]) -> None:
        self._reports = iter(reports)

    def check_command(self, check: str) -> tuple[str, ...]:
        return ("/bin/sh", "-c", STAND_IN, next(self._reports), f"--tool={check}", "--launch-timeout=30")

    def check_report(self, text: str) -> CheckReport:
        return sanitizer.read_report(text)


class Absent(StandIn):
    def check_command(self, check: str) -> tuple[str, ...]:
        raise UnavailableError(f"no {check}", hint="install it")


@pytest.fixture(scope="module")
def workloads() -> Iterator[list[PreparedWorkload]]:
    found = prepare(make_kernel(*UNARY, sizes=(1, 1000)))
    yield found
    for workload in found:
        workload.close()


def subjects(*sources: str) -> list[Scrutinised]:
    """The first is the original."""
    kernel = make_kernel(*UNARY, sizes=(1, 1000))
    with CompilePool("cpu", cache_dir=None) as pool:
        names = ["original", *(f"VEC={4 * number}" for number in range(1, len(sources)))]
        plain = [candidate(pool, kernel, source, name) for source, name in zip(sources, names, strict=True)]
        watched = [candidate(pool, kernel, source, name, watched=True) for source, name in zip(sources, names, strict=True)]
    return [Scrutinised(each, lambda found=found: found) for each, found in zip(plain, watched, strict=True)]


@pytest.fixture(scope="module")
def candidates() -> list[Scrutinised]:
    return subjects(DOUBLE, DOUBLE.replace("2 * x[i]", "4 * x[i] - 2 * x[i]"))


def scrutiny(device: StandIn | None, workloads: list[PreparedWorkload]) -> tuple[Scrutiny, list[str]]:
    said: list[str] = []

    def emit(event: Event) -> None:
        if isinstance(event, Warned):
            said.append(event.message)

    return Scrutiny("cpu", workloads, emit, device), said


def test_what_is_found_in_a_candidate_alone_costs_it_its_place(workloads, candidates) -> None:
    original, chosen = candidates
    watch, said = scrutiny(StandIn([CLEAN, STRAY]), workloads)
    assert watch.problem(chosen, original) == "memcheck: Invalid __global__ read of size 4 bytes; at k+0x90"
    assert said == ["VEC=4 is dropped: memcheck: Invalid __global__ read of size 4 bytes; at k+0x90"]
    assert as_json(watch.entry) == {
        "done": ["memcheck"],
        "out": {"VEC=4": said[0].partition(": ")[2]},
        "original": {},
        "not_done": [],
    }
    assert workloads[1].verdict_after_launch().passed  # it really ran


def test_what_the_original_does_too_is_not_held_against_it(workloads, candidates) -> None:
    original, chosen = candidates
    watch, said = scrutiny(StandIn([STRAY, STRAY]), workloads)
    assert watch.problem(chosen, original) is None
    [told] = said
    assert told.startswith(
        "the original does not pass memcheck either, so it is not required of candidates: Invalid __global__ read"
    )


def test_without_the_tool_it_is_said_once(workloads, candidates) -> None:
    original, chosen = candidates
    watch, said = scrutiny(Absent([]), workloads)
    assert watch.problem(chosen, original) is None
    assert watch.problem(chosen, original) is None
    assert said == ["the winner is not checked: no memcheck; hint: install it"]
    assert as_json(watch.entry) == {"done": [], "out": {}, "original": {}, "not_done": ["no memcheck"]}


def test_what_nobody_could_watch_is_not_called_clean(workloads, candidates, monkeypatch) -> None:
    monkeypatch.setenv("WARPSMITH_RACECHECK", "on")
    original, chosen = candidates
    watch, said = scrutiny(None, workloads)
    assert watch.problem(Scrutinised(chosen.candidate, lambda: CompileFailed("too large")), original) is None
    assert said == ["racecheck, memcheck, initcheck could not check VEC=4: does not compile with instrumentation: too large"]
    assert as_json(watch.entry) == {"done": [], "out": {}, "original": {}, "not_done": said}


# Right on the CPU device, whose warps go together; a GPU's need not.
RACING = """
__global__ void k(const float* x, float* out, int n) {
    __shared__ float s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    float other = s[threadIdx.x ^ 1];
    if (i < n) out[i] = 2 * s[threadIdx.x] + 0 * other;
}
"""


def test_the_cpu_device_watches_for_races_itself(workloads, monkeypatch) -> None:
    monkeypatch.setenv("WARPSMITH_RACECHECK", "on")
    original, racing = subjects(DOUBLE, RACING)
    watch, said = scrutiny(None, workloads)
    assert watch.problem(original, original) is None
    assert not said
    assert "racecheck: shared memory 's': thread" in str(watch.problem(racing, original))
    assert watch.problem(original, racing) is None  # what the original does, others may
    assert said[-1].startswith("the original does not pass racecheck either")
    assert watch.entry is not None
    assert watch.entry.done == ("racecheck", "memcheck", "initcheck")
    monkeypatch.setenv("WARPSMITH_RACECHECK", "off")
    assert scrutiny(None, workloads)[0].problem(racing, original) is None
