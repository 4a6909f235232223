"""Tokens → syntax tree.

Python's `ast` decides the structure (parsed only, never compiled or run); a whitelist copies it into our own nodes.
"""

from __future__ import annotations

import ast
import difflib

from warpsmith.core.expression.lexer import Lexeme, LexemeKind, ParseError, python_text, tokenize
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
    Span,
    Unary,
)
from warpsmith.core.expression.operations import FUNCTIONS, MAX_EXPONENT, MAX_SHIFT

MAX_DEPTH = 100

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_LITERAL_LIMITS = {"**": ("exponent", MAX_EXPONENT), "<<": ("shift", MAX_SHIFT), ">>": ("shift", MAX_SHIFT)}


def parse(text: str) -> Node:
    """Raises ParseError, and nothing else, for text that is not an expression."""
    tokens = tokenize(text)
    python, starts, ends = python_text(tokens)
    try:
        tree = ast.parse(python, mode="eval")
    except SyntaxError as error:
        # Python counts columns from 1 and may point between two tokens: take the token that begins at or before it.
        column = max((error.offset or 1) - 1, 0)
        token = tokens[max((index for start, index in starts.items() if start <= column), default=0)]
        raise ParseError(f"unexpected {token.text!r}", token.start, "this is not an expression") from None
    except (ValueError, RecursionError, MemoryError):
        raise ParseError("the expression is nested too deeply", 0) from None
    return _Builder(tokens, starts, ends).build(tree.body, 0)


class _Builder:
    def __init__(self, tokens: list[Lexeme], starts: dict[int, int], ends: dict[int, int]) -> None:
        self._tokens = tokens
        self._starts = starts
        self._ends = ends

    def build(self, node: ast.expr, depth: int) -> Node:  # noqa: PLR0911, C901 - one return for each kind of node
        span = self._span(node)
        if depth > MAX_DEPTH:
            raise ParseError(f"the expression is nested more than {MAX_DEPTH} deep", span[0])
        depth += 1
        match node:
            case ast.Name():
                token = self._first_token(node)
                return Name(token.text, span) if token.kind is LexemeKind.NAME else Literal(token.value, span)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                if self._first_token(node).text == "!":
                    return Unary("not", self.build(operand, depth), span)
                return self.build(operand, depth)
            case ast.UnaryOp(op=op, operand=operand):
                sign = "-" if isinstance(op, ast.USub) else "~" if isinstance(op, ast.Invert) else "not"
                return Unary(sign, self.build(operand, depth), span)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self._binary(_BINARY[type(op)], self.build(left, depth), self.build(right, depth), span)
            case ast.BoolOp(op=op, values=values):
                word = "and" if isinstance(op, ast.And) else "or"
                return Logic(word, tuple(self.build(value, depth) for value in values), span)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return Conditional(self.build(test, depth), self.build(body, depth), self.build(orelse, depth), span)
            case ast.Compare():
                return self._compare(node, span, depth)
            case ast.Call():
                return self._call(node, span, depth)
            case ast.Tuple() | ast.List():
                raise ParseError("a list of values", span[0], "a list can only stand to the right of `in`: VEC in (1, 2, 4)")
            case _:
                raise ParseError(f"{type(node).__name__.lower()} is not part of an expression", span[0])

    def _compare(self, node: ast.Compare, span: Span, depth: int) -> Compare | Membership:
        signs = [_COMPARE[type(op)] for op in node.ops]
        first = self.build(node.left, depth)
        if signs in (["in"], ["not in"]):
            (right,) = node.comparators
            if not isinstance(right, ast.Tuple | ast.List):
                raise ParseError(f"{signs[0]!r} needs a list of values", self._span(right)[0], "write VEC in (1, 2, 4)")
            return Membership(first, tuple(self.build(item, depth) for item in right.elts), signs[0] == "not in", span)
        for sign in signs:
            if sign in {"in", "not in"}:
                raise ParseError(f"{sign!r} in a chain of comparisons", span[0], "join the two with `and`")
        return Compare(
            first, tuple((sign, self.build(right, depth)) for sign, right in zip(signs, node.comparators, strict=True)), span
        )

    def _call(self, node: ast.Call, span: Span, depth: int) -> Call:
        known = ", ".join(FUNCTIONS)
        if not isinstance(node.func, ast.Name) or self._first_token(node.func).kind is not LexemeKind.NAME:
            raise ParseError("only functions can be called", span[0], f"known functions: {known}")
        name = self._first_token(node.func).text
        if name not in FUNCTIONS:
            near = difflib.get_close_matches(name, FUNCTIONS, n=1)
            hint = f"did you mean {near[0]}(…)?" if near else f"known functions: {known}"
            raise ParseError(f"unknown function {name!r}", span[0], hint)
        fewest, most, _ = FUNCTIONS[name]
        count = len(node.args)
        if count < fewest or (most is not None and count > most):
            wanted = f"{fewest}" if most == fewest else f"at least {fewest}"
            raise ParseError(f"{name} takes {wanted} argument{'s' if wanted != '1' else ''}, found {count}", span[0])
        return Call(name, tuple(self.build(argument, depth) for argument in node.args), span)

    @staticmethod
    def _binary(sign: str, left: Node, right: Node, span: Span) -> Binary:
        limit = _LITERAL_LIMITS.get(sign)
        if limit and isinstance(right, Literal) and not isinstance(right.value, str) and right.value > limit[1]:
            raise ParseError(f"{limit[0]} {right.value} is too large", right.span[0], f"at most {limit[1]}")
        return Binary(sign, left, right, span)

    def _first_token(self, node: ast.expr) -> Lexeme:
        return self._tokens[self._starts[node.col_offset]]

    def _span(self, node: ast.expr) -> Span:
        assert node.end_col_offset is not None
        return self._first_token(node).start, self._tokens[self._ends[node.end_col_offset]].end
