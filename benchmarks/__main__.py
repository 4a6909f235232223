"""`make bench`: the quick benchmarks, or those named: `python -m benchmarks overhead bundled`. `--help` says what there is."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from pathlib import Path

BENCHMARKS = ("startup", "overhead", "repeatability", "construction", "search", "refactoring")


def main() -> None:
    named = [argument for argument in sys.argv[1:] if not argument.isdecimal()]  # a number is the benchmark's own business
    there = _summaries()
    if unknown := [name for name in named if name not in there]:
        wants_help = {*unknown} <= {"-h", "--help"}
        print(__doc__ if wants_help else f"no benchmark {', '.join(unknown)}; there are:", end="\n\n")
        print("\n".join(f"  {name:14} {summary}" for name, summary in there.items()))
        sys.exit(0 if wants_help else 2)
    for name in named or BENCHMARKS:
        print(f"── {name} ──", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


def _summaries() -> dict[str, str]:
    """What each one's file says first, without importing it: what some are compared with may not be installed."""
    trees = {file.stem: ast.parse(file.read_text(encoding="utf-8")) for file in sorted(Path(__file__).parent.glob("[a-z]*.py"))}
    return {
        name: re.split(r"[.:?] ", " ".join((ast.get_docstring(tree) or "").split()))[0]
        for name, tree in trees.items()
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)
    }


if __name__ == "__main__":
    main()
