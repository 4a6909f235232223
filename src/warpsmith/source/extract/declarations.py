"""What a piece of the unit declares: its kind, its names, the namespace it stands in, and whether it is for the device.

Told by tokens alone. A declaration that is misread is at worst taken along needlessly or missed by name, never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from warpsmith.devices._clang.items import Item, split, text_at
from warpsmith.devices._clang.tokens import Kind as TokenKind
from warpsmith.devices._clang.tokens import Token
from warpsmith.source.extract.naming import alias_names, function_names, type_names, variable_names
from warpsmith.source.tokens.syntax import past_template

Scope = tuple[str, ...]  # the namespaces around it; "" is one without a name

_CONSTANT = frozenset({"const", "constexpr", "constinit"})


class Kind(Enum):
    FUNCTION = "function"
    TYPE = "type"
    VARIABLE = "variable"
    ALIAS = "alias"  # of a type, a name or a namespace
    USING_NAMESPACE = "using namespace"
    MACRO_CALL = "macro call"
    NOTHING = "nothing"  # assertions, explicit instantiations: the result is the same without


@dataclass(frozen=True, slots=True, eq=False)
class Declaration:
    """`names` are all it declares; an out-of-class definition or a specialisation goes by the name of its class."""

    item: Item
    kind: Kind
    names: frozenset[str]
    scope: Scope
    is_specialisation: bool = False

    @property
    def start(self) -> int:
        return self.item.tokens[0].start

    @property
    def end(self) -> int:
        return self.item.tokens[-1].end

    @property
    def is_operator(self) -> bool:
        return "operator" in self.names

    @property
    def is_kernel(self) -> bool:
        return self.kind is Kind.FUNCTION and any(token.text == "__global__" for token in self.item.head)

    def is_for_device(self, marks: frozenset[str]) -> bool:
        """Whether device code can use it: a function must say so; a variable must say so or be constant."""
        if self.kind is Kind.FUNCTION:
            return self.item.is_marked(marks)
        if self.kind is Kind.VARIABLE:
            return any(token.text in marks or token.text in _CONSTANT for token in self.item.tokens)
        return self.kind is not Kind.NOTHING


def declarations(tokens: Sequence[Token], macro_braces: Mapping[str, int] | None = None) -> list[Declaration]:
    """Of the whole unit, in order, each in its namespace. `macro_braces`: of macros, how many more they open than close."""
    braces = macro_braces or {}
    items = list(_whole(split(tokens, braces)))
    found = []
    for item, scope in zip(items, _scopes(tokens, items), strict=True):
        opener = item.tokens[0].text
        is_call = braces.get(opener, 0) > 0
        found.append(Declaration(item, Kind.MACRO_CALL, frozenset({opener}), scope) if is_call else declaration_of(item, scope))
    return found


def declaration_of(item: Item, scope: Scope = ()) -> Declaration:
    tokens = item.tokens
    begin = past_template(tokens)
    if text_at(tokens, begin) == "extern" and begin + 1 < len(tokens) and tokens[begin + 1].kind is TokenKind.STRING:
        begin += 2
    if (kind := _kind_by_first_words(tokens, begin)) is not None:
        names = {Kind.ALIAS: alias_names, Kind.VARIABLE: _concept_name}.get(kind, lambda _: frozenset())(tokens[begin:])
        return Declaration(item, kind, names, scope)
    if (declared := type_names(tokens, begin)) is not None:
        return Declaration(item, Kind.TYPE, declared[0], scope, declared[1])
    if (declared := function_names(tokens, begin)) is not None:
        is_call = begin == 0 and item.tokens[-1].text == ")" and text_at(tokens, 1) == "("
        return Declaration(item, Kind.MACRO_CALL if is_call else Kind.FUNCTION, declared[0], scope, declared[1])
    return Declaration(item, Kind.VARIABLE, frozenset(variable_names(tokens[begin:])), scope)


def plain(scope: Iterable[str]) -> Scope:
    """The scope as names are written: without nameless namespaces and linkage, `inline` or not."""
    return tuple(name.removeprefix("inline ") for name in scope if name and not name.startswith("extern"))


def visible_from(scope: Iterable[str]) -> Scope:
    """The namespace whose names these are to a reader: an inline one's count as those of the one around it."""
    return plain(name for name in scope if not name.startswith("inline "))


def _kind_by_first_words(tokens: Sequence[Token], begin: int) -> Kind | None:
    """Of what its first words tell without doubt; a concept is a constant like others."""
    first, second = text_at(tokens, begin), text_at(tokens, begin + 1)
    if first in {"static_assert", "template", ""} or (first, second) == ("extern", "template"):
        return Kind.NOTHING
    if (first, second) == ("using", "namespace"):
        return Kind.USING_NAMESPACE
    return {"using": Kind.ALIAS, "namespace": Kind.ALIAS, "typedef": Kind.ALIAS, "concept": Kind.VARIABLE}.get(first)


def _concept_name(tokens: Sequence[Token]) -> frozenset[str]:
    return frozenset({text_at(tokens, 1)})


def _whole(items: Iterable[Item]) -> Iterator[Item]:
    """Items with what follows their braces: `typedef enum { A } Name;` is one."""
    begun: tuple[Token, ...] = ()
    for item in items:
        tokens = (*begun, *item.tokens)
        begun = tokens if tokens[0].text in {"typedef", "enum"} and tokens[-1].text == "}" else ()
        if not begun:
            yield item if len(tokens) == len(item.tokens) else Item(tokens, (), is_class=False)
    if begun:
        yield Item(begun, (), is_class=False)


def _scopes(tokens: Sequence[Token], items: Sequence[Item]) -> Iterator[Scope]:
    """The namespaces around each item: what stands between items is only namespaces' braces, directives and stray semicolons."""
    open_scopes: list[tuple[str, ...]] = []
    position = 0
    places = {token.start: index for index, token in enumerate(tokens)}
    for item in items:
        first = places[item.tokens[0].start]
        heading: list[Token] = []
        for token in tokens[position:first]:
            if token.text == "{":
                open_scopes.append(tuple(_scope_names(heading)))
                heading = []
            elif token.text == "}":
                if open_scopes:
                    open_scopes.pop()
                heading = []
            elif token.kind is not TokenKind.DIRECTIVE and token.text != ";":
                heading.append(token)
        position = first + len(item.tokens)
        yield tuple(name for names in open_scopes for name in names)


def _scope_names(heading: Sequence[Token]) -> Iterator[str]:
    words = [token.text for token in heading if token.kind is not TokenKind.PUNCTUATION]
    if words[:1] == ["extern"]:
        yield 'extern "C"'
        return
    prefix = "inline " if words[:1] == ["inline"] else ""
    names = words[words.index("namespace") + 1 :] if "namespace" in words else words
    yield from (f"{prefix}{name}" for name in names) if names else [""]
