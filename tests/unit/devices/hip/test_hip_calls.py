"""Every call of the HIP runtime against the bindings' own signatures, where those are installed: they import without ROCm."""

from __future__ import annotations

import ast
import inspect
import re
from types import ModuleType

import pytest

from warpsmith.devices.hip import api, gpu, runtime

_STARRED = {"geometry.grid": 3, "geometry.block": 3}


def _calls(module: ModuleType) -> set[tuple[str, int]]:
    """(function, number of arguments) for each `call("…", …)`."""
    found = set()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "call":
            name, *arguments = node.args
            assert isinstance(name, ast.Constant)
            count = sum(_STARRED[ast.unparse(a.value)] if isinstance(a, ast.Starred) else 1 for a in arguments)
            found.add((str(name.value), count))
    return found


def test_calls_and_errors_are_those_of_the_bindings() -> None:
    bindings = pytest.importorskip("rocm.bindings.hip")  # what hip-python passes on as `hip.hip`
    for name, count in sorted({*_calls(api), *_calls(gpu)}):
        signature = re.match(rf"{name}\((.*?)\)", getattr(bindings, name).__doc__.strip())
        assert signature is not None, name
        assert len([part for part in signature[1].split(",") if part.strip()]) == count, name
    assert {error.name for error in bindings.hipError_t} >= runtime.FATAL
