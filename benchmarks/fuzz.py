"""Mutated inputs through every parser: a value or an error that says what is wrong, no traceback, no hang, memory flat.

`python -m benchmarks fuzz 50000` for so many in all; `WARPSMITH_FUZZ="source passes"` for some of the parsers,
`WARPSMITH_FUZZ_SEED` for other inputs. What is found lies in `fuzz-findings/`, each input beside its traceback.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

from benchmarks.fuzzing.parsers import Parser, all_parsers
from benchmarks.fuzzing.running import Account, Finding, feed

_DEFAULT = 2000
_FINDINGS = Path("fuzz-findings")


def main() -> None:
    total = next((int(argument) for argument in sys.argv[1:] if argument.isdecimal()), _DEFAULT)
    seed = int(os.environ.get("WARPSMITH_FUZZ_SEED", "0"))
    wanted = [name.strip() for name in os.environ.get("WARPSMITH_FUZZ", "").split(",") if name.strip()]
    parsers = [parser for parser in all_parsers() if not wanted or parser.name in wanted]
    shares = sum(parser.share for parser in parsers)
    print(f"{'parser':18} {'inputs':>7} {'values':>7} {'refused':>8} {'ms each':>8} {'longest':>9}  {'memory, MiB':20} findings")
    found = 0
    for parser in parsers:
        account = feed(parser, round(total * parser.share / shares), seed)
        found += len(_report(parser, account))
    print(f"seed {seed}: {found} findings" + (f", in {_FINDINGS}/" if found else ""))
    sys.exit(1 if found else 0)


def _report(parser: Parser, account: Account) -> list[Finding]:
    places = Counter((f.kind, f.place) for f in account.findings)
    memory = account.memory_after_mib
    tenth = max(1, len(memory) // 10)
    growth = f"{max(memory[:tenth], default=0):.0f} → {max(memory[-tenth:], default=0):.0f}"
    each = 1e3 * account.seconds / max(1, account.inputs)
    print(
        f"{parser.name:18} {account.inputs:7} {account.values:7} {account.refused:8} {each:8.1f} {account.longest_s:7.2f} s"
        f"  {growth:20} {len(places)}",
        flush=True,
    )
    shown: set[tuple[str, str]] = set()
    for finding in account.findings:
        key = (finding.kind, finding.place)
        if key in shown:
            continue
        shown.add(key)
        print(
            f"    {finding.kind} at {finding.place}: {places[key]}×, first input {finding.number} from {finding.seed}", flush=True
        )
        _FINDINGS.mkdir(exist_ok=True)
        file = _FINDINGS / f"{parser.name.replace(' ', '-').replace(':', '')}-{finding.number}"
        file.with_name(file.name + ".input").write_bytes(finding.data)
        file.with_name(file.name + ".txt").write_text(finding.trace)
    return [next(f for f in account.findings if (f.kind, f.place) == key) for key in shown]
