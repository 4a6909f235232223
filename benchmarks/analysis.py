"""Compiling many configurations for a GPU that is not there: two workers against one, and a second time from the cache.

500 configurations of the bundled matmul for sm_90 (a number after the name changes that). Goals on two cores: at least 1.7 times
as fast with two workers, at least 50 times from the cache. Only an idle machine tells;
on another one, the cores that the compilers had on average say how much of two they got.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path

from warpsmith.analysis import TargetReport, analyze, parse_target
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of

KERNEL, TARGET = "matmul", "sm_90"
CONFIGURATIONS = 500


def main() -> None:
    count = next((int(argument) for argument in sys.argv[1:] if argument.isdecimal()), CONFIGURATIONS)
    with tempfile.TemporaryDirectory() as folder:
        one, busy_one = _run(count, workers=1, cache_dir=Path(folder, "one"))
        two, busy_two = _run(count, workers=2, cache_dir=Path(folder, "two"))
        again = min(_run(count, workers=2, cache_dir=Path(folder, "two"))[0].seconds for _ in range(3))
    compiled = sum(report.problem is None for report in two.configurations)
    print(f"{count} configurations of {KERNEL} for {TARGET}, {compiled} of which can run")
    gain, cached = one.seconds / two.seconds, two.seconds / again
    print(f"one worker   {one.seconds:8.2f} s   {busy_one / one.seconds:5.2f} cores")
    print(f"two workers  {two.seconds:8.2f} s   {busy_two / two.seconds:5.2f} cores   {gain:5.2f} x as fast (goal 1.7)")
    print(f"cached       {again:8.2f} s                 {cached:5.1f} x as fast (goal 50)")


def _run(count: int, *, workers: int, cache_dir: Path) -> tuple[TargetReport, float]:
    """The report, and the seconds that cores were busy with it."""
    kernel = load_kernel(KERNEL)
    before = _busy_s()
    report = analyze(kernel, template_of(kernel), parse_target(TARGET), limit=count, cache_dir=cache_dir, workers=workers)
    return report, _busy_s() - before


def _busy_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
