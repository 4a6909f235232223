"""Fallback for a script that cannot be run: its calls of `tune_kernel` with their literal values.

Statements are read in source order, at any depth. Arrays and results of functions are unknown.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from warpsmith.spec.kernel_tuner.literals import FAILURES, value_of_node
from warpsmith.spec.kernel_tuner.recording import RecordedCall
from warpsmith.spec.kernel_tuner.run.recorder import Recorder
from warpsmith.spec.kernel_tuner.run.rewriting import TUNE
from warpsmith.spec.kernel_tuner.run.site import PARAMETERS, CallSite
from warpsmith.spec.kernel_tuner.run.tracing import Tracing
from warpsmith.spec.kernel_tuner.run.unknown import Unknown


def calls_read(file: Path, text: str) -> tuple[RecordedCall, ...]:
    tree = ast.parse(text)
    names: dict[str, Any] = {}
    tracing = Tracing()
    found: list[RecordedCall] = []
    for node in sorted((n for n in ast.walk(tree) if isinstance(n, ast.stmt | ast.Call)), key=_place):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names[name] = tracing.named(name, _value(value, names), node.lineno)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)))], value=value):
                if isinstance(names.get(name), dict):
                    names[name][key] = _value(value, names)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value) if isinstance(names.get(name), list):
                more = _value(value, names)
                names[name] = [*names[name], *(more if isinstance(more, list) else [more])]
            case ast.With(items=[ast.withitem(context_expr=opened, optional_vars=ast.Name(id=name))]):
                names[name] = _value(opened, names)
            case ast.FunctionDef(args=arguments):
                last = arguments.args[len(arguments.args) - len(arguments.defaults) :]
                names |= {a.arg: _value(default, names) for a, default in zip(last, arguments.defaults, strict=True)}
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name == TUNE:
                recorder = Recorder(CallSite(file.name, tree, node), tracing, lambda _: None, lambda _: None)
                found.append(recorder.recorded(_given(node, names)))
            case _:
                pass
    return tuple(found)


def _place(node: ast.stmt | ast.Call) -> tuple[int, bool]:
    """An assignment of a call's result comes after the call."""
    return node.lineno, not isinstance(node, ast.Call)


def _given(call: ast.Call, names: dict[str, Any]) -> dict[str, Any]:
    nodes = dict(zip(PARAMETERS, call.args, strict=False)) | {k.arg or "**": k.value for k in call.keywords}
    return {name: _value(node, names) for name, node in nodes.items()}


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, names) for part in parts]
        case ast.Call(func=ast.Name(id="open"), args=[name, *_]) if isinstance(named := _value(name, names), str):
            return _FileText(named)
        case ast.Call(func=ast.Attribute(value=owner, attr="read")):
            return _value(owner, names)
        case _:
            try:
                return value_of_node(node, names)
            except FAILURES:
                return Unknown(node.lineno)


class _FileText:
    """The contents of a file that is read, and its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __fspath__(self) -> str:
        return self._name

    def __str__(self) -> str:
        return self._name
