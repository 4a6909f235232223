"""Addresses of the user's Python functions (`file.py:function`): checked by parsing the file, without importing it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warpsmith.core.errors import InputError, Location
from warpsmith.core.file_names import is_file
from warpsmith.spec.document import read_text
from warpsmith.spec.problems import nearest

if TYPE_CHECKING:
    from pathlib import Path


def check_function(folder: Path, address: str, place: Location) -> tuple[Path, str]:
    """File and function of an address; raises InputError if either does not exist."""
    text, colon, function = address.rpartition(":")
    if not colon or not text or not function.isidentifier():
        raise InputError(f"{address!r} is not a function's address", location=place, hint='write "reference.py:function"')
    file = folder / text
    if not is_file(file):
        siblings = [p.name for p in folder.iterdir() if p.suffix == ".py"]
        raise InputError(
            f"the file {text!r} does not exist",
            location=place,
            hint=nearest(text, siblings) or "paths are relative to kernel.toml",
        )
    try:
        tree = ast.parse(read_text(file))
    except SyntaxError as error:
        raise InputError(f"invalid Python: {error.msg}", location=Location(file, error.lineno, error.offset)) from None
    except ValueError as error:
        raise InputError(f"invalid Python: {error}", location=Location(file)) from None
    names = set(_bound_names(tree))
    # `from … import *` may provide it: only importing could tell.
    if function not in names and "*" not in names:
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        raise InputError(f"{text} has no function {function!r}", location=place, hint=nearest(function, functions))
    return file, function


def _bound_names(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name):
                names.append(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names += [alias.asname or alias.name for alias in aliases]
            case ast.Name(id=name, ctx=ast.Store()):
                names.append(name)
            case _:
                pass
    return names
