"""Whether a template parameter's values are subscripts in the kernel, so that only an integer type fits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from warpsmith.spec.declarations import KernelDeclaration


def is_subscript(type_name: str, kernel: KernelDeclaration) -> bool:
    """`x[map[i]]` for `const T* map`, `x[n]` for `T n`."""
    body = kernel.body_text
    of_type = [p for p in kernel.parameters if re.search(rf"\b{type_name}\b", p.type)]
    local = re.findall(rf"\b{type_name}\s+(?:const\s+)?(\w+)\s*=", body)
    used = [rf"\b{p.name}\s*\[" if p.depth else rf"\b{p.name}\b(?!\s*\[)" for p in of_type if p.name] + [
        rf"\b{n}\b" for n in local
    ]
    return bool(used) and any(re.search("|".join(used), inside) for inside in _subscripts(body))


def _subscripts(text: str) -> Iterator[str]:
    """Contents of outermost brackets, including inner ones."""
    depth = begin = 0
    for place, sign in enumerate(text):
        if sign == "[":
            begin = begin if depth else place + 1
            depth += 1
        elif sign == "]" and depth:
            depth -= 1
            if not depth:
                yield text[begin:place]
