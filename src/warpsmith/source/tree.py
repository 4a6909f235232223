"""Source text as a syntax tree with exact byte spans (tree-sitter's CUDA grammar), and edits by span.

What the grammar does not know (OpenCL's qualifiers, attributes) is blanked out at equal length before parsing, so that every span
is one of the real text.
"""

from __future__ import annotations

import re
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from heapq import merge
from operator import itemgetter
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.source.specifier_macros import without_specifier_macros

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})
BRANCHES = LOOPS | {"if_statement", "switch_statement"}

_ATTRIBUTE = re.compile(rb"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")
_ALIGNMENT = re.compile(rb"\b__(?:builtin_)?align__(?=\s*\()")  # what the grammar knows as `alignas`
# No compiler takes such a number, and Python refuses to read the longest: a name that nobody knows is in its place.
_ENDLESS_NUMBER = re.compile(rb"(?<![\w.])\d(?=\d{100})")
_LAMBDA_SPACE = re.compile(rb"(?<=\])\s*\b(?:__host__\s+)?__device__(?:\s+__host__)?(?=\s*[({])")
_MOST_CLUSTERS = re.compile(
    rb"\b__launch_bounds__\s*\((?:[^(),]|\([^()]*\))+,(?:[^(),]|\([^()]*\))+(?P<third>,(?:[^(),]|\([^()]*\))+)\)"
)
# Macros of ours that stand where only an attribute can (passes launch_bounds, read_only).
_ATTRIBUTE_MACROS = re.compile(rb"(?<!#define )\b(?:LAUNCH_BOUNDS|NO_OVERLAP)_*\b")
# `#if BLOCKS_PER_SM > 0`, a promise, `#endif` in the middle of a declaration: the promise counts as made, which is the safe side.
_CONDITIONAL_BOUNDS = re.compile(
    rb"^[ \t]*#[ \t]*if[^\n]*\n(?P<promise>\s*__launch_bounds__\s*\((?:[^()#]|\([^()#]*\))*\)[ \t]*\n)"
    rb"[ \t]*#[ \t]*endif[^\n]*",
    re.MULTILINE,
)
# `for (…)`, a pragma, and a body without braces: the grammar expects the body at once.
_INNER_PRAGMA = re.compile(rb"(?:\)|\belse)[ \t]*(?://[^\n]*)?\r?\n(?P<pragma>(?:[ \t]*#[ \t]*pragma\b[^\n\\]*\n)+)")
# `(a < b && c >= d)`, which the grammar takes for a template `a<b && c>`: the comparison gets parentheses in the blanks around
# it, and what opens just before it moves into the blank. Only where an operand of && begins, not in the middle of a sum.
_LIKE_A_TEMPLATE = re.compile(
    rb"(?:(?<=&&)|(?<=\|\|)|(?<=[=(?:,])|(?<=\breturn)|(?=\s[(!]*\())\s(?P<opening>(?:[(!]*\()?)"
    rb"(?P<comparison>[A-Za-z_]\w*\s*<(?![<=])(?:->|(?!/[/*])[^<>=&|?:;,{}()]|\([^()]*\))+?)\s"
    rb"(?=\s*(?:&&|\|\|)[^;{}?]*?(?:>=|\s>\s*\())"
)
# `(row) + k`, which the grammar may take for a cast of `+k` to a type `row`.
_BRACKETED_NAME = re.compile(rb"\(\s*(?P<name>[A-Za-z_]\w*)\s*\)(?=\s*[-+*&])")
_TYPE_NAME = re.compile(rb"\b(?:typename|class|struct|union|enum|using|define)\s+(\w+)|\btypedef\b[^;]*?(\w+)\s*;")
_OPENCL_WORDS = re.compile(
    rb"\b(?:__kernel|kernel|__global|global|__local|local|__constant|constant|__private|private|restrict)\b(?!\s*[=;,(\[)])"
)
# A type of OpenCL that the grammar would take for a name stays as it is: it parses as a type identifier.
_ADDRESS_SPACES = re.compile(rb"\b(?:__)?(?:global|local|constant|private|generic)\b.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Edit:
    """The bytes from `start` to `end` become `text`; an insertion has an empty span."""

    start: int
    end: int
    text: str


class Tree:
    """A parsed file. Nodes are tree-sitter's own; this adds the real text, which may differ from what was parsed by masking."""

    def __init__(self, text: str, language: Language) -> None:
        self.text = text
        self.data = text.encode()
        self.language = language
        self.left_out: tuple[int, ...] = ()  # places, in bytes, where a line of the author's is gone: lines count as he has them
        self.root: Node = _parsed(masked(self.data, language))

    def text_of(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode(errors="replace")

    def qualifiers_before(self, node: Node) -> bytes:
        """OpenCL's, up to the node: blanked out for the parser, they are of the declaration's own node only after a `const`."""
        if self.language is not Language.OPENCL or node.prev_sibling is None:
            return b""
        found = _ADDRESS_SPACES.search(self.data, node.prev_sibling.end_byte, node.start_byte)
        return found[0] if found is not None else b""

    def line_of(self, node: Node) -> int:
        # Counted here: tree-sitter 0.26's `start_point` gives away integers that are not its own, which ends in a crash.
        return self.data.count(b"\n", 0, node.start_byte) + 1 + sum(at <= node.start_byte for at in self.left_out)

    def indentation(self, node: Node) -> str:
        """The blanks at the beginning of the node's line."""
        start = self.data.rfind(b"\n", 0, node.start_byte) + 1
        line = self.data[start : node.start_byte]
        return line[: len(line) - len(line.lstrip())].decode()

    def line_start(self, node: Node) -> int:
        """Where the node's line begins, when only blanks stand before the node; else the node itself."""
        start = self.data.rfind(b"\n", 0, node.start_byte) + 1
        return start if not self.data[start : node.start_byte].strip() else node.start_byte

    def edited(self, edits: Iterable[Edit]) -> str:
        """The text after all edits. They must not overlap; insertions at one place keep their order."""
        pieces: list[bytes] = []
        position = 0
        for edit in sorted(edits, key=lambda e: (e.start, e.end)):
            if edit.start < position:
                raise ValueError(f"overlapping edits at byte {edit.start}")
            pieces += [self.data[position : edit.start], edit.text.encode()]
            position = edit.end
        return (b"".join(pieces) + self.data[position:]).decode()


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the text; without recursion, since sources nest deeply."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(current.children))


def text_of(node: Node) -> str:
    """What was parsed, whichever tree the node is of: the real text but for what was masked."""
    return (node.text or b"").decode(errors="replace")


def of_kind(node: Node, *kinds: str) -> Iterator[Node]:
    """Those of these kinds among the node and all below it, in the order of the text."""
    known = _WALKS.of(node)
    found = [known[kind] for kind in dict.fromkeys(kinds) if kind in known]
    if len(found) == 1:
        return iter(found[0].nodes)
    return (n for _, n in merge(*(zip(kind.places, kind.nodes, strict=True) for kind in found), key=itemgetter(0)))


@dataclass(frozen=True, slots=True)
class _Kind:
    """Nodes of one kind, with their places in the walk."""

    places: array[int]
    nodes: list[Node]


class _Walks:
    """Nodes by kind below those that were asked about lately: passes ask the same ones again and again, and walking takes most
    of their time. It is bounded by what it lists, since a list may hold one node or a whole source's.
    """

    def __init__(self, most_nodes: int) -> None:
        self._most_nodes = most_nodes
        self._lock = threading.Lock()
        self._known: OrderedDict[Node, tuple[int, dict[str, _Kind]]] = OrderedDict()
        self.listed = 0

    def of(self, node: Node) -> Mapping[str, _Kind]:
        with self._lock:
            if (known := self._known.get(node)) is not None:
                self._known.move_to_end(node)
                return known[1]
            found: dict[str, _Kind] = {}
            count = 0
            for n in walk(node):
                if (kind := found.get(n.type)) is None:
                    kind = found[n.type] = _Kind(array("L"), [])
                kind.places.append(count)
                kind.nodes.append(n)
                count += 1
            self._known[node] = count, found
            self.listed += count
            while self.listed > self._most_nodes and len(self._known) > 1:
                self.listed -= self._known.popitem(last=False)[1][0]
            return found


_WALKS = _Walks(most_nodes=300_000)  # about those of one kernel's forms, some 40 MB


def field(node: Node, name: str) -> Node:
    """A child that the grammar guarantees."""
    child = node.child_by_field_name(name)
    if child is None:
        raise ValueError(f"a {node.type} without {name}")
    return child


def unwrapped(node: Node) -> Node:
    """Without parentheses around it."""
    while node.type == "parenthesized_expression" and len(node.named_children) == 1:
        node = node.named_children[0]
    return node


def ancestors(node: Node) -> Iterator[Node]:
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def is_within(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def condition_of(statement: Node) -> Node | None:
    """What decides whether, or how often, the inside of a branch or a loop runs; None of what is neither."""
    if statement.type not in BRANCHES:
        return None
    return statement.child_by_field_name("right" if statement.type == "for_range_loop" else "condition")


def _parsed(data: bytes) -> Node:
    """Without the brackets around variables that the grammar took for types: what uses a variable must be seen."""
    root = _parser().parse(data).root_node
    while found := [match for match in _BRACKETED_NAME.finditer(data) if _is_taken_for_type(match, root, data)]:
        for match in found:
            start, end = match.span()
            data = data[:start] + b" " + data[start + 1 : end - 1] + b" " + data[end:]
        root = _parser().parse(data).root_node
    return root


def _is_taken_for_type(match: re.Match[bytes], root: Node, data: bytes) -> bool:
    node = root.descendant_for_byte_range(*match.span("name"))
    if node is None or node.type != "type_identifier" or node.parent is None or node.parent.parent is None:
        return False
    name = match["name"]
    if node.parent.parent.type != "cast_expression" or name in {n for pair in _TYPE_NAME.findall(data) for n in pair}:
        return False
    declared = (
        rb"(?:\b(?!return\b)\w+(?:\s*[*&]+\s*|\s+)(?:(?:const|restrict|__restrict__)\s+)?|,\s*\**)%b\s*[=;,)\[]" % re.escape(name)
    )
    return re.search(declared, data) is not None


def masked(data: bytes, language: Language) -> bytes:
    for pattern in (_ATTRIBUTE, _ATTRIBUTE_MACROS, _LAMBDA_SPACE):
        data = pattern.sub(_blank, data)
    data = _ALIGNMENT.sub(lambda match: b"alignas".ljust(len(match[0])), data)
    data = _ENDLESS_NUMBER.sub(b"_", data)
    data = _MOST_CLUSTERS.sub(_blank_third, data)
    data = _CONDITIONAL_BOUNDS.sub(_blank_around_promise, data)
    data = _INNER_PRAGMA.sub(_blank_pragma, data)
    data = without_specifier_macros(_LIKE_A_TEMPLATE.sub(_with_parentheses, data))
    return _OPENCL_WORDS.sub(_blank, data) if language is Language.OPENCL else data


def _blank(match: re.Match[bytes]) -> bytes:
    return re.sub(rb"[^\n]", b" ", match.group())


def _blank_around_promise(match: re.Match[bytes]) -> bytes:
    start, end = (place - match.start() for place in match.span("promise"))
    whole = _blank(match)
    return whole[:start] + match["promise"] + whole[end:]


def _blank_third(match: re.Match[bytes]) -> bytes:
    start, end = (place - match.start() for place in match.span("third"))
    return match[0][:start] + b" " * (end - start) + match[0][end:]


def _blank_pragma(match: re.Match[bytes]) -> bytes:
    start = match.start("pragma") - match.start()
    return match[0][:start] + _blank(match)[start:]


def _with_parentheses(match: re.Match[bytes]) -> bytes:
    line = match.string[match.string.rfind(b"\n", 0, match.start()) + 1 : match.start()]
    is_directive = line.lstrip().startswith(b"#")  # where the blank may be what ends a macro's name
    return match[0] if is_directive else match["opening"] + b"(" + match["comparison"] + b")"


@cache
def _parser() -> Parser:
    import tree_sitter_cuda  # noqa: PLC0415 - loaded when used, so that `--help` stays fast
    from tree_sitter import Language as Grammar  # noqa: PLC0415
    from tree_sitter import Parser  # noqa: PLC0415

    return Parser(Grammar(tree_sitter_cuda.language()))
