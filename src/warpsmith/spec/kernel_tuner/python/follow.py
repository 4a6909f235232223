"""Follows a script from its first line to its calls of `tune_kernel`: assignments, functions, branches; nothing is run.

Loops are followed once, with their first item. Of a branch whose condition only a run knows, both sides are.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from warpsmith.spec.kernel_tuner.python.arrays import GivenArguments, constant_fill
from warpsmith.spec.kernel_tuner.python.assignments import Assignments
from warpsmith.spec.kernel_tuner.python.expressions import bind
from warpsmith.spec.kernel_tuner.python.functions import items_of
from warpsmith.spec.kernel_tuner.python.values import (
    NONE,
    Dotted,
    Listed,
    ScriptArray,
    ScriptFunction,
    ScriptMethod,
    ScriptScope,
    ScriptTable,
    ScriptValue,
    Unknown,
)

_TUNE = "tune_kernel"
_MAX_CALLS = 20  # of the script's functions inside each other
_PARAMETERS = (  # noqa: SIM905 - as words they can be read
    "kernel_name kernel_source problem_size arguments tune_params grid_div_x grid_div_y grid_div_z restrictions answer atol "
    "verify verbose lang device platform smem_args cmem_args texmem_args compiler compiler_options defines log iterations "
    "block_size_names quiet strategy strategy_options cache metrics simulation_mode parallel observers objective "
    "objective_higher_is_better objectives seed"
).split()


@dataclass(frozen=True, slots=True)
class TuneCall:
    """`values` by the names of Kernel Tuner's parameters; `nodes` are the same as they are written."""

    line: int
    values: Mapping[str, ScriptValue]
    nodes: Mapping[str, ast.expr]
    scope: ScriptScope
    is_unpacked: bool  # a `**` that could not be followed


class ScriptFollower(Assignments):
    def __init__(self, tree: ast.Module, file: str) -> None:
        super().__init__()
        self.calls: list[TuneCall] = []
        self._entered: set[ast.AST] = set()
        self._inside = 0
        self._seen: set[ast.Call] = set()
        self.globals = ScriptScope({"__name__": "__main__", "__file__": file})
        self._run(tree.body, self.globals)
        self._run_what_nobody_called(tree)

    def applied(self, function: ScriptFunction, given: GivenArguments) -> ScriptValue:
        scope = ScriptScope({}, function.scope)
        arguments = function.node.args
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        scope.names |= {name: Unknown(function.node.lineno) for name in (*names, *(a.arg for a in arguments.kwonlyargs))}
        scope.names |= function.defaults
        scope.names |= dict(zip(names, given.positional, strict=False))
        scope.names |= {name: value for name, value in given.named.items() if name in scope.names}
        scope.names |= {name: self.rooted(name, value, given.line) for name, value in scope.names.items()}
        if arguments.vararg is not None:
            scope.names[arguments.vararg.arg] = Listed(list(given.positional[len(names) :]))
        if arguments.kwarg is not None:
            scope.names[arguments.kwarg.arg] = ScriptTable({n: v for n, v in given.named.items() if n not in scope.names})
        if self._inside >= _MAX_CALLS:
            return Unknown(given.line)
        self._inside += 1
        self._entered.add(function.node)
        try:
            if isinstance(function.node, ast.Lambda):
                return self.of(function.node.body, scope)
            result = self._run(function.node.body, scope)
            return NONE if result is None else result
        finally:
            self._inside -= 1

    def _call(self, node: ast.Call, scope: ScriptScope) -> ScriptValue:
        if not self._is_tuning(node.func, scope):
            return super()._call(node, scope)
        if node not in self._seen:
            self._seen.add(node)
            self._note(node, scope)
        return Listed([Unknown(node.lineno), Unknown(node.lineno)])

    def _is_tuning(self, function: ast.expr, scope: ScriptScope) -> bool:
        value = self.of(function, scope)
        if isinstance(value, Dotted):
            return value.path.rpartition(".")[2] == _TUNE
        name = function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
        return name == _TUNE and isinstance(value, Unknown | ScriptMethod)

    def _note(self, node: ast.Call, scope: ScriptScope) -> None:
        given = self.given(node, scope)
        values = dict(zip(_PARAMETERS, given.positional, strict=False)) | dict(given.named)
        nodes = dict(zip(_PARAMETERS, node.args, strict=False)) if not any(isinstance(a, ast.Starred) for a in node.args) else {}
        nodes |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        unpacked = [self.of(k.value, scope) for k in node.keywords if k.arg is None]
        is_unpacked = any(not isinstance(value, ScriptTable) or value.missing for value in unpacked)
        # Lists and dictionaries may change after the call.
        values = {name: value.copied() if isinstance(value, Listed | ScriptTable) else value for name, value in values.items()}
        self.calls.append(TuneCall(node.lineno, values, nodes, scope, is_unpacked))

    def _run_what_nobody_called(self, tree: ast.Module) -> None:
        """Functions that call `tune_kernel` and are only called from elsewhere: tests, a command line."""
        known = self.globals.names.items()
        aliases = {name for name, value in known if isinstance(value, Dotted) and value.path.endswith(f".{_TUNE}")}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node not in self._entered and _mentions(node, aliases | {_TUNE}):
                self.applied(
                    ScriptFunction(node, self.globals, self.defaults(node.args, self.globals)),
                    GivenArguments([], {}, node.lineno),
                )

    # ── statements ──

    def _run(self, body: list[ast.stmt], scope: ScriptScope) -> ScriptValue | None:
        """What is returned, if anything is."""
        for statement in body:
            self._steps += 1
            if self.is_spent:
                return Unknown(statement.lineno)
            result = self._statement(statement, scope)
            if result is not None:
                return result
        return None

    def _statement(self, node: ast.stmt, scope: ScriptScope) -> ScriptValue | None:  # noqa: C901, PLR0911, PLR0912 - one case for each kind
        match node:
            case ast.Assign(targets=targets, value=value):
                found = self.of(value, scope)
                for target in targets:
                    self.assign(target, found, scope, is_own=self.is_own(value, scope))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.of(value, scope), scope, is_own=self.is_own(value, scope))
            case ast.AugAssign(target=target, op=sign, value=value):
                self.augment(target, sign, self.of(value, scope), scope)
            case ast.Expr(value=value):
                self._expression(value, scope)
            case ast.Return(value=value):
                return NONE if value is None else self.of(value, scope)
            case ast.FunctionDef(name=name):
                scope.names[name] = ScriptFunction(node, scope, self.defaults(node.args, scope))
            case ast.Import(names=aliases):
                for alias in aliases:
                    first = alias.name.partition(".")[0]
                    scope.names[alias.asname or first] = Dotted(alias.name if alias.asname else first)
            case ast.ImportFrom(module=module, names=aliases):
                for alias in aliases:
                    scope.names[alias.asname or alias.name] = Dotted(f"{module or ''}.{alias.name}")
            case ast.If():
                return self._branch(node, scope)
            case ast.For(target=target, iter=iterated, body=body):
                items = items_of(self.of(iterated, scope))
                if items != []:
                    self.assign(target, items[0] if items else Unknown(node.lineno), scope)
                    return self._run(body, scope)
            case ast.While(body=body):
                return self._run(body, scope)
            case ast.With(items=items_, body=body):
                for item in items_:
                    if item.optional_vars is not None:
                        bind(item.optional_vars, self.of(item.context_expr, scope), scope)
                return self._run(body, scope)
            case ast.Try(body=body, orelse=orelse, finalbody=finalbody):
                return self._run(list(chain(body, orelse, finalbody)), scope)
            case ast.Delete(targets=targets):
                for target in targets:
                    self.delete(target, scope)
            case _:
                pass
        return None

    def _branch(self, node: ast.If, scope: ScriptScope) -> ScriptValue | None:
        holds = self.truth(node.test, scope)
        if holds is not None:
            return self._run(node.body if holds else node.orelse, scope)
        before = dict(scope.names)
        self.conditions.append(node.lineno)
        first = self._run(node.body, scope)
        taken = dict(scope.names)
        scope.names.clear()
        scope.names.update(before)
        second = self._run(node.orelse, scope)
        self.conditions.pop()
        # Of two values the one that can be followed is as good a guess as any; most such branches read a command line.
        for name, value in taken.items():
            if name not in scope.names or isinstance(scope.names[name], Unknown):
                scope.names[name] = value
        results = [r for r in (first, second) if r is not None]
        return Unknown(node.lineno) if len(results) == 2 else None

    def _expression(self, node: ast.expr, scope: ScriptScope) -> None:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="fill"), args=[argument]):
                value, array = self.of(argument, scope), scope.find(name)
                if isinstance(array, ScriptArray):
                    self.changed_array(name, array, replace(array, fill=constant_fill(value), line=node.lineno), scope)
            case _:
                self.of(node, scope)


def _mentions(node: ast.FunctionDef, words: Collection[str]) -> bool:
    names = (n.id if isinstance(n, ast.Name) else n.attr for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute))
    return any(name in words for name in names)
