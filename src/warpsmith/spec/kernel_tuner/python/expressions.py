"""A script's expressions as values, without running any of it. What cannot be followed is `Unknown`, with its line.

What a call of the script's own functions gives is for `follow` to say.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from warpsmith.spec.kernel_tuner.python import arithmetic
from warpsmith.spec.kernel_tuner.python.arrays import GivenArguments
from warpsmith.spec.kernel_tuner.python.functions import called, items_of
from warpsmith.spec.kernel_tuner.python.members import attribute, method
from warpsmith.spec.kernel_tuner.python.operators import binary, contains
from warpsmith.spec.kernel_tuner.python.values import (
    NONE,
    Dotted,
    FilePath,
    Listed,
    Nothing,
    ScriptFunction,
    ScriptMethod,
    ScriptNumber,
    ScriptScope,
    ScriptTable,
    ScriptValue,
    Unknown,
    whole,
)

_MAX_STEPS = 200_000  # expressions and statements in all: comprehensions of comprehensions could go on for ever
_MAX_DEPTH = 60
_BUILTINS = frozenset(
    "range list tuple set dict sorted len min max sum int float str bool zip enumerate abs pow open print".split()  # noqa: SIM905
)


class ScriptExpressions(ABC):
    def __init__(self) -> None:
        self._steps = 0
        self._depth = 0

    @abstractmethod
    def applied(self, function: ScriptFunction, given: GivenArguments) -> ScriptValue:
        """What a function of the script's own gives."""

    def of(self, node: ast.expr, scope: ScriptScope) -> ScriptValue:
        self._steps += 1
        if self._steps > _MAX_STEPS or self._depth > _MAX_DEPTH:
            return Unknown(node.lineno)
        self._depth += 1
        try:
            return self._of_kind(node, scope)
        finally:
            self._depth -= 1

    @property
    def is_spent(self) -> bool:
        return self._steps > _MAX_STEPS

    def truth(self, node: ast.expr, scope: ScriptScope) -> bool | None:
        """None where it is not known."""
        match self.of(node, scope):
            case ScriptNumber(value=value):
                return bool(value)
            case Nothing():
                return False
            case str() as text:
                return bool(text)
            case Listed(items=items):
                return bool(items)
            case ScriptTable(entries=entries):
                return bool(entries)
            case _:
                return None

    def _of_kind(self, node: ast.expr, scope: ScriptScope) -> ScriptValue:  # noqa: C901, PLR0911, PLR0912 - one return for each kind
        match node:
            case ast.Constant(value=value):
                return _constant(value, node.lineno)
            case ast.Name(id=name):
                named = scope.find(name)
                own = Dotted(f"builtins.{name}") if name in _BUILTINS else Unknown(node.lineno)
                return own if named is None else named  # an empty text is a value too
            case ast.Attribute():
                return attribute(self.of(node.value, scope), node.attr, node.lineno)
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return Listed(list(self._items(parts, scope)))
            case ast.Dict():
                return self._dictionary(node, scope)
            case ast.BinOp(left=left, op=sign, right=right):
                return binary(self.of(left, scope), sign, self.of(right, scope), node.lineno)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                holds = self.truth(operand, scope)
                return ScriptNumber(not holds) if holds is not None else Unknown(node.lineno)
            case ast.UnaryOp(op=sign, operand=operand):
                number = self.of(operand, scope)
                if isinstance(number, ScriptNumber) and isinstance(sign, ast.USub | ast.UAdd):
                    return arithmetic.negated(number) if isinstance(sign, ast.USub) else number
                return Unknown(node.lineno)
            case ast.BoolOp(op=sign, values=operands):
                return self._logic(isinstance(sign, ast.And), operands, scope)
            case ast.Compare():
                return self._comparison(node, scope)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                holds = self.truth(test, scope)
                return Unknown(node.lineno) if holds is None else self.of(body if holds else orelse, scope)
            case ast.Subscript():
                return self._element(node, scope)
            case ast.Call():
                return self._call(node, scope)
            case ast.ListComp(elt=element, generators=generators) | ast.GeneratorExp(elt=element, generators=generators):
                items: list[ScriptValue] = []
                complete = self._loop(generators, scope, lambda inner: items.append(self.of(element, inner)))
                return Listed(items) if complete else Unknown(node.lineno)
            case ast.Lambda():
                return ScriptFunction(node, scope, self.defaults(node.args, scope))
            case ast.JoinedStr(values=parts):
                return self._joined(parts, node.lineno, scope)
            case ast.NamedExpr(target=ast.Name(id=name), value=inner):
                scope.names[name] = self.of(inner, scope)
                return scope.names[name]
            case _:
                return Unknown(node.lineno)

    def given(self, node: ast.Call, scope: ScriptScope) -> GivenArguments:
        """A call's arguments; what stands under names that could not be followed is left out."""
        named: dict[str, ScriptValue] = {}
        for keyword in node.keywords:
            value = self.of(keyword.value, scope)
            if keyword.arg is not None:
                named[keyword.arg] = value
            elif isinstance(value, ScriptTable):
                named |= value.entries
        return GivenArguments(list(self._items(node.args, scope)), named, node.lineno)

    def defaults(self, arguments: ast.arguments, scope: ScriptScope) -> dict[str, ScriptValue]:
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        found = {
            name: self.of(node, scope)
            for name, node in zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True)
        }
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if default is not None:
                found[argument.arg] = self.of(default, scope)
        return found

    def _items(self, nodes: list[ast.expr], scope: ScriptScope) -> Iterator[ScriptValue]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                items = items_of(self.of(node.value, scope))
                yield from [Unknown(node.lineno)] if items is None else items
            else:
                yield self.of(node, scope)

    def _dictionary(self, node: ast.Dict, scope: ScriptScope) -> ScriptValue:
        table = ScriptTable({})
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            value = self.of(value_node, scope)
            key = self.of(key_node, scope) if key_node is not None else None
            if key is None and isinstance(value, ScriptTable):
                table.take(value)
            elif isinstance(key, str):
                table.entries[key] = value
                table.lines[key] = value_node.lineno
            else:
                table.missing.append(value_node.lineno)
        return table

    def _logic(self, is_and: bool, operands: list[ast.expr], scope: ScriptScope) -> ScriptValue:
        for operand in operands[:-1]:
            holds = self.truth(operand, scope)
            if holds is None:
                return Unknown(operand.lineno)
            if holds != is_and:
                return self.of(operand, scope)
        return self.of(operands[-1], scope)

    def _comparison(self, node: ast.Compare, scope: ScriptScope) -> ScriptValue:
        values = [self.of(operand, scope) for operand in (node.left, *node.comparators)]
        for sign, left, right in zip(node.ops, values, values[1:], strict=False):
            if isinstance(sign, ast.Is | ast.IsNot) and isinstance(right, Nothing) and not isinstance(left, Unknown):
                holds: bool | None = isinstance(left, Nothing) == isinstance(sign, ast.Is)
            elif isinstance(sign, ast.In | ast.NotIn):
                holds = contains(right, left)
                holds = holds if holds is None else holds == isinstance(sign, ast.In)
            else:
                both = isinstance(left, ScriptNumber | str) and isinstance(right, ScriptNumber | str)
                holds = arithmetic.compared(sign, left, right) if both else None  # type: ignore[arg-type]
            if holds is None:
                return Unknown(node.lineno)
            if not holds:
                return ScriptNumber(False)
        return ScriptNumber(True)

    def _element(self, node: ast.Subscript, scope: ScriptScope) -> ScriptValue:
        owner = self.of(node.value, scope)
        if isinstance(node.slice, ast.Slice):
            ends = [
                self.of(end, scope) if end is not None else NONE for end in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            cuts = [int(end.value) if isinstance(end, ScriptNumber) and end.is_whole else None for end in ends]
            is_known = all(isinstance(end, ScriptNumber | Nothing) for end in ends) and cuts[2] != 0
            return Listed(owner.items[slice(*cuts)]) if isinstance(owner, Listed) and is_known else Unknown(node.lineno)
        key = self.of(node.slice, scope)
        match owner, key:
            case Listed(items=items), ScriptNumber(value=int(place)) if -len(items) <= place < len(items):
                return items[place]
            case ScriptTable(entries=entries), str() if key in entries:
                return entries[key]
            case _:
                return Unknown(node.lineno)

    def _call(self, node: ast.Call, scope: ScriptScope) -> ScriptValue:
        function, given = self.of(node.func, scope), self.given(node, scope)
        try:
            match function:
                case Dotted(path=path):
                    return called(path, given)
                case ScriptMethod():
                    return method(function, given)
                case ScriptFunction():
                    return self.applied(function, given)
                case _:
                    return Unknown(node.lineno)
        except (ArithmeticError, ValueError):  # numbers that Python itself would refuse: nan as a bound, 10**400 as a float
            return Unknown(node.lineno)

    def _loop(self, generators: list[ast.comprehension], scope: ScriptScope, visit: Callable[[ScriptScope], None]) -> bool:
        """Whether every turn could be followed."""
        if not generators:
            visit(scope)
            return not self.is_spent
        generator, *rest = generators
        items = items_of(self.of(generator.iter, scope))
        if items is None:
            return False
        for item in list(items):
            inner = ScriptScope({}, scope)
            bind(generator.target, item, inner)
            conditions = [self.truth(condition, inner) for condition in generator.ifs]
            if None in conditions or self.is_spent:
                return False
            if all(conditions) and not self._loop(rest, inner, visit):
                return False
        return True

    def _joined(self, parts: list[ast.expr], line: int, scope: ScriptScope) -> ScriptValue:
        texts = []
        for part in parts:
            value = self.of(part.value if isinstance(part, ast.FormattedValue) else part, scope)
            is_plain = not isinstance(part, ast.FormattedValue) or part.format_spec is None
            if isinstance(value, ScriptNumber) and is_plain:
                texts.append(str(value.value))
            elif isinstance(value, str | FilePath) and is_plain:
                texts.append(value if isinstance(value, str) else value.text)
            else:
                return Unknown(line)
        return "".join(texts)


def bind(target: ast.expr, value: ScriptValue, scope: ScriptScope) -> None:
    """Gives names their values, as a loop or an assignment of several does."""
    match target:
        case ast.Name(id=name):
            scope.names[name] = value
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            items = items_of(value)
            for place, part in enumerate(parts):
                is_known = items is not None and len(items) == len(parts)
                bind(part, items[place] if items is not None and is_known else Unknown(target.lineno), scope)
        case _:
            pass


def _constant(value: object, line: int) -> ScriptValue:
    match value:
        case bool() | float():
            return ScriptNumber(value)
        case int() if value.bit_length() <= arithmetic.MAX_BITS:
            return whole(value)
        case str():
            return value
        case None:
            return NONE
        case _:
            return Unknown(line)
