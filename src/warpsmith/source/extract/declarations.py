"""What a piece of the unit declares: its kind, its names, the namespace it stands in, and whether it is for the device.

Told by tokens alone. A declaration that is misread is at worst taken along needlessly or missed by name, never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from warpsmith.devices._clang.tokens import Kind as TokenKind
from warpsmith.devices._clang.tokens import Token
from warpsmith.devices.cpu.items import Item, split, text_at
from warpsmith.source.extract.syntax import past_angles, past_brackets, past_template, split_commas

Scope = tuple[str, ...]  # the namespaces around it; "" is one without a name

_CLASS_KEYS = frozenset({"class", "struct", "union", "enum"})
_NOT_A_NAME = frozenset(
    "__launch_bounds__ __attribute__ __declspec __align__ alignas decltype noexcept explicit requires __cluster_dims__ asm "
    "__block_size__ __maxnreg__ sizeof static_assert return typeof".split()
)
_AFTER_PARAMETERS = frozenset("{ ; : -> = const noexcept override final requires volatile & && try".split())
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


def declarations(tokens: Sequence[Token]) -> list[Declaration]:
    """Of the whole unit, in order, each in its namespace."""
    items = list(_whole(split(tokens)))
    return [declaration_of(item, scope) for item, scope in zip(items, _scopes(tokens, items), strict=True)]


def _whole(items: Iterable[Item]) -> Iterator[Item]:
    """Items with what follows their braces: `typedef enum { A } Name;` is one."""
    open_item: Item | None = None
    for item in items:
        if open_item is not None:
            item = Item((*open_item.tokens, *item.tokens), (), is_class=False)  # noqa: PLW2901
        is_open = item.tokens[0].text in {"typedef", "enum"} and item.tokens[-1].text == "}"
        open_item = item if is_open else None
        if not is_open:
            yield item
    if open_item is not None:
        yield open_item


def declaration_of(item: Item, scope: Scope = ()) -> Declaration:
    tokens = item.tokens
    begin = past_template(tokens)
    first = text_at(tokens, begin)
    if first == "extern" and begin + 1 < len(tokens) and tokens[begin + 1].kind is TokenKind.STRING:
        begin += 2
        first = text_at(tokens, begin)
    if first in {"static_assert", "template", ""} or (first == "extern" and text_at(tokens, begin + 1) == "template"):
        return Declaration(item, Kind.NOTHING, frozenset(), scope)
    if first in {"using", "namespace", "typedef"}:
        kind, names = _alias(tokens[begin:])
        return Declaration(item, kind, names, scope)
    if first == "concept":
        return Declaration(item, Kind.VARIABLE, frozenset({text_at(tokens, begin + 1)}), scope)
    if (named := _type_name(tokens, begin)) is not None:
        return Declaration(item, Kind.TYPE, frozenset(_type_names(tokens, named)), scope, _is_specialised(tokens, named, begin))
    if (called := _function_name(tokens, begin)) is not None:
        names, specialised = called
        if begin == 0 and item.tokens[-1].text == ")" and text_at(tokens, 1) == "(":
            return Declaration(item, Kind.MACRO_CALL, names, scope)
        return Declaration(item, Kind.FUNCTION, names, scope, specialised)
    return Declaration(item, Kind.VARIABLE, frozenset(_variable_names(tokens[begin:])), scope)


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
    names = [name for name in names if not name.startswith("__attribute__")]
    yield from (f"{prefix}{name}" for name in names) if names else [""]


def _alias(tokens: Sequence[Token]) -> tuple[Kind, frozenset[str]]:
    if text_at(tokens, 0) == "typedef":
        return Kind.ALIAS, frozenset(_typedef_names(tokens))
    if text_at(tokens, 1) == "namespace":
        return Kind.USING_NAMESPACE, frozenset()
    if text_at(tokens, 0) == "namespace" or "=" in {token.text for token in tokens}:
        return Kind.ALIAS, frozenset({text_at(tokens, 1)})
    parts = split_commas(tokens[1:])
    return Kind.ALIAS, frozenset(words[-1] for part in parts if (words := [t.text for t in part if t.kind is TokenKind.WORD]))


def _typedef_names(tokens: Sequence[Token]) -> Iterator[str]:
    for index, token in enumerate(tokens):  # typedef void (*name)(int);
        if token.text == "(" and text_at(tokens, index + 1) in {"*", "&"}:
            yield text_at(tokens, index + 2)
            return
    body = next((index for index, token in enumerate(tokens) if token.text == "{"), None)
    if body is None:
        yield from _variable_names(tokens[1:])
        return
    yield from _variable_names(tokens[past_brackets(tokens, body) :])
    yield from _enumerators(tokens, body)
    if tokens[body - 1].kind is TokenKind.WORD:
        yield tokens[body - 1].text


def _type_name(tokens: Sequence[Token], begin: int) -> int | None:
    """The index of the name (or of the body, where there is none) if a class, a union or an enumeration is declared here."""
    position = begin
    while position < len(tokens) and tokens[position].text not in _CLASS_KEYS:
        # Only qualifiers and attributes may stand before the key.
        if tokens[position].kind is not TokenKind.WORD or text_at(tokens, position + 1) in {"(", "<", "::"}:
            return None
        position += 1
    if position >= len(tokens):
        return None
    position += 1
    name: int | None = None
    while position < len(tokens):
        text = tokens[position].text
        if text in {"{", ";", ":"} or text == "final":
            return name if name is not None else position
        if text == "(":
            position = past_brackets(tokens, position)
            if name is not None and text_at(tokens, position) in _AFTER_PARAMETERS - {":"} and text_at(tokens, position) != "{":
                return None  # a function that returns `struct X`
            continue
        if text == "[":
            position = past_brackets(tokens, position)
            continue
        if text == "<":
            return name
        if text in {"*", "&", "="}:
            return None  # a variable or function with an elaborated type
        if tokens[position].kind is TokenKind.WORD and text not in _CLASS_KEYS | _NOT_A_NAME:
            name = position
        position += 1
    return None


def _type_names(tokens: Sequence[Token], named: int) -> Iterator[str]:
    """The type's own name, an unscoped enumeration's values, and variables declared behind the body."""
    if tokens[named].kind is TokenKind.WORD:
        yield tokens[named].text
    body = next((index for index in range(named, len(tokens)) if tokens[index].text == "{"), None)
    if body is None:
        return
    yield from _variable_names(tokens[past_brackets(tokens, body) :])
    yield from _enumerators(tokens, body)


def _enumerators(tokens: Sequence[Token], body: int) -> Iterator[str]:
    """The values of an enumeration that are known outside of it."""
    if [token.text for token in tokens[:body] if token.text in _CLASS_KEYS] == ["enum"]:
        for part in split_commas(tokens[body + 1 : past_brackets(tokens, body) - 1]):
            yield from (token.text for token in part[:1])


def _is_specialised(tokens: Sequence[Token], named: int, begin: int) -> bool:
    return begin > 0 and text_at(tokens, named + 1) == "<"


def _function_name(tokens: Sequence[Token], begin: int) -> tuple[frozenset[str], bool] | None:
    """(names, whether specialised). A member defined outside of its class goes by the class, too."""
    position = begin
    while position < len(tokens):
        text = tokens[position].text
        if text == "operator":
            return frozenset({_owner(tokens, position) or "operator"}), False
        if text == "(":
            after = past_brackets(tokens, position)
            name = _name_before(tokens, position)
            if name is not None and (after >= len(tokens) or text_at(tokens, after) in _AFTER_PARAMETERS):
                owner = _owner(tokens, name)
                return frozenset({tokens[name].text, *([owner] if owner else [])}), name + 1 < position
            position = after
        elif text == "<" and tokens[position - 1].kind is TokenKind.WORD:
            position = past_angles(tokens, position)
        elif text == "[":
            position = past_brackets(tokens, position)
        elif text in {"=", "{", ";"}:
            return None
        else:
            position += 1
    return None


def _name_before(tokens: Sequence[Token], parenthesis: int) -> int | None:
    position = parenthesis - 1
    if text_at(tokens, position) in {">", ">>"}:
        position = _opening_angle(tokens, position) - 1
    if position < 0 or tokens[position].kind is not TokenKind.WORD or tokens[position].text in _NOT_A_NAME:
        return None
    return position


def _opening_angle(tokens: Sequence[Token], position: int) -> int:
    depth = 0
    while position > 0:
        text = tokens[position].text
        depth += (len(text) if text in {">", ">>", ">>>"} else 0) - (text == "<")
        if depth <= 0:
            break
        position -= 1
    return position


def _owner(tokens: Sequence[Token], name: int) -> str | None:
    """`Owner` in `Owner::name` and in `Owner<T>::name`."""
    if text_at(tokens, name - 1) != "::":
        return None
    before = name - 2
    if text_at(tokens, before) in {">", ">>"}:
        before = _opening_angle(tokens, before) - 1
    return tokens[before].text if before >= 0 and tokens[before].kind is TokenKind.WORD else None


def _variable_names(tokens: Sequence[Token]) -> Iterator[str]:
    """`int a = 1, *b, c[4];`, `bool is_x<float> = true;`: the last word of each part, before its value, size and arguments."""
    for part in split_commas(tokens):
        name: str | None = None
        position = 0
        while position < len(part):
            text = part[position].text
            if text in {"=", "{", "[", ";", ":"}:
                break
            if text == "<":
                position = past_angles(part, position)
                continue
            if text == "(":
                position = past_brackets(part, position)
                continue
            if part[position].kind is TokenKind.WORD:
                name = text
            position += 1
        if name is not None:
            yield name


def plain(scope: Iterable[str]) -> Scope:
    """The scope as names are written: without nameless namespaces and linkage, `inline` or not."""
    return tuple(name.removeprefix("inline ") for name in scope if name and not name.startswith("extern"))
