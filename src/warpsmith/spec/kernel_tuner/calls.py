"""One call of `tune_kernel` in its script: what stands under a name, on which line, and what is noted about it on the way."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path

from warpsmith.core import configuration
from warpsmith.spec.kernel_tuner.conditions import Known
from warpsmith.spec.kernel_tuner.python.follow import ScriptFollower, TuneCall
from warpsmith.spec.kernel_tuner.python.values import Listed, Nothing, ScriptNumber, ScriptValue, Unknown


@dataclass
class ReadCall:
    """`notes` are what the head of the kernel.toml is to say."""

    file: Path
    follower: ScriptFollower
    found: TuneCall
    notes: list[str] = field(default_factory=list)

    def place(self, line: int) -> str:
        return f"{self.file.name}:{line}"

    @property
    def own_place(self) -> str:
        return self.place(self.found.line)

    def given(self, name: str) -> ScriptValue | None:
        """None where the script leaves it at Kernel Tuner's default."""
        value = self.found.values.get(name)
        return None if isinstance(value, Nothing) else value

    def line(self, name: str) -> int:
        node, value = self.found.nodes.get(name), self.found.values.get(name)
        return value.line if isinstance(value, Unknown) else node.lineno if node is not None else self.found.line

    def not_followed(self, name: str) -> None:
        self.notes.append(f"FILL IN: {name} at {self.place(self.line(name))} could not be followed")

    def resolve(self, node: ast.expr) -> Known | None:
        """What an expression is where the call stands, if it is plain."""
        found = self.follower.of(node, self.found.scope)
        if not isinstance(found, Listed):
            return plain(found)
        items = [plain(item) for item in found.items]
        return [item for item in items if item is not None] if None not in items else None


def plain(value: ScriptValue) -> configuration.Value | None:
    """A number or text; None for everything else."""
    return value.value if isinstance(value, ScriptNumber) else value if isinstance(value, str) else None


def shown(node: ast.AST) -> str:
    """As it is written, on one line."""
    try:
        text = " ".join(ast.unparse(node).split())
    except RecursionError:
        return "…"
    return text if len(text) <= 100 else f"{text[:97]}…"
