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
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from warpsmith.core.errors import InputError, Location
from warpsmith.core.hardware import Language
from warpsmith.devices._clang.preprocess import parse_log
from warpsmith.isolation.folders import is_source_beside, lies_in
from warpsmith.source.extract.model import ExtractRequest
from warpsmith.source.extract.preprocessor import confined

# What `#if`s may ask of the compiler that a kernel is meant for. clang's own answers are withheld (-undef): it is another one.
PREDEFINED: Mapping[Language, Mapping[str, str]] = {
    Language.CUDA: {
        "__CUDACC__": "1",
        "__NVCC__": "1",
        "__CUDA_ARCH__": "800",
        "__CUDACC_VER_MAJOR__": "13",
        "__CUDACC_VER_MINOR__": "0",
        "CUDA_VERSION": "13000",
        "CUDART_VERSION": "13000",
        "__linux__": "1",
        "__x86_64__": "1",
        "__GNUC__": "13",
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
    },
}
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
_MISSING = re.compile(r"fatal error: '([^'\n]+)' file not found")
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

    def origin(self, position: int) -> Origin:
        return self.origins[bisect_right(self.starts, position) - 1]

    def location(self, position: int) -> Location:
        origin = self.origin(position)
        return Location(origin.file, origin.line)


def flatten(request: ExtractRequest, language: Language) -> Unit:
    """Raises InputError when a header is missing or an `#error` is reached."""
    source = request.source.resolve()
    folders = [folder.resolve() for folder in request.include_dirs]
    texts, absent = _reachable(source, folders)
    macros = {**PREDEFINED[language], **request.defines}
    flags = ["-E", "-frewrite-includes", "-undef", "-x", "c++", "-std=c++20", "-ferror-limit", "0"]
    flags += [flag for folder in folders for flag in ("-I", str(folder))]
    flags += [f"-D{name}={value}" for name, value in macros.items()]
    with tempfile.TemporaryDirectory(prefix="warpsmith-extract-") as stand_ins:
        for spelling in absent:
            _stand_in(Path(stand_ins), spelling)
        with confined([source.parent, *folders, *texts, Path(stand_ins)]) as preprocess:
            for _ in range(_COMPUTED):
                output, log = preprocess(f'#include "{source}"\n', [*flags, "-isystem", stand_ins])
                # A name that a macro spells was not seen above.
                computed = {f"<{name}>" for name in _MISSING.findall(log) if _can_stand_in(name)} - absent
                if not computed:
                    break
                absent |= computed
                for spelling in computed:
                    _stand_in(Path(stand_ins), spelling)
    _refuse_errors(log)
    lines = list(_active([line for line in output.splitlines() if f'"{stand_ins}/' not in line], set(macros)))
    starts = accumulate((len(text) + 1 for text, _ in lines[:-1]), initial=0)
    return Unit("".join(f"{text}\n" for text, _ in lines), tuple(origin for _, origin in lines), texts, tuple(starts))


def _stand_in(folder: Path, spelling: str) -> None:
    path = folder / spelling[1:-1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{_STAND_IN}{spelling}\n", encoding="utf-8")


def _can_stand_in(name: str) -> bool:
    return ".." not in Path(name).parts and not Path(name).is_absolute()


def _reachable(source: Path, folders: Sequence[Path]) -> tuple[dict[Path, str], set[str]]:
    """The code base's files that the source may include, and the headers that are elsewhere, as spelled."""
    texts: dict[Path, str] = {}
    absent: set[str] = set()
    waiting = [source]
    while waiting:
        file = waiting.pop()
        if file in texts:
            continue
        texts[file] = file.read_text(encoding="utf-8", errors="replace")
        for quote, name in _INCLUDE.findall(texts[file]):
            places = [file.parent, *folders] if quote == '"' else folders
            found = next((place / name for place in places if (place / name).is_file()), None)
            if found is not None and (is_source_beside(found, source.parent) or lies_in(found, [source.parent, *folders])):
                waiting.append(found.resolve())
            elif _can_stand_in(name):
                absent.add(f"<{name}>" if quote == "<" else f'"{name}"')
    return texts, absent


def _refuse_errors(log: str) -> None:
    for said in parse_log(log):
        if not said.is_error:
            continue
        location = Location(Path(said.file), said.line, said.column)
        if missing := re.match(r"'(.+)' file not found", said.text):
            hint = "name the folder that holds it with -I"
            raise InputError(f"the header {missing[1]} is not found", location=location, hint=hint)
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
            _enter(branches, evaluated[1] is not None, evaluated[2] == "1")
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


def _enter(branches: list[_Branch], is_another: bool, holds: bool) -> None:
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
        _enter(branches, not word.startswith("if"), holds)


def _past_rewritten(lines: Sequence[str], position: int, *, opens_include: bool) -> int:
    """Past the directive that clang wrapped: to the opened header after `#else`, or behind the `#endif`."""
    wanted = "else" if opens_include else "endif"
    while position < len(lines):
        rewritten = _REWRITTEN.match(lines[position])
        position += 1
        if rewritten and rewritten[1] == wanted:
            break
    return position
