"""The source of a `tune_kernel` call: the line of each argument, and where a parameter gets its values."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from warpsmith.spec.kernel_tuner.run.unknown import Unknown

PARAMETERS = (  # noqa: SIM905 - as words they can be read
    "kernel_name kernel_source problem_size arguments tune_params grid_div_x grid_div_y grid_div_z restrictions answer atol "
    "verify verbose lang device platform smem_args cmem_args texmem_args compiler compiler_options defines log iterations "
    "block_size_names quiet strategy strategy_options cache metrics simulation_mode parallel observers objective "
    "objective_higher_is_better objectives seed"
).split()


@dataclass
class CallSite:
    """`tree` is the file with the call. `notes` go to the head of the kernel.toml."""

    file: str
    tree: ast.Module
    call: ast.Call
    notes: list[str] = field(default_factory=list)

    def place(self, line: int) -> str:
        return f"{self.file}:{line}"

    def not_followed(self, name: str, line: int) -> None:
        self.notes.append(f"FILL IN: {name} at {self.place(line)} could not be followed")

    def nodes(self) -> dict[str, ast.expr]:
        """The arguments by Kernel Tuner's parameter names."""
        named = {k.arg: k.value for k in self.call.keywords if k.arg is not None}
        if any(isinstance(argument, ast.Starred) for argument in self.call.args):
            return named
        return dict(zip(PARAMETERS, self.call.args, strict=False)) | named

    def lines(self, given: Mapping[str, Any]) -> dict[str, int]:
        """The line of each argument, or the origin of what is unknown in it."""
        nodes = self.nodes()
        found = {name: nodes[name].lineno if name in nodes else self.call.lineno for name in PARAMETERS}
        return found | {name: value.line for name, value in given.items() if isinstance(value, Unknown) and value.line}

    def key_line(self, key: str) -> int:
        """The last line before the call where a dictionary gets this key; of the passed dictionary, if known."""
        table = self.nodes().get("tune_params")
        own = table.id if isinstance(table, ast.Name) else None
        found = [(o == own, line) for node in ast.walk(self.tree) for o, line in _entries(node, key) if line <= self.call.lineno]
        return max(found, default=(False, self.call.lineno))[1]


def _entries(node: ast.AST, key: str) -> list[tuple[str | None, int]]:
    """Lines where a dictionary gets the key, and the dictionary's name if known."""
    match node:
        case ast.Subscript(value=owner, slice=ast.Constant(value=name), ctx=ast.Store()) if name == key:
            return [(owner.id if isinstance(owner, ast.Name) else None, node.lineno)]
        case ast.Dict(keys=keys):
            return [(None, k.lineno) for k in keys if isinstance(k, ast.Constant) and k.value == key]
        case ast.Call(keywords=keywords):
            return [(None, k.lineno) for k in keywords if k.arg == key]
        case ast.Tuple(elts=[ast.Constant(value=name), _]) if name == key:
            return [(None, node.lineno)]
        case _:
            return []


def shown(node: ast.AST) -> str:
    """Its source, on one line."""
    try:
        text = " ".join(ast.unparse(node).split())
    except RecursionError:
        return "…"
    return text if len(text) <= 100 else f"{text[:97]}…"
