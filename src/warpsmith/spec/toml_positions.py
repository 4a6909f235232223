"""Positions of keys and values in a TOML document: tomllib gives the values, tree-sitter their positions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeAlias

from warpsmith.core.errors import Location

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tree_sitter import Node

TomlPath: TypeAlias = tuple[str | int, ...]

_OPENING = ('"""', "'''", '"', "'")


class Positions:
    """Positions by path: `("workloads", "llama-7b", "d")`, `("constraints", 0, "expr")`, `("launch", "grid", 1)`."""

    def __init__(self, file: Path, text: str) -> None:
        import tree_sitter_toml  # noqa: PLC0415 - loaded when used, so that `--help` stays fast
        from tree_sitter import Language, Parser  # noqa: PLC0415

        self._file = file
        self._data = text.encode()
        self._keys: dict[TomlPath, Location] = {}
        self._values: dict[TomlPath, Location] = {}
        self._inner: dict[TomlPath, Location] = {}
        self._elements: dict[TomlPath, int] = {}
        root = Parser(Language(tree_sitter_toml.language())).parse(self._data).root_node
        self._read_document(root)

    def key(self, path: TomlPath) -> Location:
        """The key's position; if the path is not in the document, the nearest enclosing key's."""
        return self._nearest(self._keys, path)

    def value(self, path: TomlPath) -> Location:
        return self._values.get(path) or self._values.get(_without_index(path)) or self.key(path)

    def text(self, path: TomlPath) -> Location:
        """Where a string's text begins, inside its quotes."""
        return self._inner.get(path) or self._inner.get(_without_index(path)) or self.value(path)

    def _nearest(self, places: dict[TomlPath, Location], path: TomlPath) -> Location:
        while path and path not in places:
            path = path[:-1]
        return places.get(path) or Location(self._file, 1, 1)

    def _read_document(self, root: Node) -> None:
        for child in root.named_children:
            match child.type:
                case "pair":
                    self._read_pair(child, ())
                case "table" | "table_array_element":
                    header, *rest = child.named_children
                    path = self._resolve(_key_parts(header))
                    if child.type == "table_array_element":
                        index = self._elements[path] = self._elements.get(path, -1) + 1
                        self._keys.setdefault(path, self._place(header))
                        path = (*path, index)
                    self._keys[path] = self._values[path] = self._place(header)
                    for pair in rest:
                        if pair.type == "pair":
                            self._read_pair(pair, path)
                case _:
                    pass

    def _resolve(self, parts: list[str]) -> TomlPath:
        """A header below an array of tables refers to its last element."""
        path: TomlPath = ()
        for index, part in enumerate(parts):
            path = (*path, part)
            if path in self._elements and index < len(parts) - 1:
                path = (*path, self._elements[path])
        return path

    def _read_pair(self, pair: Node, prefix: TomlPath) -> None:
        key, *_, value = pair.named_children
        path = prefix
        for part in _key_parts(key):
            path = (*path, part)
            self._keys.setdefault(path, self._place(key))
        self._read_value(value, path)

    def _read_value(self, node: Node, path: TomlPath) -> None:
        place = self._values[path] = self._place(node)
        match node.type:
            case "inline_table":
                for pair in node.named_children:
                    if pair.type == "pair":
                        self._read_pair(pair, path)
            case "array":
                items = (item for item in node.named_children if item.type != "comment")
                for index, item in enumerate(items):
                    self._keys[(*path, index)] = self._place(item)
                    self._read_value(item, (*path, index))
            case "string":
                raw = _raw(node)
                opening = next(quote for quote in _OPENING if raw.startswith(quote))
                if raw[len(opening) : len(opening) + 1] in {"\n", "\r"}:
                    # A newline directly after the quotes is not part of the text.
                    self._inner[path] = Location(self._file, (place.line or 0) + 1, 1)
                else:
                    self._inner[path] = Location(self._file, place.line, (place.column or 0) + len(opening))
            case _:
                pass

    def _place(self, node: Node) -> Location:
        # Counted here: tree-sitter 0.26's `start_point` drops references to integers that it does not own, which crashes.
        start = self._data.rfind(b"\n", 0, node.start_byte) + 1
        column = len(self._data[start : node.start_byte].decode()) + 1
        return Location(self._file, self._data.count(b"\n", 0, node.start_byte) + 1, column)


def _without_index(path: TomlPath) -> TomlPath:
    """A single value may stand for a list: `shape = "n"`."""
    return path[:-1] if path and isinstance(path[-1], int) else path


def _key_parts(node: Node) -> list[str]:
    return list(_iterate_key(node))


def _iterate_key(node: Node) -> Iterator[str]:
    if node.type == "dotted_key":
        for child in node.named_children:
            yield from _iterate_key(child)
    elif node.type == "quoted_key":
        raw = _raw(node)
        # The escapes of a basic TOML string are a subset of a Python string's.
        yield str(ast.literal_eval(raw)) if raw.startswith('"') else raw[1:-1]
    else:
        yield _raw(node)


def _raw(node: Node) -> str:
    return (node.text or b"").decode()
