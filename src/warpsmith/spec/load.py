"""`load_kernel`: a kernel.toml, a folder with one, or a bundled example's name → Kernel, checked as far as needs no device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warpsmith.core.errors import InputError, Location
from warpsmith.core.file_names import as_argument, is_file, is_folder, require_recordable
from warpsmith.spec.build import KernelBuilder
from warpsmith.spec.bundled import FILE_NAME, bundled_names, bundled_path
from warpsmith.spec.checks import check_kernel
from warpsmith.spec.document import Document, read_document
from warpsmith.spec.problems import Problems, nearest
from warpsmith.spec.schema import read_schema

if TYPE_CHECKING:
    from warpsmith.spec.kernel import Kernel


def load_kernel(path_or_name: str | Path) -> Kernel:
    """Raises InputError with location, found and expected values, and a hint; several problems in one message."""
    file = find_kernel_file(path_or_name)
    require_recordable(file)
    return kernel_of(read_document(file))


def kernel_of(document: Document) -> Kernel:
    """Raises InputError as `load_kernel` does."""
    problems = Problems(document.file)
    shaped = read_schema(document, problems)
    problems.raise_if_any()
    assert shaped is not None
    kernel = KernelBuilder(document, problems).kernel(shaped)
    check_kernel(kernel, document, problems)
    problems.raise_if_any()
    return kernel


def find_kernel_file(path_or_name: str | Path) -> Path:
    path = Path(path_or_name).expanduser()
    if is_file(path / FILE_NAME):
        return path / FILE_NAME
    if is_file(path):
        if path.suffix.lower() in {".cu", ".cuh", ".hip", ".cl", ".cpp", ".py"}:
            hint = f"`warpsmith init {as_argument(path)}` writes a {FILE_NAME} for it"
            raise InputError("this is a source file; a kernel is described by a kernel.toml", location=Location(path), hint=hint)
        return path
    bundled = bundled_path(str(path_or_name))
    if bundled is not None:
        return bundled
    if is_folder(path):
        raise InputError(
            f"the folder has no {FILE_NAME}", location=Location(path), hint="`warpsmith init FILE` writes one from a source file"
        )
    near = nearest(str(path_or_name), bundled_names())
    raise InputError(f"{str(path_or_name)!r} is neither a file, a folder nor a bundled kernel", hint=near)
