"""Reads `kernels.toml`: code bases (what pip downloads, where their sources lie) and kernels with the instances to extract."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warpsmith.source.extract import ExtractRequest

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class CodeBase:
    """`root` is the package's folder under which all sources lie; `{arch}` in `defines` is the target's architecture (800)."""

    name: str
    requirement: str
    root: str
    sources: str
    include_dirs: tuple[str, ...]
    defines: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel to extract. `unpack` says that it takes a structure, which has to be unpacked before it can run."""

    name: str
    code_base: CodeBase
    source: str
    kernel: str
    instance: str | None
    unpack: bool

    @property
    def folder(self) -> Path | None:
        """With a kernel.toml and a reference, when the kernel is to run."""
        folder = HERE / self.name
        return folder if (folder / "kernel.toml").is_file() else None

    def defines(self, arch: int) -> dict[str, str]:
        return {name: value.format(arch=arch) for name, value in self.code_base.defines.items()}

    def request(self, package: Path, arch: int, *, unpack: bool = False) -> ExtractRequest:
        root = package / self.code_base.root
        return ExtractRequest(
            source=root / self.code_base.sources / self.source,
            kernel=self.kernel,
            instance=self.instance,
            include_dirs=tuple(root / folder for folder in self.code_base.include_dirs),
            defines={**self.defines(arch), "__CUDA_ARCH__": str(arch)},
            unpack=unpack,
        )


def catalogue() -> tuple[list[Entry], tuple[str, ...]]:
    """The kernels, and the targets to compile them for."""
    data = tomllib.loads((HERE / "kernels.toml").read_text(encoding="utf-8"))
    bases = {
        name: CodeBase(
            name, base["requirement"], base["root"], base["sources"], tuple(base["include_dirs"]), base.get("defines", {})
        )
        for name, base in data["code_bases"].items()
    }
    entries = [
        Entry(
            name=name,
            code_base=bases[kernel["code_base"]],
            source=kernel["source"],
            kernel=kernel["kernel"],
            instance=f"{kernel['kernel']}{kernel['arguments']}" if "arguments" in kernel else None,
            unpack=kernel.get("unpack", False),
        )
        for name, kernel in data["kernels"].items()
    ]
    return entries, tuple(data["targets"])
