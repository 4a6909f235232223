"""Which functions of a vendor's bindings a module calls, read from its source: `call("cuMemAlloc", nbytes)`."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType

_STARRED = {"geometry.grid": 3, "geometry.block": 3}


def calls_of(module: ModuleType) -> set[tuple[str, int]]:
    """(function, number of arguments) for each `call("…", …)`."""
    found = set()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "call":
            name, *arguments = node.args
            assert isinstance(name, ast.Constant)
            count = sum(_STARRED[ast.unparse(a.value)] if isinstance(a, ast.Starred) else 1 for a in arguments)
            found.add((str(name.value), count))
    return found
