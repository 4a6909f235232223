"""Structures that a kernel takes by value, as plain parameters: kernel.toml passes numbers and buffers, and a pointer inside a
structure is neither. The structure is put together again in the kernel's first line, so its body stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from warpsmith.core.errors import InputError
from warpsmith.devices._clang.items import Item, split, text_at
from warpsmith.devices._clang.tokens import Kind as TokenKind
from warpsmith.devices._clang.tokens import Token
from warpsmith.source.extract.declarations import Declaration, Kind, declaration_of
from warpsmith.source.extract.flatten import Unit
from warpsmith.source.tokens.syntax import (
    parameter_name,
    past_angles,
    past_brackets,
    past_template,
    split_commas,
    template_parameters,
)
from warpsmith.source.tokens.uses import mentions

_LINE = 90
_MOST_ELEMENTS = 8  # of an array: each becomes a parameter
_PASSING = frozenset({"__grid_constant__", "const", "volatile", "struct", "typename"})


@dataclass(frozen=True, slots=True)
class _Member:
    """`declared` is its declaration without the name. `parts` are the elements of an array, the members of a structure in it."""

    declared: str
    name: str
    parts: tuple[_Member, ...] = ()

    def leaves(self) -> Iterator[_Member]:
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()

    def initializer(self, shown: Mapping[_Member, str]) -> str:
        return f"{{{', '.join(part.initializer(shown) for part in self.parts)}}}" if self.parts else shown[self]


def unpacked(unit: Unit, kernel: Declaration, known: Sequence[Declaration]) -> str | None:
    """The kernel's text with its structures' members as parameters; None if it takes no structure of the code base by value."""
    tokens = kernel.item.tokens
    opening = _parameter_list(kernel)
    closing = past_brackets(tokens, opening) - 1
    structures = {name: d for d in known if d.kind is Kind.TYPE and d.item.is_class and d.item.body for name in d.names}
    parameters: list[str] = []
    rebuilt: list[str] = []
    taken = {name for part in split_commas(tokens[opening + 1 : closing]) if (name := _name(part))}
    taken |= mentions(kernel.item.body).words  # a parameter must not get in the way of a name that the body declares or uses
    for part in split_commas(tokens[opening + 1 : closing]):
        structure = _structure(part, structures)
        if structure is None:
            parameters.append(_text(unit, part))
            continue
        name = _name(part) or "value"
        members = list(_Reader(unit, structures).members(structure, _arguments(part, structure)))
        leaves = [leaf for member in members for leaf in member.leaves()]
        shown = {leaf: f"{name}_{leaf.name}" if leaf.name in taken else leaf.name for leaf in leaves}
        taken |= set(shown.values())
        parameters += [f"{leaf.declared} {shown[leaf]}" for leaf in leaves]
        kept = [token.text for token in part[:-1] if token.text != "__grid_constant__"]
        rebuilt.append(f"  {_joined(kept)} {name}{{{_listed([member.initializer(shown) for member in members])}}};")
    if not rebuilt:
        return None
    body = kernel.item.body[0]
    head = unit.text[kernel.start : tokens[opening].end]
    listed = ",".join(f"\n    {parameter}" for parameter in parameters)
    between = unit.text[tokens[closing].start : body.end]
    return f"{head}{listed}{between}\n" + "\n".join(rebuilt) + unit.text[body.end : kernel.end]


def _parameter_list(kernel: Declaration) -> int:
    tokens = kernel.item.tokens
    position = past_template(tokens)
    while position < len(tokens):
        if tokens[position].text == "(":
            if text_at(tokens, position - 1) in kernel.names:
                return position
            position = past_brackets(tokens, position)
        else:
            position += 1
    raise AssertionError("a kernel has a parameter list")


def _structure(part: Sequence[Token], structures: Mapping[str, Declaration]) -> Declaration | None:
    if any(token.text in {"*", "&", "["} for token in part):
        return None
    words = [token.text for token in part[:-1] if token.kind is TokenKind.WORD and token.text not in _PASSING]
    return next((structures[word] for word in words[::-1] if word in structures), None)


def _arguments(part: Sequence[Token], structure: Declaration) -> dict[str, str]:
    """What the structure's own template parameters stand for."""
    opening = next((i for i in range(1, len(part)) if part[i].text == "<" and part[i - 1].text in structure.names), None)
    names = [parameter_name(parameter) for parameter in template_parameters(structure.item.tokens)]
    if opening is None:
        return {}
    values = split_commas(part[opening + 1 : past_angles(part, opening) - 1])
    return {name: _joined([t.text for t in value]) for name, value in zip(names, values, strict=False) if name}


@dataclass(frozen=True, slots=True)
class _Reader:
    """`structures` are those of the code base, by name."""

    unit: Unit
    structures: Mapping[str, Declaration]

    def members(self, structure: Declaration, arguments: Mapping[str, str], prefix: str = "") -> Iterator[_Member]:
        """In the order in which braces initialise them: bases, then its own. Raises InputError for what has no plain value."""
        known = dict(arguments)
        for name, base in self._bases(structure):
            known |= _types_of(base)
            yield _Member(name, name, tuple(self.members(base, {})))
        for member in split(structure.item.body[1:-1]):
            declaration = declaration_of(member)
            texts = [token.text for token in member.tokens]
            if declaration.kind is Kind.ALIAS:
                known |= _own_type(texts, known)
            if declaration.kind is not Kind.VARIABLE or "static" in texts:
                continue
            if len(declaration.names) == 1 and (array := self._array(member, next(iter(declaration.names)), known, prefix)):
                yield array
            elif {"[", ":"} & set(texts) or (len(declaration.names) > 1 and {"<", "(", "{", "="} & set(texts)):
                self._refuse(f"{_joined(texts)!r} in {_name_of(structure)!r} is not one plain member", member.tokens[0].start)
            elif len(declaration.names) == 1:
                yield self._whole(member, next(iter(declaration.names)), known, prefix)
            else:
                yield from (replace(one, name=f"{prefix}{one.name}") for one in _several(member, known))

    def _bases(self, structure: Declaration) -> Iterator[tuple[str, Declaration]]:
        head = structure.item.head
        colon = next((index for index, token in enumerate(head) if token.text == ":"), len(head))
        for part in split_commas(head[colon + 1 :]) if colon < len(head) else ():
            words = [token.text for token in part if token.text not in {"public", "struct", "{"}]
            base = self.structures.get(words[0]) if len(words) == 1 else None
            if base is None:
                self._refuse(f"{_name_of(structure)!r} has a base class that is not a plain structure", structure.start)
            yield words[0], base

    def _whole(self, member: Item, name: str, known: Mapping[str, str], prefix: str) -> _Member:
        one = _member(member, name, known)
        inner = self.structures.get(one.declared)
        if inner is None:
            return replace(one, name=f"{prefix}{name}")
        return replace(one, parts=tuple(self.members(inner, {}, f"{prefix}{name}_")))

    def _array(self, member: Item, name: str, known: Mapping[str, str], prefix: str) -> _Member | None:
        """`const void* in[3]`, of a few elements that are no structures; None for what is no such array."""
        texts = [token.text for token in member.tokens]
        at = texts.index(name)
        if texts[at + 1 : at + 2] != ["["] or texts[at + 3 :] != ["]", ";"]:
            return None
        count = known.get(texts[at + 2], texts[at + 2])
        declared = _joined([known.get(text, text) for text in texts[:at]])
        if not count.isdecimal() or not 0 < int(count) <= _MOST_ELEMENTS or declared in self.structures:
            return None
        return _Member(declared, name, tuple(_Member(declared, f"{prefix}{name}_{index}") for index in range(int(count))))

    def _refuse(self, what: str, position: int) -> NoReturn:
        raise InputError(f"{what}: it cannot be unpacked", location=self.unit.location(position), hint="leave --unpack out")


def _name_of(structure: Declaration) -> str:
    return next(iter(structure.names))


def _types_of(structure: Declaration) -> dict[str, str]:
    """The names of types that it hands down to structures derived from it."""
    known: dict[str, str] = {}
    for member in split(structure.item.body[1:-1]):
        if declaration_of(member).kind is Kind.ALIAS:
            known |= _own_type([token.text for token in member.tokens], known)
    return known


def _own_type(texts: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    """`using index_t = int;` and `typedef int index_t;` in a structure: names that mean nothing outside of it."""
    match texts:
        case ["using", name, "=", *target, ";"] | ["typedef", *target, name, ";"]:
            return {name: _joined([known.get(text, text) for text in target])}
    return {}


def _several(member: Item, arguments: Mapping[str, str]) -> Iterator[_Member]:
    """`int *a, b;`: the type's words are for all of them, a star for its own only."""
    first, *others = split_commas([token for token in member.tokens if token.text != ";"])
    words = [token.text for token in first[:-1] if token.text not in {"*", "__restrict__"}]
    for part in (first[len(words) :], *others):
        declared = [arguments.get(text, text) for text in (*words, *(token.text for token in part[:-1]))]
        yield _Member(_joined(declared), part[-1].text)


def _member(member: Item, name: str, arguments: Mapping[str, str]) -> _Member:
    declared = []
    for token in member.tokens:
        if token.text in {"=", "{", ";"}:
            break
        if token.text != name:
            declared.append(arguments.get(token.text, token.text))
    return _Member(_joined(declared), name)


def _listed(names: Sequence[str]) -> str:
    line = ", ".join(names)
    return line if len(line) <= _LINE else "\n" + "".join(f"      {name},\n" for name in names) + "  "


def _name(part: Sequence[Token]) -> str | None:
    return part[-1].text if part and part[-1].kind is TokenKind.WORD else None


def _text(unit: Unit, part: Sequence[Token]) -> str:
    return unit.text[part[0].start : part[-1].end] if part else ""


def _joined(texts: Sequence[str]) -> str:
    """Spaces between words only, as one would write it."""
    written = ""
    for text in texts:
        needs_space = written and (written[-1].isalnum() or written[-1] in "_*&>") and (text[0].isalnum() or text[0] == "_")
        written += (" " if needs_space else "") + text + (" " if text == "," else "")
    return written.strip()
