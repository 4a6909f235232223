"""How long `warpsmith --help` and `import warpsmith` take, beside Python's own start-up. Goal: --help below 0.3 s."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

REPEATS = 9


def main() -> None:
    bare = _median_s([sys.executable, "-c", "pass"])
    print(f"python -c pass        {bare * 1e3:7.0f} ms")
    for label, command in {
        "import warpsmith": [sys.executable, "-c", "import warpsmith"],
        "warpsmith --help": [
            sys.executable,
            "-c",
            "import sys; sys.argv = ['warpsmith', '--help']; from warpsmith.cli import main; main()",
        ],
    }.items():
        took = _median_s(command)
        print(f"{label:<21} {took * 1e3:7.0f} ms   {took / bare:4.1f} x bare Python")


def _median_s(command: list[str]) -> float:
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)
