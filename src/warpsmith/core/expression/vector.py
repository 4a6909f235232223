"""Evaluates an expression for many assignments at once, with exactly the results of the scalar evaluator.

A value is either a plain value (the same in every row) or a one-dimensional array. Operations on 64-bit integers that provably
do not overflow run in NumPy (`integers`); everything else (floats, text, huge integers) runs row by row through the scalar
definitions. `and`, `or`, `if` and chained comparisons evaluate their later operands only for the rows that need them, as the
scalar evaluator does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Value
from warpsmith.core.expression import integers
from warpsmith.core.expression.integers import INT64, Shortcut
from warpsmith.core.expression.nodes import (
    Binary,
    Call,
    Compare,
    Conditional,
    Literal,
    Logic,
    Membership,
    Name,
    Node,
    Unary,
    names_in,
)
from warpsmith.core.expression.operations import BINARY, COMPARE, FUNCTIONS, UNARY, OperationError, truth
from warpsmith.core.expression.scalar import Reporter, compile_scalar

Operand: TypeAlias = Value | Array
Columns: TypeAlias = Mapping[str, Operand]
Meaning: TypeAlias = tuple[Callable[..., Value], Shortcut | None]


class VectorEvaluator:
    def __init__(self, report: Reporter) -> None:
        self._report = report

    def evaluate(self, node: Node, columns: Columns) -> Operand:  # noqa: PLR0911, C901 - one case for each kind of node
        match node:
            case Literal(value=value):
                return value
            case Name(name=name):
                if name not in columns:
                    self._report.unknown_name(node, columns)
                return columns[name]
            case Unary() | Binary() | Call():
                return self._operation(node, columns)
            case Logic(operator=word, operands=operands):
                result: bool | Array = word == "and"
                for operand in operands:
                    result = _refine(result, word == "and", operand, columns, self._truth)
                return result
            case Conditional():
                return self._conditional(node, columns)
            case Compare(first=left, links=links):
                result = True
                for sign, right in links:
                    result = _refine(result, True, Compare(left, ((sign, right),), node.span), columns, self._link)
                    left = right
                return result
            case Membership(item=item, choices=choices, negated=negated):
                values = [self.evaluate(operand, columns) for operand in (item, *choices)]
                return self._apply(
                    node, ((lambda a, *b: any(a == c for c in b) != negated), _member_shortcut(negated)), values, columns
                )

    def _operation(self, node: Unary | Binary | Call, columns: Columns) -> Operand:
        operands: tuple[Node, ...]
        meaning: Meaning
        match node:
            case Unary(operator="not", operand=operand):
                holds = self._truth(operand, columns)
                return ~holds if isinstance(holds, np.ndarray) else not holds
            case Unary(operator=sign):
                operands, meaning = (node.operand,), (UNARY[sign], integers.UNARY.get(sign))
            case Binary(operator=sign):
                operands, meaning = (node.left, node.right), (BINARY[sign], integers.BINARY.get(sign))
            case Call(function=name):
                operands, meaning = node.arguments, (FUNCTIONS[name][2], integers.FUNCTIONS.get(name))
        return self._apply(node, meaning, [self.evaluate(operand, columns) for operand in operands], columns)

    def _link(self, node: Node, columns: Columns) -> bool | Array:
        assert isinstance(node, Compare)
        ((sign, right),) = node.links
        values = [self.evaluate(node.first, columns), self.evaluate(right, columns)]
        return _as_truth(self._apply(node, (COMPARE[sign], integers.COMPARE[sign]), values, columns))

    def _truth(self, node: Node, columns: Columns) -> bool | Array:
        value = self.evaluate(node, columns)
        if isinstance(value, np.ndarray) and value.dtype.kind in "bi":
            return value.astype(bool, copy=False)
        return _as_truth(self._apply(Unary("not", node, node.span), (truth, None), [value], columns))

    def _conditional(self, node: Conditional, columns: Columns) -> Operand:
        test = self._truth(node.condition, columns)
        if not isinstance(test, np.ndarray):
            return self.evaluate(node.if_true if test else node.if_false, columns)
        pieces = []
        for branch, rows in ((node.if_true, np.flatnonzero(test)), (node.if_false, np.flatnonzero(~test))):
            if len(rows):
                value = self.evaluate(branch, _subset(columns, rows, names_in(branch)))
                pieces.append((rows, value if isinstance(value, np.ndarray) else packed([value] * len(rows))))
        kinds = {piece.dtype for _, piece in pieces}
        merged: Array = np.empty(len(test), dtype=kinds.pop() if len(kinds) == 1 else object)
        for rows, piece in pieces:
            merged[rows] = piece if merged.dtype == piece.dtype else piece.tolist()
        return merged

    def _apply(self, node: Node, meaning: Meaning, values: list[Operand], columns: Columns) -> Operand:
        scalar, shortcut = meaning
        length = next((len(value) for value in values if isinstance(value, np.ndarray)), None)
        if length and shortcut is not None and all(_is_int64(value) for value in values):
            result = shortcut(*(v.astype(np.int64, copy=False) if isinstance(v, np.ndarray) else int(v) for v in values))
            if result is not None:
                return result
        if length is None:
            return self._one_row(node, scalar, values, columns, 0)
        lists = [value.tolist() if isinstance(value, np.ndarray) else [value] * length for value in values]
        return packed([self._one_row(node, scalar, row, columns, i) for i, row in enumerate(zip(*lists, strict=True))])

    def _one_row(
        self, node: Node, scalar: Callable[..., Value], values: Sequence[Operand], columns: Columns, index: int
    ) -> Value:
        try:
            return scalar(*values)
        except (OperationError, OverflowError) as fault:
            # The scalar evaluator meets the same fault in this row, and words the error.
            row = {name: _at(columns[name], index) for name in names_in(node)}
            compile_scalar(node, self._report)(row)
            raise AssertionError(f"{row} fails in a column but not alone") from fault


def normalised(values: Array) -> Array:
    """A column in one of the four forms used here: bool, int64, float64 or object."""
    if values.dtype.kind in "bO":
        return values
    if values.dtype.kind in "iu" and (values.dtype != np.uint64 or not len(values) or int(values.max()) <= INT64.max):
        return values.astype(np.int64, copy=False)
    return values.astype(np.float64, copy=False) if values.dtype.kind == "f" else values.astype(object)


def packed(values: list[Value]) -> Array:
    """Plain values as a column: an exact dtype if they are of one kind and fit, object otherwise."""
    kinds = {type(value) for value in values}
    if kinds <= {bool}:
        return np.array(values, dtype=bool)
    if kinds == {int} and all(INT64.min <= value <= INT64.max for value in values):  # type: ignore[operator]
        return np.array(values, dtype=np.int64)
    if kinds == {float}:
        return np.array(values, dtype=np.float64)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _member_shortcut(negated: bool) -> Shortcut:
    # Membership in a handful of constants: one comparison each is faster than sorting, and as exact.
    def shortcut(item: Operand, *choices: Operand) -> Array | None:
        found = np.zeros(np.broadcast(item, *choices).shape, dtype=bool)
        for choice in choices:
            found |= np.equal(item, choice)
        return ~found if negated else found

    return shortcut


def _is_int64(value: Operand) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "bi"
    return isinstance(value, int) and INT64.min < value <= INT64.max


def _as_truth(value: Operand) -> bool | Array:
    return value.astype(bool, copy=False) if isinstance(value, np.ndarray) else bool(value)


def _at(value: Operand, row: int) -> Value:
    if not isinstance(value, np.ndarray):
        return value
    found: Value = value[row : row + 1].tolist()[0]
    return found


def _subset(columns: Columns, rows: Array, names: frozenset[str]) -> dict[str, Operand]:
    return {n: v[rows] if n in names and isinstance(v, np.ndarray) else v for n, v in columns.items()}


def _refine(
    result: bool | Array, undecided: bool, node: Node, columns: Columns, evaluate: Callable[[Node, Columns], bool | Array]
) -> bool | Array:
    """The node's truth where `result` is still undecided (true so far for `and`, false so far for `or`), `result` elsewhere."""
    if not isinstance(result, np.ndarray):
        return evaluate(node, columns) if result == undecided else result
    rows = np.flatnonzero(result == undecided)
    if not len(rows):
        return result
    refined = result.copy()
    refined[rows] = evaluate(node, _subset(columns, rows, names_in(node)))
    return refined
