"""How long `import warpsmith` and commands that only look something up take, beside Python's own start-up.

Goal: --help below 0.3 s. Most of what the others take are libraries: Typer with pydantic, NumPy, Rich.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

REPEATS = 9


def main() -> None:
    bare = _median_s([sys.executable, "-c", "pass"])
    print(f"python -c pass           {bare * 1e3:7.0f} ms")
    commands = {"import warpsmith": [sys.executable, "-c", "import warpsmith"]}
    for words in ("--help", "check softmax", "show", "devices"):
        commands[f"warpsmith {words}"] = [sys.executable, "-m", "warpsmith", *words.split()]
    for label, command in commands.items():
        took = _median_s(command)
        print(f"{label:<24} {took * 1e3:7.0f} ms   {took / bare:4.1f} x bare Python")


def _median_s(command: list[str]) -> float:
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)
