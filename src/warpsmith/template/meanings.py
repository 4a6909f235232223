"""The meaning of each template parameter, from the comment next to it."""

from __future__ import annotations

import re

from warpsmith.spec.document import read_document, read_text
from warpsmith.spec.kernel import Kernel
from warpsmith.template.model import Template

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')
_COMMENT = r"[ \t]*//[ \t]*(?P<{0}>[^\n]+)"


def parameter_meanings(kernel: Kernel, template: Template) -> dict[str, str]:
    """From kernel.toml, else from the template's source; a parameter that nobody commented on is left out."""
    lines = read_text(kernel.path).split("\n")
    at = read_document(kernel.path).at
    found = {}
    for parameter in template.parameters:
        line = at.key(("parameters", parameter.name)).line or 1
        meaning = _toml_comment(lines[line - 1]) or _source_comment(template.source, parameter.name)
        if meaning:
            found[parameter.name] = meaning
    return found


def _toml_comment(line: str) -> str:
    """Of one line; a `#` within a string begins none."""
    start = _QUOTED.sub(lambda match: " " * len(match.group()), line).find("#")
    return "" if start < 0 else line[start:].lstrip("# ").rstrip()


def _source_comment(source: str, name: str) -> str:
    """Behind `#ifndef NAME` and `#define NAME value`; else the lines of comment right above."""
    guard = rf"^[ \t]*#[ \t]*ifndef[ \t]+{name}\b(?:{_COMMENT.format('guard')})?[^\n]*\n"
    define = rf"[ \t]*#[ \t]*define[ \t]+{name}\b[^\n/]*(?:{_COMMENT.format('define')})?"
    match = re.search(guard + define, source, re.MULTILINE)
    if match is None:
        return ""
    beside = [part.strip() for part in (match["guard"], match["define"]) if part]
    above = re.search(r"(?:^[ \t]*//[^\n]*\n)+\Z", source[: match.start()], re.MULTILINE)
    if beside or above is None:
        return " · ".join(beside)
    words = " ".join(line.strip().lstrip("/ ") for line in above.group().splitlines())
    return words.removeprefix(f"{name}:").strip()
