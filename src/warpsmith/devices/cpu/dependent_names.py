"""Inserts `template` where clang requires it and NVIDIA's compiler does not: `A<T>::to<n>(x)` becomes `A<T>::template
to<n>(x)`; likewise after a dot.

Only in lines that clang rejected. The keyword only affects parsing: code that meant something else still fails.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from warpsmith.devices._clang.preprocess import Diagnostic

# The others are clang's messages if it knows several such templates.
_COMPLAINT = re.compile(
    r"(?:missing|use) 'template' keyword"
    r"|reference to (?:overloaded function could not be resolved|non-static member function must be called)"
)
_MEMBER = re.compile(r"(>\s*::\s*|(?:\.|->)\s*)(?=(?!template\b)[A-Za-z_]\w*\s*<(?![<=]))")


def with_template_keywords(text: str, errors: Sequence[Diagnostic]) -> str:
    places = {error.line for error in errors if _COMPLAINT.search(error.text)}
    if not places:
        return text
    lines = text.split("\n")
    for place in places:
        if place <= len(lines):
            lines[place - 1] = _MEMBER.sub(r"\1template ", lines[place - 1])
    return "\n".join(lines)
