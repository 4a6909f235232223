"""Pieces of source text that passes write: names that are free, casts in the language's spelling, bodies moved elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.source import KernelSource
from warpsmith.source.statements import text_between
from warpsmith.source.tree import Edit, Tree
from warpsmith.spec.comments import without_noise

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST = 130
_WORD = re.compile(r"[A-Za-z_]\w*")


class FreeNames:
    """Hands out names that nothing in the text is called, each once."""

    def __init__(self, text: str) -> None:
        self._taken = set(_WORD.findall(without_noise(text)))

    def take(self, wanted: str) -> str:
        """The name itself, or with a number behind it. For parameters there is `names.fresh_name`."""
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name


def cast(language: Language, kind: str, expression: str) -> str:
    """`static_cast<int>(x)`, or `(int)x` where the language is C."""
    if language is Language.OPENCL:
        return f"({kind}){expression}" if _is_operand(expression) else f"({kind})({expression})"
    return f"static_cast<{kind}>({expression})"


def barrier(language: Language) -> str:
    return "barrier(CLK_LOCAL_MEM_FENCE);" if language is Language.OPENCL else "__syncthreads();"


def shared_array(language: Language, kind: str, name: str, extent: str) -> str:
    return f"{'__local' if language is Language.OPENCL else '__shared__'} {kind} {name}[{extent}];"


def operand(expression: str) -> str:
    """The expression as it may stand beside a `*` or `%`: in parentheses unless it is a single thing."""
    return expression if _is_operand(expression) else f"({expression})"


def statements_of(tree: Tree, body: Node, edits: Sequence[Edit] = ()) -> str:
    """What stands inside a loop's body after the edits, whole lines where it has braces, without the line end at its end."""
    if body.type != "compound_statement":
        text = text_between(tree, body.start_byte, body.end_byte, edits)
        return f"{tree.indentation(body)}{'  ' if _shares_its_line(tree, body) else ''}{text}"
    inner = text_between(tree, body.start_byte + 1, body.end_byte - 1, edits)
    if "\n" not in inner:
        return f"{tree.indentation(body)}  {inner.strip()}"
    first, _, rest = inner.partition("\n")
    # What follows the brace on its own line is a comment on the loop, or a first statement.
    head = f"{tree.indentation(body)}  {first.strip()}\n" if first.strip() else ""
    return (head + rest).rstrip()


def indented(text: str, blanks: int) -> str:
    """Every line moved to the right, but for blank ones and directives."""
    return "\n".join(line if not line.strip() or line.startswith("#") else " " * blanks + line for line in text.split("\n"))


def joined_if(parts: Sequence[str], blanks: str) -> list[str]:
    """`if (a && b) {`, over several lines where one would be too long."""
    line = f"{blanks}if ({' && '.join(parts)}) {{"
    if len(line) <= _LONGEST or len(parts) == 1:
        return [line]
    *others, last = parts
    return [*(f"{blanks}{'    ' if n else 'if ('}{part} &&" for n, part in enumerate(others)), f"{blanks}    {last}) {{"]


def before_kernel(source: KernelSource, text: str) -> Edit:
    """Puts declarations before the kernel and the comments that belong to it."""
    tree, before = source.tree, source.definition.prev_sibling
    while before is not None and before.type == "comment" and _begins_line(before, tree):
        before = before.prev_sibling
    at = before.end_byte if before is not None else 0
    if at and tree.data[at - 1 : at] != b"\n":  # a directive's node has its line's end
        return Edit(at, at, f"\n\n{text}")
    return Edit(at, at, f"\n{text}\n" if at else f"{text}\n\n")


def _begins_line(node: Node, tree: Tree) -> bool:
    return not tree.data[tree.data.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte].strip()


def removed(tree: Tree, nodes: list[Node]) -> Edit:
    """Deletes neighbours: whole lines, where nothing else stands on them.

    OpenCL's qualifiers before a declaration are not of its node, and go with it.
    """
    data, end = tree.data, nodes[-1].end_byte
    first = nodes[0].start_byte - len(tree.qualifiers_before(nodes[0]))
    start = data.rfind(b"\n", 0, first) + 1
    if data[start:first].strip():
        return Edit(first, end, "")
    stop = data.find(b"\n", end)
    rest = data[end : stop if stop >= 0 else len(data)]
    if rest.strip() and not rest.lstrip().startswith(b"//"):
        return Edit(start, end, "")
    return Edit(start, stop + 1 if stop >= 0 else len(data), "") if data[end - 1 : end] != b"\n" else Edit(start, end, "")


def _shares_its_line(tree: Tree, body: Node) -> bool:
    start = tree.data.rfind(b"\n", 0, body.start_byte) + 1
    return bool(tree.data[start : body.start_byte].strip())


def _is_operand(expression: str) -> bool:
    return re.fullmatch(r"\w+(?:\.\w+)*(?:\(\w*\))?|\([^()]*\)", expression.strip()) is not None
