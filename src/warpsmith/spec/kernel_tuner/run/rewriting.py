"""Instruments a script: its calls, operators and assignments go through `Runtime`.

A failing statement before `tune_kernel` does not end the script: the names it would have assigned become unknown, and the next
statement runs. Inside a script's own `try`, and in functions unrelated to tuning, errors propagate as usual.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator, Sequence

HELPER = "_warpsmith"
TUNE = "tune_kernel"
TRACED_ATTRIBUTES = frozenset({"shape", "size", "T", "nbytes", "get", "cpu", "cuda", "numpy"})
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.LShift: "<<",
    ast.RShift: ">>", ast.BitAnd: "&",
}  # fmt: skip
_OF_THE_FRAME = frozenset({"super", "locals", "globals", "vars", "dir", "exec", "eval", "__import__"})
_LEFT_ALONE = (ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue)


def rewritten(tree: ast.Module, nodes: list[ast.AST]) -> ast.Module:
    """`nodes` collects the calls and functions that the runtime refers to by number."""
    missing = dict(_never_bound(tree))
    Rewriting(nodes, on_the_way(tree)).visit(tree)
    first = next((i for i, s in enumerate(tree.body) if not _comes_first(s)), len(tree.body))
    given = [_assigned(name, _ask("unknown", line), line) for name, line in missing.items()]
    tree.body[first:first] = given
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt) and hasattr(node, "lineno") and node.end_lineno is None:
            node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
    return ast.fix_missing_locations(tree)


class Rewriting(ast.NodeTransformer):
    """`followed` are the names of functions through which `tune_kernel` is called."""

    def __init__(self, nodes: list[ast.AST], followed: frozenset[str]) -> None:
        self._nodes = nodes
        self._followed = followed
        self._is_guarded = True

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        original = copy.copy(node)
        found: ast.AST | list[ast.stmt] = super().visit(node)
        if (
            not isinstance(original, ast.stmt)
            or isinstance(original, _LEFT_ALONE)
            or not self._is_guarded
            or _comes_first(original)
        ):
            return found
        body = [s for s in (found if isinstance(found, list) else [found]) if isinstance(s, ast.stmt)]
        return [ast.Try(body, [ast.ExceptHandler(_helper("caught", original.lineno), None, _failing(original))], [], [])]

    # ── statements ──

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        index = self._noted(node)
        before, self._is_guarded = self._is_guarded, node.name in self._followed
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self.generic_visit(node)
        self._is_guarded = before
        named = [_naming(a.arg, a.lineno, ()) for a in arguments if a.arg not in {"self", "cls"}]
        node.body[:0] = [ast.Expr(_ask("enter", node.lineno, index)), *named]
        node.decorator_list.append(_ask("function", node.lineno, index))
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        before, self._is_guarded = self._is_guarded, False
        body = self._all(node.body)
        self._is_guarded = before
        node.body = []
        self.generic_visit(node)
        node.body = body
        return node

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        names = tuple(sorted({n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}))
        self.generic_visit(node)
        return [node, *(_naming(name, node.lineno, names) for target in node.targets for name in _bound(target))]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        self.generic_visit(node)
        return [node, *(_naming(name, node.lineno, ()) for name in _bound(node.target) if node.value is not None)]

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name) or type(node.op) not in _OPERATORS:
            return node
        sign = f"{_OPERATORS[type(node.op)]}="
        before = ast.Name(node.target.id, ast.Load())
        return _assigned(node.target.id, _ask("operate", node.lineno, sign, before, node.value), node.lineno)

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        if self._is_guarded:
            node.body[:0] = [_naming(name, node.lineno, ()) for name in _bound(node.target)]
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        tunes = any(mentions(s, self._followed) for s in node.body)
        self.generic_visit(node)
        node.test = _ask("truth", node.lineno, node.test, tunes)
        return node

    # ── expressions ──

    def visit_Call(self, node: ast.Call) -> ast.AST:
        index = self._noted(node)
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _OF_THE_FRAME:
            return node
        for keyword in node.keywords:
            if keyword.arg is None:
                keyword.value = _ask("mapping", node.lineno, keyword.value)
        asked = _ask("call", node.lineno, index, node.func)
        asked.args += node.args
        asked.keywords = node.keywords
        return ast.copy_location(asked, node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        sign = _OPERATORS.get(type(node.op))
        return node if sign is None else ast.copy_location(_ask("operate", node.lineno, sign, node.left, node.right), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.USub) or isinstance(node.operand, ast.Constant):
            return node
        return ast.copy_location(_ask("operate", node.lineno, "*", ast.Constant(-1), node.operand), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr not in TRACED_ATTRIBUTES or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(_ask("attribute", node.lineno, node.value, node.attr), node)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node  # a pattern has no calls

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        index = self._noted(node)
        self.generic_visit(node)
        return ast.copy_location(ast.Call(_ask("function", node.lineno, index), [node], []), node)

    def _noted(self, node: ast.AST) -> int:
        self._nodes.append(copy.deepcopy(node))
        return len(self._nodes) - 1

    def _all(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            result = self.visit(statement)
            found += [s for s in (result if isinstance(result, list) else [result]) if isinstance(s, ast.stmt)]
        return found


def _helper(name: str, line: int) -> ast.expr:
    return ast.Attribute(ast.Name(HELPER, ast.Load(), lineno=line, col_offset=0), name, ast.Load(), lineno=line, col_offset=0)


def _ask(name: str, line: int, *values: object) -> ast.Call:
    """A call of the runtime's method, with the line first."""
    given = [value if isinstance(value, ast.expr) else ast.Constant(value) for value in (line, *values)]  # type: ignore[arg-type]
    return ast.Call(_helper(name, line), given, [], lineno=line, col_offset=0)


def _assigned(name: str, value: ast.expr, line: int) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value, lineno=line, col_offset=0)


def _naming(name: str, line: int, others: tuple[str, ...]) -> ast.stmt:
    return _assigned(name, _ask("named", line, name, ast.Name(name, ast.Load()), others), line)


def _failing(node: ast.stmt) -> list[ast.stmt]:
    """The replacement for a statement that failed."""
    # Names of a missing module are unknown where they are used.
    line = 0 if isinstance(node, ast.Import | ast.ImportFrom) else node.lineno
    if isinstance(node, ast.Return):
        return [ast.Return(_ask("failed", line))]
    found: list[ast.stmt] = [ast.Expr(_ask("failed", line))]
    found += [_assigned(name, _ask("failed", line), line) for name in dict.fromkeys(_bound(node))]
    for target in (t for whole in node.targets for t in ast.walk(whole)) if isinstance(node, ast.Assign) else ():
        if isinstance(target, ast.Subscript | ast.Attribute) and isinstance(target.ctx, ast.Store):
            again = ast.Assign([copy.deepcopy(target)], _ask("failed", line), lineno=line, col_offset=0)
            found.append(ast.Try([again], [ast.ExceptHandler(_helper("caught", line), None, [ast.Pass()])], [], []))
    return found


def _bound(node: ast.AST) -> Iterator[str]:
    """Names that a statement assigns in its own scope."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names if alias.name != "*")
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        for inner in ast.iter_child_nodes(node):
            yield from _bound(inner)


def _never_bound(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Names that are used and never assigned: from a star import, or undefined."""
    known = {HELPER, *dir(builtins), "__file__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            known.add(node.id)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            known.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            known.update(_bound(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in known:
            known.add(node.id)
            yield node.id, node.lineno


def on_the_way(tree: ast.Module) -> frozenset[str]:
    """`tune_kernel`, its aliases, and the functions that call any of them."""
    aliases = (a for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for a in node.names if a.name == TUNE)
    found = frozenset({TUNE, *(alias.asname or alias.name for alias in aliases)})
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    while True:
        wider = found | {f.name for f in functions if any(mentions(s, found) for s in f.body)}
        if wider == found:
            return found
        found = wider


def mentions(node: ast.AST, names: frozenset[str]) -> bool:
    words = (n.id if isinstance(n, ast.Name) else n.attr for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute))
    return any(word in names for word in words)


def _comes_first(node: ast.AST) -> bool:
    """A docstring, or an import from `__future__`."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")
