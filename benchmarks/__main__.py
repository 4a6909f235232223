"""`make bench`: the quick benchmarks, or those named: `python -m benchmarks overhead bundled`, or one
with arguments of its own: `python -m benchmarks absent_gpu FOLDER …`. `--help` says what there is.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from pathlib import Path

BENCHMARKS = ("startup", "overhead", "repeatability", "construction", "search", "refactoring")


def main() -> None:
    first, *rest = [*sys.argv[1:], ""]
    if first in _summaries() and any(
        "/" in argument or argument.startswith("--") for argument in rest
    ):  # all of it is that one's
        importlib.import_module(f"benchmarks.{first}").main([argument for argument in rest if argument])
        return
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
    here = Path(__file__).parent
    files = {file.stem: file for file in here.glob("[a-z]*.py")} | {file.parent.name: file for file in here.glob("*/__init__.py")}
    trees = {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in sorted(files.items())}
    return {
        name: re.split(r"[.:?] ", " ".join((ast.get_docstring(tree) or "").split()))[0]
        for name, tree in trees.items()
        if any(_defines_main(node) for node in tree.body)
    }


def _defines_main(node: ast.stmt) -> bool:
    """A package takes its own from one of its modules."""
    if isinstance(node, ast.ImportFrom):
        return any(alias.name == "main" for alias in node.names)
    return isinstance(node, ast.FunctionDef) and node.name == "main"


if __name__ == "__main__":
    main()
