"""`make bench`: the quick benchmarks, or those named: `python -m benchmarks overhead bundled`."""

from __future__ import annotations

import importlib
import sys

BENCHMARKS = ("startup", "overhead", "repeatability", "construction", "search", "refactoring")


def main() -> None:
    for name in sys.argv[1:] or BENCHMARKS:
        print(f"── {name} ──", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
