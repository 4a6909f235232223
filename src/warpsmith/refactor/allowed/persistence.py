"""Variables of a source that outlive a launch: `__device__`, `__managed__`, `static` in CUDA, HIP; `global`, `static` in OpenCL.

A kernel that keeps something there can answer its later launches from memory: right whenever it is verified, and timed doing
nothing. So what others write for a kernel may have none that the kernel itself does not have. Told by tokens, object-like macros
written out; what a function-like macro hides is taken for a variable.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from warpsmith.core.brackets import ROUND, until_closed
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.devices._clang.tokens import Kind, tokenize
from warpsmith.refactor.allowed.written_out import written_out
from warpsmith.template.directives import object_defines

_MARKS = {
    Language.CUDA: frozenset({"__device__", "__managed__", "__constant__", "static"}),
    Language.HIP: frozenset({"__device__", "__managed__", "__constant__", "static"}),
    Language.OPENCL: frozenset({"global", "__global"}),
}
_HARMLESS = frozenset({"constexpr", "__shared__", "using", "typedef", "operator", "constant", "__constant"})
_TYPES = frozenset({"struct", "class", "enum", "union"})
_QUALIFIERS = frozenset({"__attribute__", "alignas", "__align__", "__launch_bounds__", "decltype", "typeof", "__typeof__"})
_BEHIND_PARAMETERS = frozenset({"{", "const", "noexcept", "->", ":", "try", "__attribute__", "override"})
_BASIC_TYPES = frozenset(
    {"const", "void", "bool", "char", "short", "int", "long", "unsigned", "signed", "float", "double", "struct", "volatile"}
)
_ENDS = frozenset({";", "=", "[", "{", ","})
_BODY = "{}"
_DEPTHS = {"(": ROUND, "{": {"{": 1, "}": -1}, "<": {"<": 1, ">": -1, ">>": -2}}  # only a bracket's own kind closes it
_WORD = re.compile(r"[A-Za-z_]\w*")
_MACRO = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)\((.*)", re.DOTALL)


def persistent_variables(source: str, language: Language) -> frozenset[str]:
    """Their names; those of function-like macros that declare one."""
    macros = {define.name: define.body for define in object_defines(source)}
    marks = _MARKS[language]
    tokens = [token for token in tokenize(source) if token.kind is not Kind.DIRECTIVE]
    written = list(written_out(tokens, macros))
    directives = (token.text for token in tokenize(source) if token.kind is Kind.DIRECTIVE)
    hidden = {found[1] for text in directives if (found := _MACRO.match(text)) and set(re.findall(r"\w+", found[2])) & marks}
    return frozenset(_declared(written, marks, language) | hidden)


def _declared(words: Sequence[str], marks: frozenset[str], language: Language) -> set[str]:
    functions = set(_functions(words))
    return {name for at in _beginnings(words, marks, language) if (name := _variable(words[at:], functions)) is not None}


def _beginnings(words: Sequence[str], marks: frozenset[str], language: Language) -> Iterator[int]:
    """Where a declaration may begin that makes such a variable."""
    if language is not Language.OPENCL:
        yield from (place for place, word in enumerate(words) if word in marks)
        return
    # Outside functions every variable is one; inside, those that are static. `global` stands before pointers there.
    yield from (place for place, word in enumerate(words) if word == "static")
    place = 0
    while place < len(words):
        yield place
        ended = False
        while place < len(words) and not ended:
            is_body = words[place] == "{" and words[place - 1] == ")"
            ended = words[place] == ";" or is_body
            place = _closed(words, place) if words[place] == "{" else place + 1


def _functions(words: Sequence[str]) -> Iterator[str]:
    """Names that a body is given for, also of a template's instances."""
    for at, word in enumerate(words):
        if word == "(" and words[_closed(words, at) :][:1] == ["{"]:
            name = at - 1
            if words[name] in {">", ">>"}:
                name = max((place for place in range(at) if words[place] == "<" and _closed(words, place) == at), default=0) - 1
            if name >= 0:
                yield words[name]


def _closed(words: Sequence[str], opening: int) -> int:
    """The place behind the bracket that closes the one there."""
    taken = until_closed((words[place] for place in range(opening, len(words))), _DEPTHS[words[opening]])
    return len(words) if taken is None else opening + taken


def _variable(words: Sequence[str], functions: Collection[str]) -> str | None:
    """The name that a declaration gives to a variable which can change; None for functions, constants and types."""
    name: str | None = None
    is_constant, only_names_type = False, 0
    for place, word in _telling(words):
        if word in _HARMLESS:
            return None
        if word in _ENDS or word == "(":
            takes = word == "(" and _takes_parameters(name, words[place:], functions)
            return None if is_constant or takes or only_names_type > 0 else name
        if word in _TYPES:
            only_names_type = 2  # a name or a body, which are the type's own
        elif word in {"const", "*"}:
            is_constant = word == "const"
        elif word == _BODY:
            name, only_names_type = None, only_names_type - 1
        elif _WORD.fullmatch(word):
            name, only_names_type = word, only_names_type - 1
    return None


def _telling(words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """With their places: without arguments of templates and qualifiers, and with one word for a type's body."""
    place, may_have_body = 0, False
    while place < len(words):
        word = words[place]
        if word == "<" or (word == "(" and words[max(place - 1, 0)] in _QUALIFIERS):
            place = _closed(words, place)
        elif word == "{" and may_have_body:
            yield place, _BODY
            place, may_have_body = _closed(words, place), False
        else:
            may_have_body = word in _TYPES or (may_have_body and word not in _ENDS)
            if word not in _QUALIFIERS:
                yield place, word
            place += 1


def _takes_parameters(name: str | None, words: Sequence[str], functions: Collection[str]) -> bool:
    """Whether a bracket behind a name holds a function's parameters. It may be a variable's first value, or a variable itself."""
    end = _closed(words, 0)
    inside, behind = words[1 : end - 1], words[end : end + 1]
    if inside[:1] in (["*"], ["&"]):
        return False
    if inside[:1] and inside[0] in _BASIC_TYPES:
        return True  # `void f(float* y);`
    declares = any(_WORD.fullmatch(a) and _WORD.fullmatch(b) for a, b in pairwise(inside))
    return not inside or declares or name in functions or not behind or behind[0] in _BEHIND_PARAMETERS


def require_no_memory(source: str, original: str, language: Language) -> None:
    """Raises InputError for a source that keeps more from launch to launch than the original does."""
    kept = persistent_variables(source, language) - persistent_variables(original, language)
    if kept:
        raise InputError(
            f"{', '.join(sorted(kept))} would outlive a launch, which nothing of the original does: a kernel works with its"
            " arguments, shared memory and registers only",
            hint="a table of constants is `constexpr` or `const`",
        )
