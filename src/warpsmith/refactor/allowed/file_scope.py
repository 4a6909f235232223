"""What a C++ source declares outside of functions, item by item, by tokens alone: object-like macros are written out.

Every branch of an `#if` is read. Where branches leave different brackets open (a loop around the same body, or none), all that
their conditions can be together is read: one of it is what a compiler sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from warpsmith.core.brackets import ANY, until_closed
from warpsmith.core.errors import InputError
from warpsmith.devices._clang.tokens import Kind, Token, tokenize
from warpsmith.refactor.allowed.written_out import written_out
from warpsmith.template.directives import object_defines

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w*)(.*)", re.DOTALL)
_TRANSPARENT = ("namespace", "extern")  # what stands in their braces is still outside of functions
_MOST_CONDITIONS = 7  # of branches that leave different brackets open: each doubles what must be read

Item: TypeAlias = tuple[str, ...]
Condition: TypeAlias = tuple[str, int]  # its text, and how many macros were defined before: the same one has the same value
_Node: TypeAlias = "str | _Group"


@dataclass(slots=True)
class _Group:
    """The branches of one `#if`, each with its condition; the last one's is None: taken where no other is."""

    conditions: list[Condition | None]
    branches: list[list[_Node]] = field(default_factory=lambda: [[]])
    is_even: bool = True  # every branch leaves the same brackets open

    def branch(self, turn: int, truth: Mapping[Condition, bool]) -> list[_Node]:
        if self.is_even:
            return self.branches[min(turn, len(self.branches) - 1)]
        taken = next(n for n, condition in enumerate(self.conditions) if condition is None or truth[condition])
        return self.branches[taken]


def items_of(source: str) -> set[Item]:
    """Declarations, definitions and whatever else stands there. Raises InputError where branches cannot be told apart."""
    several = ambiguous_macros(source)
    macros = {define.name: define.body for define in object_defines(source) if define.name not in several}
    nodes = _nodes(list(tokenize(source)), macros)
    _depth(nodes)
    uneven = sorted({c for group in _groups(nodes) if not group.is_even for c in group.conditions if c is not None})
    if len(uneven) > _MOST_CONDITIONS:
        raise InputError(
            f"#if branches of {len(uneven)} conditions leave different brackets open, so that it cannot be told what is declared",
            hint="open and close brackets in the same branch",
        )
    turns = max([1, *(len(group.branches) for group in _groups(nodes))])
    truths = [dict(zip(uneven, values, strict=True)) for values in product((True, False), repeat=len(uneven))]
    readings = [list(_flat(nodes, turn, truth)) for turn in range(turns) for truth in truths]
    # Conditions that depend on each other cannot be all that they are asked to be here: no compiler would take that.
    balanced = [words for words in readings if _is_balanced(words)]
    if not balanced:
        raise InputError("its brackets do not match", hint="open and close brackets in the same branch of an #if")
    return {item for words in balanced for item in _items(words)}


def ambiguous_macros(source: str) -> frozenset[str]:
    """Object-like macros that are defined more than once, and not alike."""
    bodies: dict[str, set[str]] = {}
    for define in object_defines(source):
        bodies.setdefault(define.name, set()).add(" ".join(define.body.split()))
    return frozenset(name for name, found in bodies.items() if len(found) > 1)


def _nodes(tokens: Sequence[Token], macros: dict[str, str]) -> list[_Node]:
    whole: list[_Node] = []
    open_groups: list[_Group] = []
    defined = 0
    for token in tokens:
        here = open_groups[-1].branches[-1] if open_groups else whole
        if token.kind is not Kind.DIRECTIVE:
            here.extend(written_out([token], macros))
            continue
        found = _DIRECTIVE.match(token.text)
        word, rest = (found[1], " ".join(found[2].split())) if found else ("", "")
        match word:
            case "if" | "ifdef" | "ifndef":
                open_groups.append(_Group([(f"{word} {rest}", defined)]))
                here.append(open_groups[-1])
            case "elif" | "else" | "elifdef" | "elifndef" if open_groups:
                open_groups[-1].branches.append([])
                open_groups[-1].conditions.append(None if word == "else" else (f"{word.removeprefix('el')} {rest}", defined))
            case "endif" if open_groups:
                group = open_groups.pop()
                if group.conditions[-1] is not None:
                    group.branches.append([])
                    group.conditions.append(None)
            case "define" | "undef":
                defined += 1
            case _:
                pass
    for group in open_groups:  # never closed: no compiler takes it
        group.conditions.append(None)
        group.branches.append([])
    return whole


def _depth(nodes: Sequence[_Node]) -> tuple[int, bool]:
    """How many brackets are open behind them, and whether that is the same in whatever branches."""
    depth, is_even = 0, True
    for node in nodes:
        if isinstance(node, str):
            depth += (node in _OPENING) - (node in _CLOSING)
            continue
        found = [_depth(branch) for branch in node.branches]
        node.is_even = len({open_ for open_, _ in found}) == 1 and all(even for _, even in found)
        depth, is_even = depth + found[0][0], is_even and node.is_even
    return depth, is_even


def _groups(nodes: Sequence[_Node]) -> Iterator[_Group]:
    for node in nodes:
        if isinstance(node, _Group):
            yield node
            for branch in node.branches:
                yield from _groups(branch)


def _flat(nodes: Sequence[_Node], turn: int, truth: Mapping[Condition, bool]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        else:
            yield from _flat(node.branch(turn, truth), turn, truth)


def _is_balanced(words: Sequence[str]) -> bool:
    depth = 0
    for word in words:
        depth += (word in _OPENING) - (word in _CLOSING)
        if depth < 0:
            return False
    return depth == 0


def _items(words: Sequence[str]) -> Iterator[Item]:
    begin = place = 0
    takes_parameters = has_value = False  # of the item so far, outside of brackets
    while place < len(words):
        word = words[place]
        ends = word == ";"
        if word == "template" and words[place + 1 : place + 2] == ["<"]:
            place = angle_closed(words, place + 1)
            continue
        if word == "{" and _is_transparent(words[begin:place]):
            yield from _items(words[place + 1 : closed(words, place) - 1])
            begin = place = closed(words, place)
            continue
        if word == "{":
            ends = takes_parameters and not has_value and words[closed(words, place) :][:1] != [";"]  # a function's body
        takes_parameters |= word == "("
        has_value |= word == "=" and words[place - 1] != "operator"
        place = closed(words, place) if word in _OPENING else place + 1
        if ends:
            yield tuple(words[begin:place])
            begin, takes_parameters, has_value = place, False, False
    if words[begin:]:
        yield tuple(words[begin:])


def _is_transparent(head: Sequence[str]) -> bool:
    return any(word in head[:2] for word in _TRANSPARENT) and "(" not in head and "=" not in head


def closed(words: Sequence[str], opening: int) -> int:
    """The place behind the bracket that closes the one there."""
    taken = until_closed((words[place] for place in range(opening, len(words))), ANY)
    return len(words) if taken is None else opening + taken


def angle_closed(words: Sequence[str], opening: int) -> int:
    """The same for `<`; what stands in other brackets between is none of its business."""
    depth, place = 0, opening
    while place < len(words):
        if words[place] in _OPENING:
            place = closed(words, place)
            continue
        depth += {"<": 1, ">": -1, ">>": -2}.get(words[place], 0)
        place += 1
        if depth <= 0:
            break
    return place
