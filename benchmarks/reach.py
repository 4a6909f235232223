"""How far do the rules reach on kernels that nobody wrote them for? Kernels out of public packages, made standalone as
`warpsmith extract` and `init` make them, are templated; what it prints are parameters a kernel and refusals by reason.

A third of the kernels, drawn by a hash of their name, is held out: of those only totals are shown. Do not look at them either.
Templating alone needs no device: about two seconds a kernel. PACKAGES names a few, EACH how many kernels of each (default 16),
KERNELS single ones of the open. VERIFIED=n also verifies TRIED configurations (default 12) of n kernels without the probes that
guard a template, TUNED=n searches n kernels (EVALUATIONS each, default 24). What is made is kept in the user's cache; FRESH=1
makes it anew. OUT writes the open kernels' figures to a file; AGAINST is such a file, and shows what has changed.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from platformdirs import user_cache_path

from benchmarks.reaching.kernels import Found, kernels_of, placed
from benchmarks.reaching.packages import PACKAGES, folder_of, plain_name
from benchmarks.reaching.templating import Made, OutOfTimeError, kind_of, made_of, within
from benchmarks.reaching.trying import tuned, verified

_DEADLINE_S = 60  # of this process's time, for each step of each kernel
_BINS = ((0, 0), (1, 1), (2, 2), (3, 4), (5, 9), (10, 99))
_MOST_REASONS = 40


def main() -> None:
    each, names = int(os.environ.get("EACH", "16")), os.environ.get("KERNELS", "").split()
    drawn = [found for found in drawn_of(each) if not names or (found.name in names and not found.is_held_out)]
    made: dict[Found, Made] = {}
    folders: dict[Found, Path] = {}
    without: Counter[str] = Counter()
    for number, found in enumerate(drawn, 1):
        print(f"\r{number} of {len(drawn)} ", end="", file=sys.stderr, flush=True)
        folder = folder_with(found)
        if isinstance(folder, str):
            without[kind_of(folder)] += 1
            continue
        folders[found] = folder
        made[found] = made_of(folder, _DEADLINE_S)
        if names:
            _tell(found, made[found])
    _print_counts(drawn, made, without)
    _print_reasons(made)
    _print_changes(made)
    _print_tried("verified", verified, folders, int(os.environ.get("VERIFIED", "0")))
    _print_tried("tuned", tuned, folders, int(os.environ.get("TUNED", "0")))


def drawn_of(each: int) -> list[Found]:
    drawn, wanted, seen = list[Found](), os.environ.get("PACKAGES", "").split(), set[str]()
    for requirement in PACKAGES:
        name = plain_name(requirement)
        if wanted and name not in wanted:
            continue
        package = folder_of(requirement)
        if isinstance(package, str):
            print(f"not there: {requirement}: {package}")
            continue
        found = [k for k in kernels_of(name, package) if k.kernel.plain_name not in seen]  # packages copy from each other
        seen |= {k.kernel.plain_name for k in found}
        drawn += found[:each]
    return drawn


def folder_with(found: Found) -> Path | str:
    """Made once: it takes about a second, and passes have no part in it."""
    folder = user_cache_path("warpsmith") / "benchmarks" / "reach" / "kernels" / found.package / found.kernel.plain_name
    said = folder / ".refused"
    if os.environ.get("FRESH"):
        shutil.rmtree(folder, ignore_errors=True)
    if said.exists():
        return said.read_text(encoding="utf-8")
    if not (folder / "kernel.toml").exists():
        package = folder_of(next(r for r in PACKAGES if plain_name(r) == found.package))
        assert isinstance(package, Path), "the kernel was found in it"
        try:
            with within(_DEADLINE_S):
                answer = placed(found, folder, package)
        except OutOfTimeError:
            answer = f"extracting takes more than {_DEADLINE_S} s"
        if isinstance(answer, str):
            said.write_text(answer, encoding="utf-8")
            return answer
    return folder


def _tell(found: Found, made: Made) -> None:
    print(f"{found.name}: {len(made.parameters)} parameters in {made.seconds:.1f} s: {made.problem or ' '.join(made.parameters)}")
    for name, reason in made.refusals:
        print(f"  {name:20} {reason}")


def _print_counts(drawn: Sequence[Found], made: Mapping[Found, Made], without: Counter[str]) -> None:
    print(f"\n{len(drawn)} kernels drawn, {len(made)} with a kernel.toml; the others:")
    for reason, count in without.most_common(12):
        print(f"{count:5d}  {reason}")
    listed = " | ".join(f"{low}" if low == high else f"{low} to {high}" if high < 99 else f"{low} or more" for low, high in _BINS)
    print(f"\n| kernels | | parameters: {listed} | median | mean | at least 3 | at least 5 | CPU seconds, median | longest |")
    print("|---|" + "---|" * (len(_BINS) + 7))
    for label, is_held_out in (("open", False), ("held out", True)):
        these = [m for found, m in made.items() if found.is_held_out is is_held_out]
        print(_row(label, these, [m.parameters for m in these if m.problem is None]))
        print(_row(f"{label}, without hints", these, [m.counted for m in these if m.problem is None]))


def _row(label: str, made: Sequence[Made], parameters: Iterable[Sequence[str]]) -> str:
    counted = list(map(len, parameters))
    if not counted:
        return f"| {label} | 0 |"
    seconds = [each.seconds for each in made]
    bins = [str(sum(low <= count <= high for count in counted)) for low, high in _BINS]
    shares = [f"{sum(count >= least for count in counted)}" for least in (3, 5)]
    figures = [f"{statistics.median(counted):g}", f"{statistics.mean(counted):.2f}", *shares]
    failed = f" ({len(made) - len(counted)} not templated)" if len(counted) < len(made) else ""
    cells = (label, f"{len(made)}{failed}", *bins, *figures, f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}")
    return f"| {' | '.join(cells)} |"


def _print_reasons(made: Mapping[Found, Made]) -> None:
    refusals: Counter[str] = Counter()
    kernels, applied = defaultdict[str, set[str]](set), Counter[str]()
    for found, each in made.items():
        if found.is_held_out:
            continue
        applied.update(each.applied)
        for name, reason in (*each.refusals, *([("kernel", each.problem)] if each.problem else [])):
            kind = f"{name}: {kind_of(reason)}"
            refusals[kind] += 1
            kernels[kind_of(reason)].add(found.name)
    print("\npasses that applied (open):", ", ".join(f"{name} {count}" for name, count in applied.most_common()))
    print("\n| open kernels | refusal |\n|---|---|")
    for kind, names in sorted(kernels.items(), key=lambda item: -len(item[1]))[:_MOST_REASONS]:
        passes = [name for name in (k.partition(": ") for k in refusals) if name[2] == kind]
        print(f"| {len(names)} | {kind} ({', '.join(name[0] for name in passes[:4])}{' …' if len(passes) > 4 else ''}) |")


def _print_changes(made: Mapping[Found, Made]) -> None:
    now = {found.name: list(each.parameters) for found, each in made.items() if not found.is_held_out}
    if out := os.environ.get("OUT"):
        Path(out).write_text(json.dumps(now, indent=1), encoding="utf-8")
    if against := os.environ.get("AGAINST"):
        before = json.loads(Path(against).read_text(encoding="utf-8"))
        print("\nchanged against", against)
        for name, parameters in now.items():
            if name in before and before[name] != parameters:
                lost, gained = ([p for p in a if p not in b] for a, b in ((before[name], parameters), (parameters, before[name])))
                print(f"  {name}: {len(before[name])} → {len(parameters)}  +{gained} -{lost}")


def _print_tried(what: str, trying: Callable[[Path], tuple[str, str]], folders: Mapping[Found, Path], count: int) -> None:
    """`trying` answers with a class and its words: of kernels held out only the class is counted."""
    if not count:
        return
    print(f"\n{what}:", flush=True)
    classes: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
    for found, folder in _spread(folders, count):
        label, words = trying(folder)
        classes[found.is_held_out][label] += 1
        if not found.is_held_out:
            print(f"  {found.name}: {label}{words and ': '}{words}", flush=True)
    for is_held_out, counted in classes.items():
        print(f"{'held out' if is_held_out else 'open'}: {', '.join(f'{n} {label}' for label, n in counted.most_common())}")


def _spread(folders: Mapping[Found, Path], count: int) -> Iterable[tuple[Found, Path]]:
    """So many, from all packages alike."""
    step = max(1, len(folders) // count)
    return list(folders.items())[::step][:count]
