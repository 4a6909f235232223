"""Compiles and launches one kernel on a device of this process, on NumPy arrays."""

from __future__ import annotations

import mmap
import multiprocessing
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np

from warpsmith.core.configuration import Value
from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Dim3, Geometry, Language
from warpsmith.devices.base import Binary, ChecksFailed, CompileRequest, Device, ParameterType, Session
from warpsmith.devices.registry import load_device

_DTYPES = {dtype.numpy: dtype for dtype in DType}


@cache
def device(name: str = "cpu") -> Device:
    return load_device(name)


@cache
def session(name: str = "cpu") -> Session:
    return device(name).open()


def dim3(size: int | tuple[int, ...]) -> Dim3:
    x, y, z, *_ = (*(size if isinstance(size, tuple) else (size,)), 1, 1)
    return x, y, z


def page_aligned(array: np.ndarray) -> memoryview:
    memory = mmap.mmap(-1, max(array.nbytes, 1))
    memory[: array.nbytes] = array.tobytes()
    return memoryview(memory)[: array.nbytes]


def request(
    source: str,
    arguments: list,
    *,
    grid: int | tuple[int, ...] = 1,
    block: int | tuple[int, ...] = 64,
    shared_bytes: int = 0,
    entry: str = "k",
    language: Language = Language.CUDA,
    defines: Mapping[str, Value] | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
    folder: Path = Path("kernels"),
    plain: bool = False,
) -> CompileRequest:
    def parameter(name: str, value: np.ndarray | np.generic | None) -> ParameterType:
        if value is None:
            return ParameterType(name, DType.F32, is_pointer=True, is_null=True)
        return ParameterType(name, _DTYPES[value.dtype], is_pointer=isinstance(value, np.ndarray))

    return CompileRequest(
        source=source,
        source_file=folder / ("kernel.cl" if language is Language.OPENCL else "kernel.cu"),
        language=language,
        entry=entry,
        parameters=tuple(parameter(f"a{index}", value) for index, value in enumerate(arguments)),
        geometry=Geometry(dim3(grid), dim3(block), shared_bytes),
        defines=defines or {},
        constants=tuple(parameter(name, value) for name, value in (constants or {}).items()),
        plain=plain,
    )


def compile_kernel(source: str, arguments: list, *, on: str = "cpu", **launch) -> Binary:
    return device(on).compile(request(source, arguments, **launch))


def launch(source: str, arguments: list, *, on: str = "cpu", **options) -> np.ndarray:
    """The first argument after one launch."""
    asked = request(source, arguments, **options)
    program = session(on).load(device(on).compile(asked))
    program.set_constants({name: value.tobytes() for name, value in options.get("constants", {}).items()})
    passed = tuple(page_aligned(a) if isinstance(a, np.ndarray) else None if a is None else a.tobytes() for a in arguments)
    program.launch(passed, asked.geometry)
    return np.frombuffer(passed[0], arguments[0].dtype).reshape(arguments[0].shape).copy()


@cache
def _process_of_one_unit() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def found_by_checkers(asked: CompileRequest, arguments: list) -> dict[str, str]:
    """What is said, by checker, of one launch.

    Checkers count on blocks that run one after another. A process decides how many cores the runtime has when it loads it, and other
    tests have loaded it here: the launch is made in a process of its own.
    """
    return _process_of_one_unit().submit(_found_by_checkers, asked, arguments).result()


@cache
def _session_of_one_unit() -> Session:
    return device().open(compute_units=1)


def _found_by_checkers(asked: CompileRequest, arguments: list) -> dict[str, str]:
    program = _session_of_one_unit().load(device().compile(asked))
    try:
        program.launch(tuple(page_aligned(a) for a in arguments), asked.geometry)
    except ChecksFailed as failed:
        return ChecksFailed.read(str(failed)) or {}
    return {}
