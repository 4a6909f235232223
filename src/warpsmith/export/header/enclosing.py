"""A configuration's source inside its own namespace, so that one header can contain several.

- Headers of the kernel's own folders are put in place of their `#include` lines.
- Other headers must not end up in the namespace: it is closed before such a line and opened again behind it.
- Macros that the source defines or takes away are put back: the next one, and whoever includes the header, sees none.
- `extern "C"` would make the same function of all that share a name, so it becomes `extern "C++"`.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from warpsmith.export.belonging import must_belong_to
from warpsmith.refactor.allowed.directives import directives_of
from warpsmith.refactor.allowed.view import View
from warpsmith.spec.includes import includes, with_lines
from warpsmith.spec.kernel import Kernel

_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b[^\n]*", re.MULTILINE)
_C_LINKAGE = re.compile(r'\bextern(\s+)"C"')


def enclosed(kernel: Kernel, origin: Path, text: str, namespaces: tuple[str, ...]) -> str:
    """Raises InputError for an included file outside the kernel's folders."""
    opening = "".join(f"namespace {name} {{ " for name in namespaces).rstrip()
    closing = f"{'}' * len(namespaces)}  // namespace {'::'.join(namespaces)}"
    whole = _InPlace(kernel, origin, text, f"{closing}\n", f"\n{opening}").text
    whole = _C_LINKAGE.sub(r'extern\1"C++"', whole)
    macros = _macros(whole, kernel)
    saved = "".join(f'#pragma push_macro("{name}")\n' for name in macros)
    restored = "".join(f'#pragma pop_macro("{name}")\n' for name in macros)
    return f"{saved}{opening}\n{whole.strip()}\n{closing}\n{restored}"


def _macros(text: str, kernel: Kernel) -> list[str]:
    """Those that it defines or takes away, as the compiler's own lexer finds them: however the directives are spelled."""
    found = (
        [token.text for token in directive[:2]] for directive in directives_of(View.of(text, kernel.language, {}, ()).tokens)
    )
    return list(dict.fromkeys(words[1] for words in found if words[0] in {"define", "undef"} and len(words) == 2))


class _InPlace:
    """The source with the kernel's own headers in place of their `#include` lines."""

    def __init__(self, kernel: Kernel, origin: Path, text: str, before_others: str, behind_others: str) -> None:
        folders = (kernel.source.parent, *kernel.include_dirs)
        found = includes(origin, text, folders, must_belong_to(kernel, origin))
        self._files = {(i.by, i.target): (i.file, i.text) for i in found if i.file is not None and i.text is not None}
        self._before, self._behind = before_others, behind_others
        self._once: set[Path] = set()
        self._open: list[Path] = []
        self.text = self._expanded(origin, text)

    def _expanded(self, file: Path, text: str) -> str:
        return with_lines(text, partial(self._line, file))

    def _line(self, by: Path, target: str, line: str) -> str:
        file, text = self._files.get((by, target), (None, None))
        if file is None or text is None:
            return f"{self._before}{line}{self._behind}"
        if file in self._once or file in self._open:  # inside itself it is behind its own guard
            return ""
        if _ONCE.search(text):
            self._once.add(file)
        self._open.append(file)
        expanded = self._expanded(file, _ONCE.sub("", text))
        self._open.pop()
        return f"// from {file.name}:\n{expanded.strip()}"
