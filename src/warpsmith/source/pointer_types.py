"""What a local name or parameter was declared as, stars included."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warpsmith.source.scopes import Scopes
from warpsmith.source.tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_QUALIFIERS = re.compile(r"\b(?:volatile|__restrict(?:__)?|restrict|register|constexpr)\b")


def declared_as(name: str, use: Node, scopes: Scopes) -> str | None:
    """`int2`, `const float*`, …: without references and qualifiers of the name itself. None where it is not so simple."""
    found = scopes.declaration(name, use)
    if found is None:
        return None
    declaration = found.node if found.node.type.endswith("declaration") else found.node.parent
    if declaration is None or not declaration.type.endswith("declaration"):
        return None
    before = text_of(declaration).partition("=")[0]
    first = re.fullmatch(
        rf"\s*([\w\s:<>]+?)\s*((?:[*&]\s*|const\b\s*|__restrict(?:__)?\b\s*)*){re.escape(name)}\s*[;{{(]?.*", before, re.DOTALL
    )
    if first is None or (found.node.type.endswith("declaration") and "[" in before) or "," in before:
        return None
    stars = first[2].count("*")
    words = " ".join(_QUALIFIERS.sub(" ", first[1]).split())
    plain = re.sub(r"^const (.+)|^(.+) const$", lambda m: m[1] or m[2], words)
    if stars > 1 or not plain or plain == "auto":
        return None
    return plain if not stars else f"{'const ' if plain != words else ''}{plain}*"
