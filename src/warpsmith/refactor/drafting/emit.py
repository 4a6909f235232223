"""Writes a template: ordinary source with a header of parameters, and a kernel.toml beside it that every command takes."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpsmith.core.errors import InputError, Location
from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Literal
from warpsmith.core.plain_text import in_a_comment, on_one_line
from warpsmith.refactor.base import Tunable
from warpsmith.refactor.drafting.combine import Refactored
from warpsmith.spec.bundled import FILE_NAME
from warpsmith.spec.comments import used_identifiers
from warpsmith.spec.document import read_document
from warpsmith.spec.kernel import Kernel, Scalar
from warpsmith.spec.toml_writing import toml_table

_MARK = "# Written by `warpsmith templatize`"
_WIDTH = 120
_STEPS_UP = 3  # a path may climb so many folders before it is clearer as an absolute one


def template_text(found: Refactored) -> str:
    """The whole source: what it is, the parameters with their defaults, the merged kernel."""
    if not found.parameters:
        return found.body
    used = used_identifiers(found.body) | used_identifiers(found.entry)
    headed = [parameter for parameter in found.parameters if parameter.name in used]
    intro = (
        f"{found.draft.kernel.source.name} as a template: its choices are the constants below, which -DNAME=value sets."
        " Their defaults leave the kernel unchanged."
    )
    lines = [f"// {line}" for line in textwrap.wrap(intro, _WIDTH)]
    for parameter in headed:
        lines += [
            "",
            *_described(parameter),
            f"#ifndef {parameter.name}",
            f"#define {parameter.name} {parameter.default}",
            "#endif",
        ]
    return "\n".join([*lines, "", found.body])


def template_path(folder: Path, kernel: Kernel) -> Path:
    return folder / f"{kernel.source.stem.removesuffix('.template')}.template{kernel.source.suffix}"


def check_folder(folder: Path, kernel: Kernel) -> None:
    """Raises InputError where writing a template would overwrite what somebody else wrote."""
    target = folder / FILE_NAME
    if target.is_file() and not target.read_text(encoding="utf-8", errors="replace").startswith(_MARK):
        raise InputError(
            "there already is a kernel.toml that templatize did not write",
            location=Location(target),
            hint="choose another folder",
        )
    path = template_path(folder, kernel)
    if path.resolve() == kernel.source.resolve():
        raise InputError("the template would overwrite the original", location=Location(path), hint="choose another folder")


def write_template(found: Refactored, folder: Path) -> Path:
    """Writes source and kernel.toml into the folder; returns the kernel.toml."""
    kernel = found.draft.kernel
    check_folder(folder, kernel)
    folder.mkdir(parents=True, exist_ok=True)
    template_path(folder, kernel).write_text(template_text(found), encoding="utf-8")
    target = folder / FILE_NAME
    target.write_text(kernel_toml(found, folder), encoding="utf-8")
    return target


def kernel_toml(found: Refactored, folder: Path) -> str:
    """All that the user's kernel.toml says, with the template's launch, parameters and constraints in place of the original's."""
    kernel = found.draft.kernel
    data = read_document(kernel.path).data
    move = _Moving(kernel.path.parent, folder)
    parts = [
        f"{_MARK} from {kernel.path.resolve().parent.name}/{kernel.path.name}; it writes over this file when it runs again.\n"
    ]
    parts.append(toml_table("kernel", _kernel_table(kernel, data["kernel"], move)))
    template: dict[str, Any] = {"source": template_path(folder, kernel).name}
    if found.entry != kernel.entry:
        template["entry"] = found.entry
    if found.draft.is_foreign:
        template["foreign"] = True
    parts.append(toml_table("template", template))
    parts.append(toml_table("arguments", _arguments(kernel, data["arguments"], move)))
    if "constants" in data:
        parts.append(toml_table("constants", {name: move.python(table) for name, table in data["constants"].items()}))
    launch: dict[str, Any] = {"grid": [*map(_number, found.grid)], "block": [*map(_number, found.block)]}
    if found.shared != "0":
        launch["shared"] = _number(found.shared)
    parts.append(toml_table("launch", launch))
    parts.append(toml_table("workloads", data["workloads"]))
    parts += [toml_table(name, move.python(data[name])) for name in ("reference", "traffic") if data.get(name)]
    if found.parameters:
        entries = {p.name: _parameter(p) for p in found.parameters}
        parts.append(toml_table("parameters", entries, {p.name: _origin(found, p) for p in found.parameters}))
    for section, rules in (("[constraints]", found.rules), ("[likely]", found.expectations)):
        parts += [toml_table(section, {"expr": rule.expression, "reason": rule.reason}) for rule in rules]
    return "\n".join(parts)


def _parameter(parameter: Tunable) -> dict[str, Any]:
    entry = {"values": parameter.values, "default": parameter.default}
    more = {"likely": parameter.likely, "assumes": parameter.assumes}
    return {**entry, **{key: value for key, value in more.items() if value}}


def _described(parameter: Tunable) -> list[str]:
    values = ", ".join(map(str, parameter.values))
    tested = f"; tested, not proved: {parameter.assumes}" if parameter.assumes else ""
    text = in_a_comment(f"{parameter.name}: {parameter.meaning} ({values}){tested}")  # the meaning may be a model's
    return [f"// {line}" for line in textwrap.wrap(text, _WIDTH)]


def _origin(found: Refactored, parameter: Tunable) -> str:
    where = f", line {parameter.line}" if parameter.line is not None else ""
    return on_one_line(f"{parameter.meaning} ({found.draft.origins[parameter.name]}{where})")


def _kernel_table(kernel: Kernel, table: Mapping[str, Any], move: _Moving) -> dict[str, Any]:
    entries: dict[str, Any] = {**table, "source": move.path(str(table["source"])), "entry": kernel.entry}
    if kernel.defines:
        entries["defines"] = dict(kernel.defines)
    if "include_dirs" in table:  # those that the source reaches by itself, it reaches from here too
        entries["include_dirs"] = [move.path(text) for text in table["include_dirs"]]
    return entries


def _arguments(kernel: Kernel, tables: Mapping[str, Any], move: _Moving) -> dict[str, Any]:
    entries = {name: move.python(table) for name, table in tables.items()}
    for argument in kernel.arguments:
        if isinstance(argument, Scalar) and isinstance(entries[argument.name]["value"], str):
            entries[argument.name]["value"] = _value(argument.value)
    return entries


def _value(expression: Expression) -> Any:
    return expression.tree.value if isinstance(expression.tree, Literal) else expression.text


def _number(text: str) -> int | str:
    return int(text) if text.isdigit() else text


class _Moving:
    """Keeps paths valid that a kernel.toml says relative to its own folder."""

    def __init__(self, before: Path, after: Path) -> None:
        self._before = before.resolve()
        self._after = after.resolve()

    def path(self, text: str) -> str:
        found = (self._before / text).resolve()
        relative = os.path.relpath(found, self._after)
        return str(found) if relative.count("..") > _STEPS_UP else Path(relative).as_posix()

    def python(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The table with the file of a `python = "file.py:function"` moved, at whatever depth."""
        moved: dict[str, Any] = {}
        for key, value in table.items():
            if key == "python" and isinstance(value, str):
                file, colon, function = value.rpartition(":")
                moved[key] = f"{self.path(file)}{colon}{function}"
            else:
                moved[key] = self.python(value) if isinstance(value, Mapping) else value
        return moved
