"""Runs the suite: each candidate in a process of its own, with a deadline and a memory limit, for some are written against us."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from benchmarks.cheats.candidate import Candidate
from benchmarks.cheats.judge import Finding, judge
from benchmarks.cheats.suite import SUITE, chosen
from benchmarks.cheats.table import page, row

_DEADLINE_S = 300.0
_MEMORY_BYTES = 12 << 30
_HERE = Path(__file__).parents[2]
_PAGE = _HERE / "docs" / "concepts" / "cheats.md"


def main() -> None:
    candidates = chosen(os.environ.get("CHEATS", ""))
    found: list[tuple[Candidate, Finding]] = []
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        for pair in zip(candidates, pool.map(alone, candidates), strict=True):
            found.append(pair)
            print(row(*pair), flush=True)
            if os.environ.get("WRITE"):
                _PAGE.write_text(page(found), encoding="utf-8")


def alone(candidate: Candidate) -> Finding:
    """What became of it, judged in another process: what that one does not survive is the finding."""
    with tempfile.TemporaryDirectory(prefix="cheats-") as folder:
        told = {**os.environ, "WARPSMITH_HOME": str(Path(folder) / "home"), "TMPDIR": folder}
        told.setdefault("WARPSMITH_CLAIM_PROCESSES", "2")
        try:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.cheats.run", str(SUITE.index(candidate)), folder],
                env=told,
                cwd=_HERE,
                timeout=_DEADLINE_S,
                capture_output=True,
                text=True,
                check=False,
                preexec_fn=_limited,
            )
        except subprocess.TimeoutExpired:
            return Finding(None, f"the tuner itself did not end within {_DEADLINE_S:g} s")
        if done.returncode != 0:
            said = done.stderr.strip().split("\n")[-1]
            return Finding(None, f"the tuner itself ended with {said[:200] or done.returncode}")
        return Finding(**json.loads(done.stdout.strip().split("\n")[-1]))


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))


def _judged(arguments: Sequence[str]) -> None:
    number, folder = arguments
    print(json.dumps(asdict(judge(SUITE[int(number)], Path(folder)))))


if __name__ == "__main__":
    _judged(sys.argv[1:])
