"""Kernels found in a package, each made standalone with a kernel.toml that nobody filled in: as `warpsmith extract` and
`warpsmith init` write it, with their guesses for shapes and sizes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core.errors import InputError, WarpsmithError
from warpsmith.core.hardware import Language
from warpsmith.source.extract import Extraction, ExtractRequest, extract
from warpsmith.spec.declarations import Declarations, KernelDeclaration, find_kernels
from warpsmith.spec.document import read_source
from warpsmith.spec.host.facts import host_facts
from warpsmith.spec.skeleton import instance_of, language_of, problem_of, skeleton

_SUFFIXES = frozenset({".cu", ".cuh", ".hip", ".cl"})
_LEFT_OUT = re.compile(r"(?:^|/)(?:tests?|cutlass|cub|thrust|rocm|hip|composable_kernel\w*)(?:/|$)", re.IGNORECASE)
_ARCHITECTURE = "800"  # decides `#if`s, as in `benchmarks.extraction`
_LARGEST = 400_000  # bytes of a file


@dataclass(frozen=True, slots=True)
class Found:
    """A kernel of a package, by name: those of one name in several files are one, the first."""

    package: str
    file: Path
    kernel: KernelDeclaration

    @property
    def name(self) -> str:
        return f"{self.package}:{self.kernel.plain_name}"

    @property
    def is_held_out(self) -> bool:
        """A third of all, for good: their names and refusals are never shown."""
        return rank(self.name) % 3 == 0


def rank(name: str) -> int:
    """An order that has nothing to do with what is in a kernel."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def kernels_of(package: str, folder: Path) -> list[Found]:
    """All that can be read, in the order of their rank."""
    found: dict[str, Found] = {}
    for file in sorted(folder.rglob("*")):
        if file.suffix not in _SUFFIXES or _LEFT_OUT.search(file.relative_to(folder).parent.as_posix()):
            continue
        for kernel in _declared(file):
            each = Found(package, file, kernel)
            found.setdefault(each.name, each)
    return sorted(found.values(), key=lambda each: rank(each.name))


def _declared(file: Path) -> Iterator[KernelDeclaration]:
    if not file.is_file() or file.stat().st_size > _LARGEST:
        return
    try:
        text = read_source(file)
    except InputError:
        return
    if "__global__" in text or "__kernel" in text or "kernel void" in text:
        declarations = Declarations(text, language_of(file, text))
        yield from (kernel for kernel in find_kernels(declarations) if kernel.body_text)


def placed(found: Found, folder: Path, package: Path) -> Path | str:
    """A folder with the kernel and its kernel.toml; or why there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if found.file.suffix == ".cl":
            source = folder / found.file.name
            source.write_text(read_source(found.file), encoding="utf-8")
            texts = [skeleton(source, found.kernel.name)]
        else:
            taken = _extracted(found, package)
            source, _ = taken.write(folder)
            texts = [*_as_launched(found, taken), taken.kernel_toml]
    except WarpsmithError as error:
        return f"not extracted: {error.message.splitlines()[0]}"
    problems = [problem_of(text, source) for text in texts]
    for text, problem in zip(texts, problems, strict=True):
        if problem is None:
            (folder / "kernel.toml").write_text(_enlarged(text), encoding="utf-8")
            return folder
    return f"kernel.toml: {problems[-1]}".splitlines()[0]


def _extracted(found: Found, package: Path) -> Extraction:
    """With whatever `include` folders the package has beside and above the file."""
    arguments = _instance(found)
    name = found.kernel.plain_name
    parents = [above for above in found.file.parents if above.is_relative_to(package)]
    folders = [found.file.parent, *(above / "include" for above in parents)]
    folders += [third for above in parents for third in (above / "third_party").glob("*")]
    return extract(
        ExtractRequest(
            source=found.file,
            kernel=name,
            instance=f"{name}<{arguments}>" if arguments else None,
            include_dirs=tuple(each for each in folders if each.is_dir()),
            defines={"__CUDA_ARCH__": _ARCHITECTURE},
            unpack=True,
            line=found.kernel.line,
        )
    )


def _instance(found: Found) -> str:
    text = read_source(found.file)
    facts = host_facts(Declarations(text, Language.CUDA), found.kernel) if found.kernel.is_plain else None
    return ", ".join(instance_of(parameter, found.kernel, facts) for parameter in found.kernel.template)


def _as_launched(found: Found, taken: Extraction) -> Iterator[str]:
    """The kernel.toml of the file itself, whose host code has the launch that the extract leaves behind."""
    try:
        text = skeleton(found.file, found.kernel.name)
    except InputError:
        return
    text = re.sub(r"^source = .*$", lambda _: f'source = "{taken.source_name}"', text, count=1, flags=re.MULTILINE)
    yield re.sub(r"^entry  = .*$", lambda _: f'entry  = "{taken.entry}"', text, count=1, flags=re.MULTILINE)


def _enlarged(text: str) -> str:
    """With about a million elements where the skeleton guessed 1024 for one or two sizes, which leave a GPU without work."""
    guessed = re.search(r"^typical *= *\{(.*)\}.*\n(?:odd .*\n)?", text, re.MULTILINE)
    large = {1: ("1048576", "1000003"), 2: ("4096", "1001")}.get(guessed[1].count("=") if guessed else 0)
    if guessed is None or large is None:
        return text
    lines = re.sub(r"\b1000\b", large[1], re.sub(r"\b1024\b", large[0], guessed[0]))
    return text.replace(guessed[0], lines)
