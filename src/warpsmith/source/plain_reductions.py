"""Reductions of libraries over a block, a warp or a tile of it, as functions of shuffles that other modules recognise.

    x = cub::BlockReduce<float, 256>(storage).Sum(x);     →    x = block_sum(x);
    m = cg::reduce(warp, m, cg::greater<float>{});        →    m = warp_max(m);

The order of additions changes, and all threads get the result. A block whose last warp has missing lanes adds up one by one:
there, nobody is at home to exchange values with. A form for passes to start from, with the meaning of the original.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.source.dataflow import is_pure
from warpsmith.source.kernel import KernelSource
from warpsmith.source.names import Names
from warpsmith.source.plain_groups import WARP, Tiles, mask_of
from warpsmith.source.reduction_operations import Operation, alias, operation, plain_type, sign_of
from warpsmith.source.tree import Edit, ancestors, of_kind, text_of, unwrapped
from warpsmith.source.tree import field as child

if TYPE_CHECKING:
    from tree_sitter import Node

_LIBRARY = re.compile(r"\b(?:Block|Warp)Reduce\b|\breduce\s*\(")
_COLLECTIVE = re.compile(r"(?:(?:::\s*)?(?:hip)?cub\s*::\s*)?(?P<what>Block|Warp)Reduce\s*<(?P<given>.*)>", re.DOTALL)
_CG_REDUCE = re.compile(r"(?:(?:cg|cooperative_groups)\s*::\s*)?reduce")
_METHODS = {"Sum": "+", "Max": "max", "Min": "min"}
_CHOOSING = frozenset({"conditional_expression", "lambda_expression"})


@dataclass(frozen=True, slots=True)
class _Call:
    """`lanes` of a tile that reduces; 0 for the whole block."""

    node: Node
    value: Node
    operation: Operation
    lanes: int
    storage: str = ""


@dataclass(slots=True)
class _Written:
    """The functions so far, by what they reduce."""

    taken: set[str]
    functions: dict[tuple[str, Operation], str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def free(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name

    def warp(self, how: Operation) -> str:
        return self._function("warp", how, _warp_text)

    def block(self, how: Operation) -> str:
        warp, alone = self.warp(how), self._function("all_threads", how, _alone_text)
        return self._function("block", how, lambda name, how: _block_text(name, how, warp, alone))

    def _function(self, what: str, how: Operation, text: Callable[[str, Operation], str]) -> str:
        if (what, how) not in self.functions:
            name = self.functions[what, how] = self.free(f"{what}_{how.word}")
            self.texts.append(text(name, how))
        return self.functions[what, how]


def with_plain_reductions(source: KernelSource, block_axes: int) -> str:
    """The whole file's text; unchanged where the kernel itself has no such reduction."""
    if _LIBRARY.search(source.text_of(source.body)) is None:
        return source.text
    calls = [c for c in _calls(source) if c.lanes or block_axes == 1]
    calls = [c for c in calls if not any(o != c and _holds(c.value, o.node) for o in calls)]  # the inner one first
    written, edits = _Written(set(re.findall(r"\w+", source.text))), list[Edit]()
    for call in calls:
        edits += _edits(source, call, written, block_axes)
    if not edits:
        return source.text
    place = source.definition.start_byte
    functions = [Edit(place, place, "\n".join(written.texts) + "\n")] if written.texts else []
    return source.edited(*functions, *edits, *_without_storage(source, calls))


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def _calls(source: KernelSource) -> Iterator[_Call]:
    tiles = Tiles(source)
    for node in of_kind(source.body, "call_expression"):
        function = child(node, "function")
        found = None
        if function.type == "field_expression":
            found = _collective(source, node, function)
        elif _CG_REDUCE.fullmatch(text_of(function)):
            found = _of_group(source, node, tiles)
        if found is not None:
            yield found


def _collective(source: KernelSource, node: Node, function: Node) -> _Call | None:
    """`BlockReduce(storage).Reduce(value, op, blockDim.x)`."""
    made, method = unwrapped(child(function, "argument")), text_of(child(function, "field"))
    if made.type != "call_expression":
        return None
    named = text_of(child(made, "function")).strip()
    kind = _COLLECTIVE.fullmatch(alias(named, source) or named)
    given = list(child(node, "arguments").named_children)
    if kind is None or not given or _is_array(source, given[0]):
        return None
    sign = _METHODS.get(method)
    if method == "Reduce" and len(given) > 1:
        known = sign_of(given.pop(1), source)
        sign = known[0] if known is not None else None
    type_text, *others = _split(kind["given"])
    is_block = kind["what"] == "Block"
    if sign is None or len(given) > 2 or (len(given) == 2 and not (is_block and _is_all(source, given[1]))):
        return None
    lanes = 0 if is_block else WARP if not others else _number(source, others[0])
    how = operation(sign, plain_type(type_text, source))
    if how is None or lanes is None or (is_block and len(others) > 2) or (lanes and lanes & (lanes - 1)):
        return None
    storage = child(made, "arguments").named_children
    return _Call(node, given[0], how, lanes, text_of(storage[0]) if len(storage) == 1 else "")


def _of_group(source: KernelSource, node: Node, tiles: Tiles) -> _Call | None:
    """`cg::reduce(tile, value, cg::plus<float>{})`."""
    given = child(node, "arguments").named_children
    lanes = tiles.lanes(text_of(given[0])) if len(given) == 3 else None
    known = sign_of(given[2], source, of_groups=True) if lanes else None
    if known is None or not lanes:
        return None
    kinds = {plain_type(text, source) for text in (known[1], _type_of(source, given[1])) if text}
    how = operation(known[0], kinds.pop()) if len(kinds) == 1 else None
    return _Call(node, given[1], how, lanes) if how is not None else None


def _type_of(source: KernelSource, value: Node) -> str:
    """Of a variable that is declared here with its type; empty for others."""
    value = unwrapped(value)
    found = source.scopes.declaration(text_of(value), value) if value.type == "identifier" else None
    declared = found.node if found is not None else None
    while declared is not None and declared.child_by_field_name("type") is None:
        declared = declared.parent if declared.type in {"init_declarator", "identifier"} else None
    kind = text_of(child(declared, "type")) if declared is not None else ""
    return "" if kind == "auto" else kind


def _is_array(source: KernelSource, value: Node) -> bool:
    value = unwrapped(value)
    found = source.scopes.declaration(text_of(value), value) if value.type == "identifier" else None
    return found is not None and any(True for _ in of_kind(found.node, "array_declarator"))


def _is_all(source: KernelSource, count: Node) -> bool:
    """Whether so many are all threads of a line of them."""
    names = Names(source)
    count = unwrapped(count)
    known = names.definition(count) if count.type == "identifier" else None
    if known is not None and known.is_fixed and known.value is not None:
        return _is_all(source, known.value)
    return names.builtin(count) == "blockDim.x"


def _number(source: KernelSource, text: str) -> int | None:
    text = source.bindings.get(text.strip(), text.strip())
    macro = source.scopes.macros.get(text)
    return int(text) if text.isdigit() else Names(source).value(macro) if macro is not None else None


def _split(arguments: str) -> list[str]:
    """At commas outside brackets."""
    parts, depth = [""], 0
    for char in arguments:
        depth += (char in "<({[") - (char in ">)}]")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def _edits(source: KernelSource, call: _Call, written: _Written, block_axes: int) -> list[Edit]:
    node, value = call.node, call.value
    if call.lanes in {0, WARP}:
        name = written.warp(call.operation) if call.lanes else written.block(call.operation)
        return [Edit(node.start_byte, value.start_byte, f"{name}("), Edit(value.end_byte, node.end_byte, ")")]
    statement = next((a for a in ancestors(node) if a.type in {"expression_statement", "declaration"}), None)
    if statement is None or statement.parent is None or statement.parent.type != "compound_statement":
        return []
    chosen = any(a.type in _CHOOSING and _holds(statement, a) for a in ancestors(node))
    logical = any(_holds(statement, a) and _is_logical(a) for a in ancestors(node))
    changes = list(of_kind(statement, "assignment_expression", "update_expression"))
    several = statement.type == "declaration" and sum(c.type == "init_declarator" for c in statement.children) > 1
    if chosen or logical or several or len(changes) > 1 or not is_pure(value, source):
        return []
    name, margin = written.free("reduced"), source.tree.indentation(statement)
    lines = _tile_lines(name, source.text_of(value), call, block_axes)
    place = statement.start_byte
    return [Edit(place, place, f"\n{margin}".join(lines) + f"\n{margin}"), Edit(node.start_byte, node.end_byte, name)]


def _is_logical(node: Node) -> bool:
    return node.type == "binary_expression" and text_of(child(node, "operator")) in {"&&", "||"}


def _tile_lines(name: str, value: str, call: _Call, block_axes: int) -> list[str]:
    half = call.lanes // 2
    other = f"__shfl_xor_sync({mask_of(call.lanes, block_axes)}, {name}, offset, {call.lanes})"
    return [
        f"{call.operation.kind} {name} = {value};",
        f"for (int offset = {half}; offset > 0; offset /= 2) {call.operation.step(name, other)};",
    ]


def _without_storage(source: KernelSource, calls: list[_Call]) -> Iterator[Edit]:
    """Shared memory that only these calls used, and the types that only it was of."""
    gone = [c.node for c in calls]
    for declaration in of_kind(source.body, "declaration"):
        names = [text_of(n) for n in declaration.named_children if n.type in {"identifier", "array_declarator"}]
        if "TempStorage" not in text_of(declaration) or len(names) != 1:
            continue
        name = re.match(r"\w+", names[0])
        uses = [n for n in of_kind(source.body, "identifier") if name is not None and text_of(n) == name[0]]
        if all(_holds(declaration, u) or any(_holds(g, u) and not _within_value(u, calls) for g in gone) for u in uses):
            gone.append(declaration)
            yield _line(source, declaration)
    for made in of_kind(source.body, "alias_declaration", "type_definition"):
        known = re.search(r"\b(?:Block|Warp)Reduce\b", text_of(made))
        named = re.search(r"using\s+(\w+)|(\w+)\s*;$", text_of(made)) if known is not None else None
        word = (named[1] or named[2]) if named is not None else None
        uses = [n for n in of_kind(source.body, "identifier", "type_identifier", "namespace_identifier") if text_of(n) == word]
        if word is not None and all(_holds(made, u) or any(_holds(g, u) for g in gone) for u in uses):
            yield _line(source, made)


def _within_value(use: Node, calls: list[_Call]) -> bool:
    return any(_holds(c.value, use) for c in calls)


def _line(source: KernelSource, node: Node) -> Edit:
    """The node with its line, where it has that for itself."""
    data, start, end = source.tree.data, source.tree.line_start(node), node.end_byte
    alone = not data[start : node.start_byte].strip() and data[end : end + 1] in {b"\n", b""}
    return Edit(start, end + 1, "") if alone else Edit(node.start_byte, end, "")


def _warp_text(name: str, how: Operation) -> str:
    other = "__shfl_xor_sync(0xffffffffu, value, offset)"
    return (
        f"__device__ __forceinline__ {how.kind} {name}({how.kind} value) {{\n"
        "#pragma unroll\n"
        f"  for (int offset = 16; offset > 0; offset /= 2) {how.step('value', other)};\n"
        "  return value;\n"
        "}\n"
    )


def _alone_text(name: str, how: Operation) -> str:
    return (
        f"__device__ inline {how.kind} {name}({how.kind} value) {{\n"
        f"  __shared__ {how.kind} each[1024];\n"
        "  __syncthreads();\n"
        "  each[threadIdx.x] = value;\n"
        "  __syncthreads();\n"
        f"  {how.kind} all = each[0];\n"
        f"  for (int thread = 1; thread < static_cast<int>(blockDim.x); ++thread) {how.step('all', 'each[thread]')};\n"
        "  return all;\n"
        "}\n"
    )


def _block_text(name: str, how: Operation, warp: str, alone: str) -> str:
    return (
        f"__device__ __forceinline__ {how.kind} {name}({how.kind} value) {{\n"
        f"  __shared__ {how.kind} partial[32];\n"
        f"  if (blockDim.x % 32 != 0) return {alone}(value);\n"
        "  const int warp = threadIdx.x / 32;\n"
        "  const int lane = threadIdx.x % 32;\n"
        f"  value = {warp}(value);\n"
        "  __syncthreads();\n"
        "  if (lane == 0) partial[warp] = value;\n"
        "  __syncthreads();\n"
        f"  value = {warp}(lane < blockDim.x / 32 ? partial[lane] : {how.neutral});\n"
        "  return value;\n"
        "}\n"
    )
