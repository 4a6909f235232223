"""`make bench`: the quick benchmarks, or those named: `python -m benchmarks overhead bundled`."""

from __future__ import annotations

import importlib
import sys

BENCHMARKS = ("startup", "overhead", "repeatability", "construction", "search", "refactoring")


def main() -> None:
    named = [argument for argument in sys.argv[1:] if not argument.isdecimal()]  # a number is the benchmark's own business
    for name in named or BENCHMARKS:
        print(f"── {name} ──", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
