"""Reads a kernel.toml: its values and their positions. Reports errors of files and of TOML syntax."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpsmith.core.errors import InputError, Location
from warpsmith.spec.toml_positions import Positions

if TYPE_CHECKING:
    from pathlib import Path

_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class Document:
    file: Path
    data: dict[str, Any]
    at: Positions


def read_document(file: Path) -> Document:
    text = read_text(file)
    if not text.strip():
        raise InputError(
            "the file is empty", location=Location(file), hint="`warpsmith init FILE` writes a skeleton from a source file"
        )
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _PLACE.search(message)
        line, column = (int(place[1]), int(place[2])) if place and place[1] else _end_of(text)
        reason = _PLACE.sub("", message)
        hint = 'text needs quotes: name = "silu"' if "Invalid value" in reason else None
        raise InputError(f"invalid TOML: {reason}", location=Location(file, line, column), hint=hint) from None
    except RecursionError:
        raise InputError("lists or tables are nested too deeply", location=Location(file)) from None
    except ValueError as error:  # Python refuses to read thousands of digits
        raise InputError(f"cannot be read: {error}", location=Location(file)) from None
    return Document(file, data, Positions(file, text))


def read_text(file: Path) -> str:
    """A UTF-8 file as text, with or without a byte-order mark, with any line endings."""
    raw = _read_bytes(file)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise InputError(found, location=Location(file, line), hint="save the file as UTF-8") from None
    return text.replace("\r\n", "\n")


def read_source(file: Path) -> str:
    """A source file in any encoding: compilers accept any bytes in comments."""
    return _read_bytes(file).decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", location=Location(file)) from None
    except IsADirectoryError:
        raise InputError("a folder, expected a file", location=Location(file)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", location=Location(file)) from None


def _end_of(text: str) -> tuple[int, int]:
    lines = text.split("\n")
    return len(lines), len(lines[-1]) + 1
