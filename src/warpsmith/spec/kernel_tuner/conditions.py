"""Converts Python expressions over parameters (restrictions, grid divisors, sizes) to kernel.toml expressions.

Python's `/` keeps the fraction and kernel.toml's does not, so it becomes a division of floats. The output is parsed again;
expressions that kernel.toml lacks, or with unknown names, are not converted.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression

Known: TypeAlias = bool | int | float | str | list[bool | int | float | str]
_FUNCTIONS = frozenset({"min", "max", "abs", "ceildiv"})
_MAX_TEXT = 4000


class NotReadError(Exception):
    """An expression that kernel.toml cannot express."""


def nothing_known(_: ast.expr) -> Known | None:
    return None


@dataclass(frozen=True)
class ConditionReader:
    """`resolve` evaluates a subexpression without parameters where it is written."""

    parameters: Collection[str]
    resolve: Callable[[ast.expr], Known | None] = field(default=nothing_known)

    def text(self, written: str) -> str | None:
        """A condition given as text."""
        try:
            return self._spelled(ast.parse(written.strip(), mode="eval").body, None)
        except (SyntaxError, ValueError, RecursionError, MemoryError, NotReadError):
            return None

    def number_text(self, written: str) -> str | None:
        """A number given as text; Kernel Tuner drops its fraction."""
        try:
            node = ast.parse(written.strip(), mode="eval").body
            return self._spelled(ast.Call(ast.Name("int"), [node], []), None)
        except (SyntaxError, ValueError, RecursionError, MemoryError, NotReadError):
            return None

    def function(self, node: ast.FunctionDef | ast.Lambda, *, is_number: bool = False) -> str | None:
        """A function of a dictionary of the parameters, or of the parameters themselves; a number is truncated."""
        arguments = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        table = arguments[0] if len(arguments) == 1 and arguments[0] not in self.parameters else None
        if table is None and not set(arguments) <= set(self.parameters):
            return None
        try:
            body = node.body if isinstance(node, ast.Lambda) else _as_expression(node.body)
            return self._spelled(ast.Call(ast.Name("int"), [body], []) if is_number else body, table)
        except (NotReadError, RecursionError):
            return None

    def _spelled(self, node: ast.expr, table: str | None) -> str:
        rewritten = _Rewriting(self, table).visit(node)
        text = ast.unparse(ast.fix_missing_locations(rewritten))
        if len(text) > _MAX_TEXT:
            raise NotReadError
        try:
            expression = Expression.parse(text)
        except InputError:
            raise NotReadError from None
        if not expression.names <= set(self.parameters):
            raise NotReadError
        return text


class _Rewriting(ast.NodeTransformer):
    def __init__(self, reader: ConditionReader, table: str | None) -> None:
        self._reader = reader
        self._table = table

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and not isinstance(
            node, ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.Constant
        ):
            return self._known(node)
        return super().generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, bool):
            return ast.Constant(int(node.value))
        if not isinstance(node.value, int | float | str):
            raise NotReadError
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._reader.parameters:
            return node
        return self._known(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str(name))) if owner == self._table:
                return self._parameter(name)
            case _:
                return self._known(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:  # noqa: PLR0911 - one return for each function
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="get"), args=[ast.Constant(value=str(name)), *_]) if (
                owner == self._table
            ):
                return self._parameter(name)
            case ast.Call(func=ast.Name(id="int"), args=[ast.BinOp(left=left, op=ast.Div(), right=right)]):
                return ast.BinOp(self.visit(left), ast.FloorDiv(), self.visit(right))
            case ast.Call(func=ast.Name(id="bool"), args=[inner]):
                return self.visit(inner)  # type: ignore[no-any-return]
            case ast.Call(func=ast.Name(id="int"), args=[inner]):
                has_fraction = any(isinstance(n, ast.Div) for n in ast.walk(inner))
                return ast.Call(ast.Name("int"), [self.visit(inner)], []) if has_fraction else self.visit(inner)
            case ast.Call(func=ast.Attribute(attr="ceil"), args=[ast.BinOp(left=left, op=ast.Div(), right=right)]):
                return ast.Call(ast.Name("ceildiv"), [self.visit(left), self.visit(right)], [])
            case ast.Call(func=ast.Name(id=name), args=parts) if name in _FUNCTIONS and not node.keywords:
                return ast.Call(ast.Name(name), [self.visit(part) for part in parts], [])
            case ast.Call(func=ast.Attribute(attr="prod"), args=[ast.List(elts=[first, *rest]) | ast.Tuple(elts=[first, *rest])]):
                found = self.visit(first)
                for part in rest:
                    found = ast.BinOp(found, ast.Mult(), self.visit(part))
                return found  # type: ignore[no-any-return]
            case _:
                return self._known(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """`-(-a

        b)` is Python's idiom for rounding up.
        """
        match node:
            case ast.UnaryOp(
                op=ast.USub(), operand=ast.BinOp(left=ast.UnaryOp(op=ast.USub(), operand=above), op=ast.FloorDiv(), right=below)
            ):
                return ast.Call(ast.Name("ceildiv"), [self.visit(above), self.visit(below)], [])
            case _:
                return ast.UnaryOp(node.op, self.visit(node.operand))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.Div):
            left = ast.BinOp(ast.Constant(1.0), ast.Mult(), left)
        elif isinstance(node.op, ast.MatMult):
            raise NotReadError
        return ast.BinOp(left, node.op, right)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Drops operands that are always true: exporters add them so that other tools keep a condition in one piece."""
        kept = [value for value in node.values if not (isinstance(node.op, ast.And) and _is_true(value))]
        if len(kept) < 2:
            return self.visit(kept[0] if kept else node.values[0])  # type: ignore[no-any-return]
        return ast.BoolOp(node.op, [self.visit(value) for value in kept])

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        operands = [
            self._choices(operand) if isinstance(sign, ast.In | ast.NotIn) else self.visit(operand)
            for sign, operand in zip(node.ops, node.comparators, strict=True)
        ]
        if any(isinstance(sign, ast.Is | ast.IsNot) for sign in node.ops):
            raise NotReadError
        return ast.Compare(self.visit(node.left), node.ops, operands)

    def _choices(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return ast.Tuple([self.visit(part) for part in node.elts], ast.Load())
        found = self._reader.resolve(node)
        if not isinstance(found, list) or not found:
            raise NotReadError
        return ast.Tuple([_literal(value) for value in found], ast.Load())

    def _parameter(self, name: str) -> ast.expr:
        if name not in self._reader.parameters:
            raise NotReadError
        return ast.Name(name)

    def _known(self, node: ast.expr) -> ast.expr:
        mentioned = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        found = None if mentioned & {*self._reader.parameters, self._table} else self._reader.resolve(node)
        if found is None or isinstance(found, list):
            raise NotReadError
        return _literal(found)


def _literal(value: bool | int | float | str) -> ast.expr:  # noqa: PYI041 - an int is no float to a reader
    return ast.Constant(int(value) if isinstance(value, bool) else value)


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _as_expression(body: list[ast.stmt]) -> ast.expr:
    """A function's body as one expression: assignments are substituted, `if` becomes a conditional."""
    bindings: dict[str, ast.expr] = {}
    for place, statement in enumerate(body):
        match statement:
            case ast.Expr(value=ast.Constant()):
                continue  # a docstring
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                bindings[name] = _bound(value, bindings)
            case ast.Return(value=ast.expr() as value):
                return _bound(value, bindings)
            case ast.If(test=test, body=then, orelse=otherwise):
                rest = [*otherwise, *body[place + 1 :]]
                return _bound(_decided(test, _as_expression(then), _as_expression(rest)), bindings)
            case _:
                raise NotReadError
    raise NotReadError


def _decided(test: ast.expr, then: ast.expr, otherwise: ast.expr) -> ast.expr:
    match then, otherwise:
        case ast.Constant(value=False), ast.Constant(value=True):
            return ast.UnaryOp(ast.Not(), test)
        case ast.Constant(value=False), _:
            return ast.BoolOp(ast.And(), [ast.UnaryOp(ast.Not(), test), otherwise])
        case ast.Constant(value=True), ast.Constant(value=False):
            return test
        case ast.Constant(value=True), _:
            return ast.BoolOp(ast.Or(), [test, otherwise])
        case _:
            return ast.IfExp(test, then, otherwise)


def _bound(node: ast.expr, bindings: Mapping[str, ast.expr]) -> ast.expr:
    class Binding(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.expr:
            return bindings.get(name.id, name)

    found: ast.expr = Binding().visit(ast.parse(ast.unparse(node), mode="eval").body)
    if len(list(islice(ast.walk(found), _MAX_TEXT))) == _MAX_TEXT:  # names by names could double it at every step
        raise NotReadError
    return found
