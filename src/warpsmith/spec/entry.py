"""The entry of a kernel.toml: a plain name, or a template instance (`ns::kernel<float, 4>`)."""

from __future__ import annotations


def split_entry(entry: str) -> tuple[str, list[str]]:
    """`k<float, 4>` → `k`, [`float`, `4`]."""
    name, bracket, rest = entry.partition("<")
    if not bracket:
        return entry.strip(), []
    inner, arguments, depth, current = rest.rstrip().removesuffix(">"), [], 0, ""
    for character in inner:
        depth += (character in "<({") - (character in ">)}")
        if character == "," and depth == 0:
            arguments.append(current.strip())
            current = ""
        else:
            current += character
    return name.strip(), [*arguments, current.strip()] if current.strip() else arguments
