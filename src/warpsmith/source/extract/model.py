"""The nouns of extraction: what is asked for, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from warpsmith.core.hardware import Language


@dataclass(frozen=True, slots=True)
class ExtractRequest:
    """`instance` is the kernel with its template arguments (`k<float, 4>`); `defines` are macros as given with -D.

    `unpack` makes plain parameters of the structures that the kernel takes by value; `line` is one of the kernel's, where several
    of its name differ in their parameters only.
    """

    source: Path
    kernel: str
    instance: str | None = None
    include_dirs: tuple[Path, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    unpack: bool = False
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """A standalone kernel. `entry` is the instance with every name qualified, as kernel.toml and NVRTC want it."""

    name: str
    entry: str
    language: Language
    source_text: str
    kernel_toml: str
    files: Mapping[Path, int]  # lines taken from each file of the code base
    includes: tuple[str, ...]  # headers that the result still includes
    unknown: tuple[str, ...]  # namespaces that the code opens and nothing in sight declares; it may or may not need them
    folders: tuple[Path, ...] = ()  # with headers of the code base that nobody named
    assumed: Mapping[str, str] = field(default_factory=dict)  # macros that the code asks for and nobody gave
    had_nothing_to_unpack: bool = False  # though it was asked for

    @property
    def source_name(self) -> str:
        return f"{self.name}{'.hip' if self.language is Language.HIP else '.cu'}"

    def write(self, folder: Path) -> tuple[Path, Path]:
        """The source and its kernel.toml, in a folder that is made if it is not there."""
        folder.mkdir(parents=True, exist_ok=True)
        source, spec = folder / self.source_name, folder / "kernel.toml"
        source.write_text(self.source_text, encoding="utf-8")
        spec.write_text(self.kernel_toml, encoding="utf-8")
        return source, spec
