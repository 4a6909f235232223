"""A class without its host side: members that are not for the device cannot be called there, and often cannot compile."""

from __future__ import annotations

from collections.abc import Iterator

from warpsmith.devices._clang.items import Item, split
from warpsmith.devices._clang.tokens import Token
from warpsmith.source.extract.declarations import Kind, declaration_of


def host_members(item: Item, marks: frozenset[str]) -> Iterator[Item]:
    """The host-only member functions of a class and of the classes in it."""
    if not item.is_class:
        return
    for member in split(item.body[1:-1]):
        if member.is_class:
            yield from host_members(member, marks)
            continue
        is_function = declaration_of(member).kind is Kind.FUNCTION
        if is_function and not member.is_marked(marks) and not _is_harmless(member):
            yield member


def _is_harmless(member: Item) -> bool:
    """A defaulted function, which is for both sides, or what may be a macro call that stands for members: `REGISTER(float);`."""
    texts = [token.text for token in member.tokens]
    return not member.body and (texts[-2:-1] in (["default"], ["delete"], ["0"]) or texts[1:2] == ["("])


def without_host_members(item: Item, marks: frozenset[str]) -> list[Token]:
    gone = {token.start for member in host_members(item, marks) for token in member.tokens}
    return [token for token in item.tokens if token.start not in gone]


def member_names(item: Item) -> set[str]:
    """Of a class's data and functions: in its text these names mean them, not something of the namespace around it."""
    members = split(item.body[1:-1]) if item.is_class else ()
    declared = (declaration_of(member) for member in members if not _is_harmless(member))
    return {name for member in declared if member.kind in {Kind.VARIABLE, Kind.FUNCTION} for name in member.names}
