"""The made-up code base in `acme/`, and small ones written by a test."""

from __future__ import annotations

from pathlib import Path

from warpsmith.source.extract import Extraction, ExtractRequest, extract

ACME = Path(__file__).parent / "acme"


def from_acme(kernel: str, instance: str | None = None, *, source: str = "scale.cu", arch: str = "800", **options) -> Extraction:
    defines = {"ACME_ARCH": arch, **options.pop("defines", {})}
    return extract(ExtractRequest(ACME / "src" / source, kernel, instance, (ACME / "include",), defines, **options))


def from_text(folder: Path, text: str, kernel: str = "k", instance: str | None = None, **files: str) -> Extraction:
    """`files` are headers by name; `__` stands for a dot in it."""
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    source = folder / "source.cu"
    source.write_text(text)
    return extract(ExtractRequest(source, kernel, instance, (folder,)))
