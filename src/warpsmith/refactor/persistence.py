"""Variables of a source that outlive a launch: `__device__`, `__managed__` or `static` in CUDA and HIP, `global` in OpenCL.

A kernel that keeps something there can answer its later launches from memory: right whenever it is verified, and timed doing
nothing. So what others write for a kernel may have none that the kernel itself does not have. Told by tokens, object-like macros
written out; what a function-like macro hides is taken for a variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.devices._clang.tokens import Kind, Token, tokenize
from warpsmith.template.directives import object_defines

_MARKS = {
    Language.CUDA: frozenset({"__device__", "__managed__", "__constant__", "static"}),
    Language.HIP: frozenset({"__device__", "__managed__", "__constant__", "static"}),
    Language.OPENCL: frozenset({"global", "__global"}),
}
_HARMLESS = frozenset({"constexpr", "__shared__", "using", "struct", "class", "enum", "union", "operator"})
_MACRO = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)\((.*)", re.DOTALL)
_DEEPEST_MACRO = 4


def persistent_variables(source: str, language: Language) -> frozenset[str]:
    """Their names; those of function-like macros that declare one."""
    macros = {define.name: define.body for define in object_defines(source)}
    marks = _MARKS[language]
    tokens = [token for token in tokenize(source) if token.kind is not Kind.DIRECTIVE]
    written = list(_expanded(tokens, macros, _DEEPEST_MACRO))
    directives = (token.text for token in tokenize(source) if token.kind is Kind.DIRECTIVE)
    hidden = {found[1] for text in directives if (found := _MACRO.match(text)) and set(re.findall(r"\w+", found[2])) & marks}
    return frozenset(_declared(written, marks, language) | hidden)


def _expanded(tokens: Sequence[Token], macros: dict[str, str], depth: int) -> Iterator[str]:
    for token in tokens:
        if token.kind is Kind.WORD and token.text in macros and depth:
            yield from _expanded(list(tokenize(macros[token.text])), macros, depth - 1)
        else:
            yield token.text


def _declared(words: Sequence[str], marks: frozenset[str], language: Language) -> set[str]:
    found = set()
    braces = parentheses = 0
    for place, word in enumerate(words):
        braces += (word == "{") - (word == "}")
        parentheses += (word == "(") - (word == ")")
        # In OpenCL the word stands before pointers everywhere; a variable it makes only outside functions.
        if word in marks and not (language is Language.OPENCL and (braces or parentheses)):
            name = _variable(words[place:])
            if name is not None:
                found.add(name)
    return found


def _variable(words: Sequence[str]) -> str | None:
    """The name that a declaration gives to a variable which can change; None for functions, constants and types."""
    name, depth, is_constant = None, 0, False
    previous = ""
    for word in words:
        if word in {"<", "(", "<<"} and not (word == "(" and depth == 0 and _names_function(previous)):
            depth += 1
        elif word in {">", ")", ">>"} and depth:
            depth -= 1
        elif depth == 0:
            if word == "(" or word in _HARMLESS:
                return None
            if word in {";", "=", "[", "{", ","}:
                return None if is_constant else name
            is_constant = (is_constant or word == "const") and word != "*"
            if re.fullmatch(r"[A-Za-z_]\w*", word):
                name = word
        previous = word
    return None


def _names_function(word: str) -> bool:
    """Whether a bracket after it opens parameters: after these it opens what qualifies a declaration."""
    return re.fullmatch(r"\w+", word) is not None and word not in {"__attribute__", "alignas", "__align__", "__launch_bounds__"}


def require_no_memory(source: str, original: str, language: Language) -> None:
    """Raises InputError for a source that keeps more from launch to launch than the original does."""
    kept = persistent_variables(source, language) - persistent_variables(original, language)
    if kept:
        raise InputError(
            f"{', '.join(sorted(kept))} would outlive a launch, which nothing of the original does: a kernel works with its"
            " arguments, shared memory and registers only",
            hint="a table of constants is `constexpr` or `const`",
        )
