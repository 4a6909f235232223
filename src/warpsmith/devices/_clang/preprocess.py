"""Extracts the user's tokens after preprocessing, for identity certificates, and parses clang's errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from warpsmith.core.configuration import Value
from warpsmith.devices._clang.tokens import tokenize

_DIAGNOSTIC = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<kind>fatal error|error|warning|note): (?P<text>.*)$"
)

NEUTRAL_PLACES = ("-Wno-builtin-macro-redefined", '-D__FILE__=""', "-D__LINE__=0")
"""Flags for tokens without line positions: a template is another file, with moved lines."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    file: str
    line: int
    kind: str
    text: str
    column: int | None = None

    @property
    def is_error(self) -> bool:
        return self.kind.endswith("error")


def parse_log(log: str) -> list[Diagnostic]:
    found = (_DIAGNOSTIC.match(line) for line in log.splitlines())
    return [
        Diagnostic(m["file"], int(m["line"]), m["kind"], m["text"], int(m["column"]) if m["column"] else None) for m in found if m
    ]


def macros(defines: Mapping[str, Value]) -> list[str]:
    """`NAME=VALUE` for each parameter, as compilers take it after -D."""
    return [f"{name}={int(value) if isinstance(value, bool) else value}" for name, value in defines.items()]


def definitions(defines: Mapping[str, Value]) -> str:
    """Directives for the parameters. As text, not as flags: they follow the prelude and cannot break it."""
    return "".join(f"#define {macro.replace('=', ' ', 1)}\n" for macro in macros(defines))


def begins(file: object) -> str:
    """The line directive for the beginning of this file. Folder names may contain quotes."""
    name = str(file).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'#line 1 "{name}"\n'


def users_tokens(preprocessed: str) -> list[str]:
    """Without the regions that line markers assign to system headers (flag 3), including a prelude, and to the compiler."""
    kept: list[str] = []
    keep = False
    for line in preprocessed.splitlines():
        if line.startswith("# "):
            _, _, rest = line[2:].partition(" ")
            name, _, flags = rest.rpartition('"')
            keep = "3" not in flags.split() and not name.startswith(('"<', '"-'))
        elif keep:
            kept.append(line)
    return [token.text for token in tokenize("\n".join(kept))]
