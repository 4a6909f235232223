"""Random kernels tried in processes of their own, which may crash: what each of them came to, and where one ended."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

BATCH = 50


def tell(number: int, kind: str, wrong: list[str] | None) -> None:
    """From the process: with None before a kernel is tried, then with all that was wrong."""
    print(json.dumps([number, kind, wrong]), flush=True)


def run(module: str, text_of: Callable[[int], str]) -> None:
    """Tries as many kernels as the command line says by `work(first, count)` of the module, and prints those that are wrong."""
    count = next((int(argument) for argument in sys.argv[1:] if argument.isdecimal()), 100)
    tried = wrong = crashed = 0
    position = 0
    while position < count:
        job = f"from {module} import work; work({position}, {min(BATCH, count - position)})"
        done = subprocess.run(
            [sys.executable, "-c", job], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False
        )
        reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        for number, kind, problems in reports:
            tried += problems is not None
            if problems:
                wrong += 1
                print(f"wrong: kernel {number} in {kind}, {', '.join(problems)}\n{text_of(number)}", flush=True)
        position += BATCH
        if done.returncode:
            crashed += 1
            if not reports:
                sys.exit("no kernel could be tried")
            print(f"the process ended at kernel {reports[-1][0]}", flush=True)
            position = reports[-1][0] + 1
    print(f"{tried} kernels tried, {wrong} wrong, {crashed} crashes")
