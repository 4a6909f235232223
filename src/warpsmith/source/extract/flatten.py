"""One text from a source file and the headers of its code base: includes opened and `#if`s decided, all else as it was written.

clang does the deciding (`-frewrite-includes`), so macros, comments and line breaks stay. A header that is in none of the code
base's folders is replaced by an empty one, and comes back as the `#include` it was: no toolkit need be installed, and what it
defines never gets into the result. Read is what lies in the code base's folders, and source files that it includes from beside
them (`../common/x.h`): whatever else a line names (`/etc/passwd`, a hidden file) is not there, for clang as for us.
"""

from __future__ import annotations

import re
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from warpsmith.core.errors import InputError, Location
from warpsmith.core.hardware import Language
from warpsmith.devices._clang.preprocess import parse_log
from warpsmith.source.extract.model import ExtractRequest
from warpsmith.source.extract.preprocessor import confined
from warpsmith.source.extract.reach import can_stand_in, reach_of

# What `#if`s may ask of the compiler that a kernel is meant for. clang's own answers are withheld (-undef): it is another one.
_HOST = {  # what both have for a host of 64 bits with the GNU library
    "__GLIBC__": "2",
    "__unix__": "1",
    "__LP64__": "1",
    "__CHAR_BIT__": "8",
    "__SIZEOF_POINTER__": "8",
    "__ORDER_LITTLE_ENDIAN__": "1234",
    "__ORDER_BIG_ENDIAN__": "4321",
    "__BYTE_ORDER__": "1234",
    "__LITTLE_ENDIAN": "1234",
    "__BIG_ENDIAN": "4321",
    "__BYTE_ORDER": "1234",
}
PREDEFINED: Mapping[Language, Mapping[str, str]] = {
    Language.CUDA: {
        "__CUDACC__": "1",
        "__NVCC__": "1",
        "__CUDA_ARCH__": "800",
        "__CUDACC_VER_MAJOR__": "13",
        "__CUDACC_VER_MINOR__": "0",
        "CUDA_VERSION": "13000",
        "CUDART_VERSION": "13000",
        "CCCL_VERSION": "3000000",  # what comes with that toolkit
        "CCCL_MAJOR_VERSION": "3",
        "CCCL_MINOR_VERSION": "0",
        "CUB_VERSION": "300000",
        "THRUST_VERSION": "300000",
        "__linux__": "1",
        "__x86_64__": "1",
        "__GNUC__": "13",
        **_HOST,
    },
    Language.HIP: {
        "__HIP__": "1",
        "__HIPCC__": "1",
        "__HIP_PLATFORM_AMD__": "1",
        "__HIP_DEVICE_COMPILE__": "1",
        "__AMDGCN__": "1",
        "__gfx942__": "1",
        "__linux__": "1",
        "__x86_64__": "1",
        "__clang__": "1",
        **_HOST,
    },
}
_MISSING = re.compile(r"fatal error: '([^'\n]+)' file not found")
_ARCHITECTURE = re.compile(r"\b[A-Za-z_]\w*CUDA_ARCH\b")  # a code base's own name for what the compiler calls __CUDA_ARCH__
_COMPUTED = 100  # includes that macros spell, at most
_STAND_IN = "#pragma warpsmith_include "
_MARKER = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"')
_EVALUATED = re.compile(r"[ \t]*#(el)?if ([01]) /\* evaluated by -frewrite-includes \*/")
_REWRITTEN = re.compile(r"[ \t]*#(if|else|endif)\b.*/\* (?:.* )?(?:expanded|disabled) by -frewrite-includes \*/")
_CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b[ \t]*(\w*)")
_DEFINITION = re.compile(r"[ \t]*#[ \t]*(define|undef)[ \t]+(\w+)")


@dataclass(frozen=True, slots=True)
class Origin:
    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class Unit:
    """The text, and where each of its lines comes from. `texts` are the code base's files that were read."""

    text: str
    origins: tuple[Origin, ...]
    texts: Mapping[Path, str]
    starts: tuple[int, ...]  # where each line begins
    found: tuple[Path, ...] = ()  # folders with headers that nobody named
    assumed: Mapping[str, str] = field(default_factory=dict)  # macros that nobody gave

    def origin(self, position: int) -> Origin:
        return self.origins[bisect_right(self.starts, position) - 1]

    def location(self, position: int) -> Location:
        origin = self.origin(position)
        return Location(origin.file, origin.line)


def flatten(request: ExtractRequest, language: Language) -> Unit:
    """Raises InputError when a header is missing or an `#error` is reached."""
    source = request.source.resolve()
    reach = reach_of(source, [folder.resolve() for folder in request.include_dirs])
    absent = set(reach.absent)
    macros = {**PREDEFINED[language], **request.defines}
    assumed: dict[str, str] = {}
    flags = ["-E", "-frewrite-includes", "-undef", "-x", "c++", "-std=c++20", "-ferror-limit", "0"]
    flags += [flag for folder in reach.folders for flag in ("-I", str(folder))]
    with tempfile.TemporaryDirectory(prefix="warpsmith-extract-") as stand_ins:
        for spelling in absent:
            _stand_in(Path(stand_ins), spelling)
        with confined([source.parent, *reach.folders, *reach.texts, Path(stand_ins)]) as preprocess:
            for _ in range(_COMPUTED):
                defined = [f"-D{name}={value}" for name, value in {**macros, **assumed}.items()]
                output, log = preprocess(f'#include "{source}"\n', [*flags, *defined, "-isystem", stand_ins])
                # A name that a macro spells was not seen above.
                computed = {f"<{name}>" for name in _MISSING.findall(log) if can_stand_in(name)} - absent
                asked = _architectures(log, {**macros, **assumed})
                if not computed and not asked:
                    break
                absent |= computed
                assumed |= asked
                for spelling in computed:
                    _stand_in(Path(stand_ins), spelling)
    _refuse_errors(log)
    lines = list(_active([line for line in output.splitlines() if f'"{stand_ins}/' not in line], {*macros, *assumed}))
    starts = accumulate((len(text) + 1 for text, _ in lines[:-1]), initial=0)
    text, origins = "".join(f"{text}\n" for text, _ in lines), tuple(origin for _, origin in lines)
    return Unit(text, origins, reach.texts, tuple(starts), reach.found, assumed)


def _architectures(log: str, macros: Mapping[str, str]) -> dict[str, str]:
    """`#error SGL_CUDA_ARCH is not defined`: macros that stand for the architecture, with its value."""
    named = [_ARCHITECTURE.search(message.text) for message in parse_log(log) if message.is_error]
    value = macros.get("__CUDA_ARCH__")
    return {name[0]: value for name in named if name is not None and value is not None and name[0] not in macros}


def _stand_in(folder: Path, spelling: str) -> None:
    path = folder / spelling[1:-1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{_STAND_IN}{spelling}\n", encoding="utf-8")


def _refuse_errors(log: str) -> None:
    for said in parse_log(log):
        if not said.is_error:
            continue
        location = Location(Path(said.file), said.line, said.column)
        if missing := re.match(r"'(.+)' file not found", said.text):
            hint = "name the folder that holds it with -I"
            raise InputError(f"the header {missing[1]} was not found", location=location, hint=hint)
        hint = "if a macro is missing, define it with -D NAME=VALUE"
        raise InputError(f"the preprocessor stops here: {said.text}", location=location, hint=hint)


def _active(lines: Sequence[str], macros: set[str]) -> Iterator[tuple[str, Origin]]:
    """The lines that count, out of clang's rewriting: its own `#if`s around includes are skipped, the code's are decided."""
    file, number = Path(), 0
    branches: list[_Branch] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if marker := _MARKER.match(line):
            file, number = Path(marker[2].replace("\\\\", "\\").replace('\\"', '"')), int(marker[1])
        elif rewritten := _REWRITTEN.match(line):
            if rewritten[1] == "if":
                position = _past_rewritten(lines, position, opens_include="__CLANG_REWRITTEN" in line)
        elif evaluated := _EVALUATED.match(line):
            _enter(branches, is_another=evaluated[1] is not None, holds=evaluated[2] == "1")
        else:
            if conditional := _CONDITIONAL.match(line):
                _decide(conditional, branches, macros)
            elif all(branch.is_live for branch in branches):
                yield _counted(line, macros), Origin(file, number)
            number += 1


def _counted(line: str, macros: set[str]) -> str:
    """The line as it goes into the unit, after the macros that it defines are noted."""
    if definition := _DEFINITION.match(line):
        (macros.add if definition[1] == "define" else macros.discard)(definition[2])
    return line.replace(_STAND_IN, "#include ", 1) if line.startswith(_STAND_IN) else line


class _Branch:
    def __init__(self, holds: bool) -> None:
        self.is_live = self.is_taken = holds

    def another(self, holds: bool) -> None:
        self.is_live = holds and not self.is_taken
        self.is_taken = self.is_taken or holds


def _enter(branches: list[_Branch], *, is_another: bool, holds: bool) -> None:
    if is_another:
        branches[-1].another(holds)
    else:
        branches.append(_Branch(holds))


def _decide(conditional: re.Match[str], branches: list[_Branch], macros: set[str]) -> None:
    """A conditional that clang left as it was: it asks for a name, or it lies in a branch that does not count."""
    word, name = conditional[1], conditional[2]
    holds = {"ifdef": name in macros, "ifndef": name not in macros}.get(word.removeprefix("el"), word == "else")
    if word == "endif":
        branches.pop()
    else:
        _enter(branches, is_another=not word.startswith("if"), holds=holds)


def _past_rewritten(lines: Sequence[str], position: int, *, opens_include: bool) -> int:
    """Past the directive that clang wrapped: to the opened header after `#else`, or behind the `#endif`."""
    wanted = "else" if opens_include else "endif"
    while position < len(lines):
        rewritten = _REWRITTEN.match(lines[position])
        position += 1
        if rewritten and rewritten[1] == wanted:
            break
    return position
