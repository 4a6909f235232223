"""Checks kernel.toml's claims about its source: an entry that does not exist, arguments that the kernel does not take.

Reports only what is certain without compiling; macros and headers can add what is not seen here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.core.errors import Location
from warpsmith.core.hardware import Language
from warpsmith.spec.comments import with_blank_comments, without_noise
from warpsmith.spec.declarations import Declarations
from warpsmith.spec.document import Document, read_source
from warpsmith.spec.includes import has_own_headers, included_files
from warpsmith.spec.problems import Problems, nearest
from warpsmith.spec.signature import check_signature

if TYPE_CHECKING:
    from warpsmith.spec.kernel import Kernel

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)(?:\\\r?\n|[^\n])*", re.MULTILINE)
# Literals that may hide where others begin and end.
_HARD_LITERAL = re.compile(r"R\"|\d'\d")


def check_source(kernel: Kernel, document: Document, problems: Problems) -> None:
    place = document.at.text(("kernel", "entry"))
    base = kernel.entry.split("<", 1)[0].rsplit("::", 1)[-1].strip()
    if not _IDENTIFIER.fullmatch(base) or ("<" in kernel.entry and not kernel.entry.endswith(">")):
        example = 'a plain name, or a template instance: "kernel<float, 4>"'
        problems.add(f"{kernel.entry!r} is not a valid kernel name", place, example)
        return
    if not kernel.source.is_file():
        return
    text = read_source(kernel.source)
    unclosed = _unclosed(text)
    if unclosed is not None:
        problems.add("unclosed brace", Location(kernel.source, unclosed), "or one after it: the source ends first")
        return
    home = _declaring(kernel, text, base)
    if home is None:
        if "##" not in text and not has_own_headers(text):
            kernels = [k.plain_name for k in Declarations(text, kernel.language).kernels]
            problems.add(f"{kernel.source.name} has no kernel {base!r}", place, nearest(base, kernels))
        return
    declarations = Declarations(home, kernel.language)
    marker = _function_marker(declarations, base)
    if marker is not None:
        kernels = [k.plain_name for k in declarations.kernels]
        problems.add(f"{base!r} is not a kernel but a {marker} function", place, nearest(base, kernels))
    elif not problems:
        # A mistake in [arguments] would be reported twice.
        check_signature(kernel, declarations, document.at, problems)


def _declaring(kernel: Kernel, text: str, base: str) -> str | None:
    """The text that has the entry's name: the source, or a file that it includes."""
    texts = (included for _, included in included_files(kernel.source, text, kernel.include_dirs))
    found = (t for t in _both(text, texts) if re.search(rf"\b{base}\b", with_blank_comments(t)))
    return next(found, None)


def _both(text: str, others: Iterator[str]) -> Iterator[str]:
    yield text
    yield from others


def _function_marker(declarations: Declarations, base: str) -> str | None:
    """`__device__` or `__host__`, if the entry names such a function and no kernel."""
    if declarations.language is Language.OPENCL or any(k.plain_name == base for k in declarations.kernels):
        return None
    function = declarations.function(base)
    markers = [child.type for child in function.children] if function is not None else []
    return next((marker for marker in ("__device__", "__host__") if marker in markers), None)


def _unclosed(text: str) -> int | None:
    """The line of a brace that is certainly unclosed: none of them depends on a condition or a macro."""
    if _HARD_LITERAL.search(text):
        return None
    plain = without_noise(text)
    depth = 0
    opened: list[int] = []
    position = 0
    for directive in [*_DIRECTIVE.finditer(plain), None]:
        stretch = plain[position : directive.start() if directive is not None else len(plain)]
        if depth and re.search(r"[{}]", stretch):
            return None
        for brace in re.finditer(r"[{}]", stretch):
            if brace[0] == "{":
                opened.append(position + brace.start())
            elif not opened:
                return None
            else:
                opened.pop()
        if directive is not None:
            depth += directive[1].startswith("if")
            depth -= directive[1] == "endif"
            position = directive.end()
            if directive[0].count("{") != directive[0].count("}"):
                return None
    return plain.count("\n", 0, opened[0]) + 1 if opened else None
