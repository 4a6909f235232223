"""Which variables of a function differ between the lanes of a warp, and which expressions.

A thread's place within its warp differs, and what is computed from it, chosen by it or read at places that it decides. A sum over
the warp does not, nor a vote; `threadIdx.x / 32` does not either, since blocks are made of whole warps. Results of functions that
exchange values are taken to be the same in all lanes: an assumption, which is tested.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from warpsmith.refactor.lanes.common import LANES
from warpsmith.refactor.lanes.exchanges import called, reduction_loop, reduction_run, shuffle_of, vote_of
from warpsmith.source import Names
from warpsmith.source.dataflow import is_pure_call
from warpsmith.source.scopes import Declared, Origin
from warpsmith.source.threads import is_shared
from warpsmith.source.tree import ancestors, condition_of, field, is_within, of_kind, text_of, unwrapped, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_CAST = re.compile(r"(?:static_cast\s*<.*>|int|unsigned|size_t|u?int\d+_t|(?:std::|::)?(?:min|max))", re.DOTALL)
_ATOMIC = re.compile(r"(?:__nv_)?atom(?:ic)?\w*")


@dataclass(frozen=True, slots=True)
class Variable:
    """A local variable, by where it is declared. `version` counts the reductions that gave it a value for all lanes."""

    name: str
    start: int
    version: int = 0

    @property
    def spelled(self) -> str:
        return f"{self.name}_of_all{self.version if self.version > 1 else ''}" if self.version else self.name


class Block(Enum):
    """What is known of a block: warps as many as the launch has, one in each row, or one in all."""

    WARPS = 1
    ROWS = 2
    ONE = 3


class Lanes:
    """One function. `differing` are parameters of it with a value for each lane; `cooperative` functions that exchange values."""

    def __init__(
        self, names: Names, body: Node, *, cooperative: Collection[str], differing: Collection[str], block: Block
    ) -> None:
        self.names, self.body, self.block = names, body, block
        self._cooperative = frozenset(cooperative)
        self._splits: dict[tuple[str, int], list[tuple[int, int]]] = {}
        self.uses: dict[Variable, list[Node]] = {}
        for node in of_kind(body, "compound_statement"):
            self._find_splits(node)
        for use in of_kind(body, "identifier"):
            variable = self.variable(use)
            if variable is not None:
                self.uses.setdefault(variable, []).append(use)
        self.given = frozenset(v for v in self.uses if v.version == 0 and v.name in differing and self._is_parameter(v))
        self._varying = set(self.given)
        self._spread()

    def variable(self, use: Node) -> Variable | None:
        """Of a local variable or a parameter; None for what all threads share."""
        declared = self.declared(use)
        if declared is None:
            return None
        key = declared.name, declared.start
        version = sum(end <= use.start_byte or use.start_byte == target for end, target in self._splits.get(key, ()))
        return Variable(*key, version)

    def declared(self, use: Node) -> Declared | None:
        found = self.names.source.scopes.declaration(text_of(use), use)
        if found is None or found.origin not in {Origin.LOCAL, Origin.LOOP, Origin.PARAMETER}:
            return None
        declaration = found.node if found.node.type == "declaration" else found.node.parent
        if found.origin is Origin.LOCAL and declaration is not None and is_shared(declaration, self.names.source):
            return None
        return found

    def varies(self, variable: Variable) -> bool:
        return variable in self._varying

    def differs(self, node: Node) -> bool:  # noqa: PLR0911 - one return for each kind of expression
        """Whether lanes of a warp may see different things: in an expression, or anywhere in a statement."""
        match node.type:
            case "identifier":
                variable = self.variable(node)
                return variable in self._varying if variable is not None else text_of(node) == "threadIdx"
            case "field_expression" if (builtin := self.names.builtin(node)) is not None:
                return builtin == "threadIdx.x"
            case "binary_expression" if self.is_of_warp(node):
                return False
            case "call_expression":
                if (shuffle := shuffle_of(node)) is not None:
                    return self.differs(shuffle.value) and (shuffle.way != "" or self.differs(shuffle.by))
                if vote_of(node) is not None or self.is_cooperative_call(node):
                    return False
                return _ATOMIC.fullmatch(text_of(field(node, "function"))) is not None or any(map(self.differs, node.children))
            case _:
                return any(map(self.differs, node.children))

    def is_cooperative_call(self, call: Node) -> bool:
        scope = text_of(field(call, "function")).partition("<")[0].rpartition("::")[0].rpartition("::")[2]
        of_type = scope and re.search(rf"\b(?:using|struct|class|typename)\s+{re.escape(scope)}\b", self.names.source.text)
        return called(call) in self._cooperative and not of_type  # a type's own function only shares the name

    def is_of_warp(self, node: Node) -> bool:
        """`threadIdx.x / 32` and its like, and comparisons with whole warps: the same in all lanes, as in the first."""
        sign, left, right = text_of(field(node, "operator")), field(node, "left"), field(node, "right")
        if sign not in {"/", ">>", "<", ">="} or self.step(left) != 1:
            return False
        if sign in {"<", ">="} and self.names.builtin(right) == "blockDim.x":
            return True
        by = self.names.value(right)
        return by is not None and (by >= LANES.bit_length() - 1 if sign == ">>" else by > 0 and by % LANES == 0)

    def step(self, node: Node) -> int | None:  # noqa: PLR0911 - one return for each kind of expression
        """By how much the value grows from lane to lane; None where that is no number."""
        node = unwrapped(node)
        if self.names.builtin(node) == "threadIdx.x":
            return 1
        if not self.differs(node):
            return 0
        match node.type:
            case "identifier":
                variable = self.variable(node)
                found = self.declared(node)
                known = variable is not None and found is not None and found.value is not None and self.is_recomputed(variable)
                return self.step(found.value) if known and found is not None and found.value is not None else None
            case "binary_expression":
                return self._step_of(node)
            case "cast_expression":
                return self.step(field(node, "value"))
            case "call_expression" if text_of(field(node, "function")).startswith("static_cast"):
                return self.step(field(node, "arguments").named_children[0])
            case _:
                return None

    def is_row(self, node: Node) -> bool:
        """Whether the number is that of the threads in a row of the block."""
        node = unwrapped(node)
        found = self.declared(node) if node.type == "identifier" else None
        if found is not None and found.value is not None and self._never_changes(found):
            return self.is_row(found.value)
        return self.names.builtin(node) == "blockDim.x" or self.names.value(node) == LANES

    def _step_of(self, node: Node) -> int | None:  # noqa: PLR0911 - one return for each operator
        sign, left, right = text_of(field(node, "operator")), self.step(field(node, "left")), self.step(field(node, "right"))
        known = self.names.value(field(node, "right"))
        if left is None or right is None:
            return None
        match sign:
            case "+" | "-":
                return left + right if sign == "+" else left - right
            case "*" if right == 0 and known is not None:
                return left * known
            case "*" if left == 0 and (factor := self.names.value(field(node, "left"))) is not None:
                return right * factor
            case "%" if left == 1 and known is not None and known > 0 and known % LANES == 0:
                return 1
            case "&" if left == 1 and known is not None and known > 0 and (known + 1) % LANES == 0:
                return 1
            case _:
                return None

    def is_recomputed(self, variable: Variable) -> bool:  # noqa: PLR0911 - one return for each thing in the way
        """Whether its value can be written again wherever it is used: index arithmetic on what never changes."""
        use = self.uses[variable][0]
        found = self.declared(use)
        if variable.version or found is None or found.value is None or found.origin is not Origin.LOCAL:
            return False
        if found.node.type != "init_declarator" or field(found.node, "declarator").type not in {
            "identifier",
            "pointer_declarator",
        }:
            return False
        if not self._never_changes(found):
            return False
        for node in walk(found.value):
            if node.type in {
                "subscript_expression",
                "pointer_expression",
                "assignment_expression",
                "update_expression",
                "lambda_expression",
            }:
                return False
            if node.type == "field_expression" and self.names.builtin(node) is None:
                return False
            called = text_of(field(node, "function")) if node.type == "call_expression" else ""
            if called and not _CAST.fullmatch(called) and not called.startswith("reinterpret_cast"):
                return False
            inner = self.declared(node) if node.type == "identifier" else None
            if inner is not None and inner.origin is not Origin.LOOP and not self._never_changes(inner):
                return False
        return True

    def _never_changes(self, found: Declared) -> bool:
        return found.is_constant or not self.names.is_assigned(found.name, found.scope)

    def _is_parameter(self, variable: Variable) -> bool:
        found = self.declared(self.uses[variable][0])
        return found is not None and found.origin is Origin.PARAMETER

    def _find_splits(self, block: Node) -> None:
        """Reductions of variables that this very block declares."""
        statements = [c for c in block.named_children if c.type not in {"comment", "preproc_call"}]
        place = 0
        while place < len(statements):
            statement = statements[place]
            if (steps := reduction_loop(statement, self.names)) is not None:
                self._split([step.target for step in steps], block, statement.end_byte)
            elif (steps := reduction_run(statements[place:], self.names)) is not None:
                place += 4
                self._split([steps[0].target], block, statements[place].end_byte)
            elif (target := self._reassigned(statement)) is not None:
                self._split([target], block, statement.end_byte, target.start_byte)
            place += 1

    def _split(self, targets: Collection[Node], block: Node, end: int, at: int = -1) -> None:
        for target in targets:
            found = self.declared(target)
            if found is not None and (found.scope == block or (found.origin is Origin.PARAMETER and block == self.body)):
                self._splits.setdefault((found.name, found.start), []).append((end, at))

    def _reassigned(self, statement: Node) -> Node | None:
        """The variable in `s = warp_sum(s) * scale;`, and in whatever gives it another value after a reduction."""
        node = statement.named_children[0] if statement.type == "expression_statement" and statement.named_children else statement
        if node.type != "assignment_expression" or text_of(field(node, "operator")) != "=":
            return None
        target = field(node, "left")
        given = of_kind(field(node, "right"), "call_expression")
        if target.type != "identifier":
            return None
        found = self.declared(target)
        again = found is not None and (found.name, found.start) in self._splits
        return target if again or any(map(self.is_cooperative_call, given)) else None

    def _spread(self) -> None:
        """What differs makes others differ, until nothing is added."""
        changes = list(self._changes())
        growing = True
        while growing:
            growing = False
            for variable, sources, place in changes:
                if variable not in self._varying and (any(map(self.differs, sources)) or self._is_chosen(place, variable)):
                    self._varying.add(variable)
                    growing = True

    def _changes(self) -> list[tuple[Variable, list[Node], Node]]:
        """(variable, what its value is made of, where)."""
        found: list[tuple[Variable, list[Node], Node]] = []
        for node in walk(self.body):
            targets, sources = list["Node"](), list["Node"]()
            if node.type == "init_declarator":
                targets, sources = list(of_kind(field(node, "declarator"), "identifier"))[:1], [field(node, "value")]
            elif node.type == "assignment_expression":
                targets, sources = [field(node, "left")], [field(node, "right"), *_indices(field(node, "left"))]
            elif node.type == "update_expression":
                targets, sources = [field(node, "argument")], _indices(field(node, "argument"))
            elif node.type == "call_expression" and not shuffle_of(node) and not self.is_cooperative_call(node):
                targets, sources = self._handed_over(node), [field(node, "arguments")]
            for target in targets:
                base = self._own_memory(target)
                variable = self.variable(base) if base is not None else None
                if variable is not None:
                    found.append((variable, sources, node))
        return found

    def _handed_over(self, call: Node) -> list[Node]:
        """Arguments that a function may change, and the object whose method it is."""
        function, given = field(call, "function"), field(call, "arguments").named_children
        receiver = [field(function, "argument")] if function.type == "field_expression" else []
        if is_pure_call(call, self.names.source):
            return []
        taken = [False] * len(given)
        for meant in self.names.source.functions(called(call)):
            listed = field(next(of_kind(meant, "function_declarator")), "parameters").named_children
            taken = [t or (n < len(listed) and re.search(r"[&*\[]", text_of(listed[n])) is not None) for n, t in enumerate(taken)]
        handed = [a for a, t in zip(given, taken, strict=True) if t and a.type != "pointer_expression"]
        return [*receiver, *handed, *(field(a, "argument") for a in given if a.type == "pointer_expression")]

    def _own_memory(self, node: Node) -> Node | None:
        """The identifier at the bottom of `a.b[i].c`, where that is in the variable itself and not where it points to."""
        node = unwrapped(node)
        while node.type in {"field_expression", "subscript_expression"}:
            inner = unwrapped(field(node, "argument"))
            if node.type == "field_expression" and "->" in text_of(node)[len(text_of(field(node, "argument"))) :]:
                return None
            if node.type == "subscript_expression" and inner.type == "identifier" and not self.is_array(inner):
                return None
            node = inner
        return node if node.type == "identifier" else None

    def is_array(self, use: Node) -> bool:
        found = self.declared(use)
        return found is not None and any(True for _ in of_kind(found.node, "array_declarator"))

    def _is_chosen(self, place: Node, variable: Variable) -> bool:
        """Whether of the lanes that have the variable some may do it and others not."""
        before, found = place, self.declared(self.uses[variable][0])
        for outer in ancestors(place):
            if outer == self.body or (found is not None and outer == found.scope):
                return False
            condition = outer.child_by_field_name("condition") if outer.type == "conditional_expression" else condition_of(outer)
            if condition is not None and not is_within(before, condition) and self.differs(condition):
                return True
            before = outer
        return False


def _indices(node: Node) -> list[Node]:
    return [i for n in of_kind(node, "subscript_expression") for i in field(n, "indices").named_children]
