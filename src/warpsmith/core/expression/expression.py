"""`Expression`: the public face of the expression language. Owns the wording and the place of its errors."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from warpsmith.core.errors import InputError, Location
from warpsmith.core.expression.lexer import ParseError
from warpsmith.core.expression.nodes import Literal, Name, Node, names_in
from warpsmith.core.expression.parser import parse
from warpsmith.core.expression.scalar import Closure, Names, compile_scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import numpy as np

    from warpsmith.core.configuration import Value


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression. Equal when the text is equal; picklable; `str()` gives the text back."""

    text: str
    location: Location | None = field(compare=False)
    tree: Node = field(compare=False, repr=False)
    names: frozenset[str] = field(compare=False, repr=False)
    _run: Closure = field(compare=False, repr=False)

    @classmethod
    def parse(cls, source: Value, *, location: Location | None = None, offset: int = 0) -> Expression:
        """Parse text, or take a number as it is. `location` is where the text begins in its file, `offset` columns further on.

        Raises InputError, pointing at the character, for anything that is not an expression.
        """
        if location is not None and location.column is not None and offset:
            location = Location(location.file, location.line, location.column + offset)
        if not isinstance(source, str):
            text = str(source)
            tree: Node = Literal(source, (0, len(text)))
        else:
            text = source
            try:
                tree = parse(source)
            except ParseError as fault:
                raise InputError(
                    _in(text, fault.message), location=_place(text, location, fault.offset), hint=fault.hint
                ) from None
        reporter = _Reporter(text, location)
        return cls(text, location, tree, names_in(tree), _when_used(tree, reporter))

    def part(self, tree: Node) -> Expression:
        """An expression for a part of this one's tree, or for nodes made from such parts: errors point into this one's text."""
        text = self.text[tree.span[0] : tree.span[1]]
        return Expression(text, self.location, tree, names_in(tree), _when_used(tree, _Reporter(self.text, self.location)))

    def evaluate(self, names: Names) -> Value:
        """The value for one assignment. Raises InputError for unknown names and for operations without a result."""
        return self._run(names)

    def evaluate_many(self, columns: Mapping[str, np.ndarray[Any, Any] | Value]) -> np.ndarray[Any, Any]:
        """The values for many assignments: each column is a one-dimensional array or one value for all rows.

        Gives what `evaluate` gives in each row. If no column is an array, the result has one row.
        """
        import numpy as np  # noqa: PLC0415 - loaded when used, so that `--help` stays fast

        from warpsmith.core.expression.vector import VectorEvaluator, normalised, packed  # noqa: PLC0415

        arrays = [value for value in columns.values() if isinstance(value, np.ndarray)]
        lengths = {len(array) for array in arrays}
        if len(lengths) > 1 or any(array.ndim != 1 for array in arrays):
            raise ValueError(f"columns must be one-dimensional and equally long; got lengths {sorted(lengths)}")
        length = lengths.pop() if lengths else 1
        used = {k: normalised(v) if isinstance(v, np.ndarray) and k in self.names else v for k, v in columns.items()}
        if length == 0:
            return packed([])
        value = VectorEvaluator(_Reporter(self.text, self.location)).evaluate(self.tree, used)
        return value if isinstance(value, np.ndarray) else packed([value] * length)

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Callable[[Value], Expression], tuple[Value]]:
        # Closures cannot be pickled; the source can.
        source = self.tree.value if isinstance(self.tree, Literal) and not isinstance(self.tree.value, str) else self.text
        return partial(Expression.parse, location=self.location), (source,)


@dataclass(frozen=True, slots=True)
class _Reporter:
    text: str
    location: Location | None

    def unknown_name(self, node: Name, known: Collection[str]) -> NoReturn:
        near = difflib.get_close_matches(node.name, known, n=1)
        listed = ", ".join(sorted(known)) or "none"
        raise InputError(
            _in(self.text, f"unknown name {node.name!r}"),
            location=_place(self.text, self.location, node.span[0]),
            hint=f"did you mean {near[0]!r}?" if near else f"known names: {listed}",
        )

    def fault(self, node: Node, message: str, hint: str | None, values: Names) -> NoReturn:
        part = self.text[node.span[0] : node.span[1]]
        given = ", ".join(f"{name}={value!r}" for name, value in values.items())
        where = f"{message} in {part!r}" + (f" with {given}" if given else "")
        if part != self.text.strip():
            where += f" (expression {self.text!r})"
        raise InputError(where, location=_place(self.text, self.location, node.span[0]), hint=hint)


def _when_used(tree: Node, reporter: _Reporter) -> Closure:
    """Compiled at the first call: many an expression is only ever evaluated for columns."""
    run: Closure | None = None

    def first_compile(names: Names) -> Value:
        nonlocal run
        if run is None:
            run = compile_scalar(tree, reporter)
        return run(names)

    return first_compile


def _in(text: str, message: str) -> str:
    shown = text if len(text) <= 120 else f"{text[:120]}…"
    return f"{message} in expression {shown!r}"


def _place(text: str, location: Location | None, offset: int) -> Location | None:
    """The place in the file of a character of the text; text of several lines continues at the lines' beginnings."""
    if location is None or location.line is None or location.column is None:
        return location
    before = text[:offset]
    lines = before.count("\n")
    column = location.column + offset if not lines else offset - before.rfind("\n")
    return Location(location.file, location.line + lines, column)
