"""Syntax tree → closure: one call evaluates an expression for one assignment of its names.

`and`, `or`, `if` and chained comparisons evaluate only what they need.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NoReturn, Protocol, TypeAlias

from warpsmith.core.configuration import Value
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

Names: TypeAlias = Mapping[str, Value]
Closure: TypeAlias = Callable[[Names], Value]


class Reporter(Protocol):
    """Turns a fault into the error the user sees: the expression knows its file, line and text."""

    def unknown_name(self, node: Name, known: Collection[str]) -> NoReturn: ...

    def fault(self, node: Node, message: str, hint: str | None, values: Names) -> NoReturn: ...


def compile_scalar(node: Node, report: Reporter) -> Closure:  # noqa: PLR0911, C901 - one case for each kind of node
    match node:
        case Literal(value=value):
            return lambda _: value
        case Name(name=name):
            return _lookup(node, name, report)
        case Unary(operator="not", operand=operand):
            holds = _truth(operand, report)
            return lambda names: not holds(names)
        case Unary(operator=sign, operand=operand):
            return _apply(node, UNARY[sign], (compile_scalar(operand, report),), report)
        case Binary(operator=sign, left=left, right=right):
            return _apply(node, BINARY[sign], (compile_scalar(left, report), compile_scalar(right, report)), report)
        case Compare():
            return _compare(node, report)
        case Membership(item=item, choices=choices, negated=negated):
            return _membership(compile_scalar(item, report), [compile_scalar(c, report) for c in choices], negated=negated)
        case Logic(operator=word, operands=operands):
            return _logic(word, tuple(_truth(operand, report) for operand in operands))
        case Conditional(condition=condition, if_true=if_true, if_false=if_false):
            test, yes, no = _truth(condition, report), compile_scalar(if_true, report), compile_scalar(if_false, report)
            return lambda names: yes(names) if test(names) else no(names)
        case Call(function=function, arguments=arguments):
            return _apply(node, FUNCTIONS[function][2], tuple(compile_scalar(a, report) for a in arguments), report)


def _lookup(node: Name, name: str, report: Reporter) -> Closure:
    def run(names: Names) -> Value:
        try:
            return names[name]
        except KeyError:
            report.unknown_name(node, names)

    return run


def _apply(node: Node, operation: Callable[..., Value], operands: tuple[Closure, ...], report: Reporter) -> Closure:
    fail = _failure(node, report)
    if len(operands) == 2:
        left, right = operands

        def run_two(names: Names) -> Value:
            a, b = left(names), right(names)
            try:
                return operation(a, b)
            except (OperationError, OverflowError) as error:
                fail(error, names)

        return run_two

    def run(names: Names) -> Value:
        values = [operand(names) for operand in operands]
        try:
            return operation(*values)
        except (OperationError, OverflowError) as error:
            fail(error, names)

    return run


def _failure(node: Node, report: Reporter) -> Callable[[Exception, Names], NoReturn]:
    used = sorted(names_in(node))

    def fail(error: Exception, names: Names) -> NoReturn:
        message, hint = (error.message, error.hint) if isinstance(error, OperationError) else ("the result is too large", None)
        report.fault(node, message, hint, {name: names[name] for name in used if name in names})

    return fail


def _truth(node: Node, report: Reporter) -> Closure:
    return _apply(node, truth, (compile_scalar(node, report),), report)


def _logic(word: str, operands: tuple[Closure, ...]) -> Closure:
    if word == "and":
        return lambda names: all(operand(names) for operand in operands)
    return lambda names: any(operand(names) for operand in operands)


def _compare(node: Compare, report: Reporter) -> Closure:
    first = compile_scalar(node.first, report)
    links = [(COMPARE[sign], compile_scalar(right, report)) for sign, right in node.links]
    fail = _failure(node, report)

    def run(names: Names) -> Value:
        left = first(names)
        for holds, operand in links:
            right = operand(names)
            try:
                if not holds(left, right):
                    return False
            except OperationError as error:
                fail(error, names)
            left = right
        return True

    return run


def _membership(item: Closure, choices: list[Closure], *, negated: bool) -> Closure:
    def run(names: Names) -> Value:
        value = item(names)
        return any(value == choice for choice in [choice(names) for choice in choices]) != negated

    return run
