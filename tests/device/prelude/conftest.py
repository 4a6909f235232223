"""Runs one small kernel on the CPU device, on NumPy arrays: `run(source, array, …)` changes the arrays in place."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from warpsmith.core.configuration import Value
from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import CompileRequest, ParameterType
from warpsmith.devices.cpu import CpuDevice

_DTYPES = {dtype.numpy: dtype for dtype in DType}


class Runner:
    """Compiles and launches; the kernel is called `k`, and takes the arguments in order."""

    def __init__(self) -> None:
        self.device = CpuDevice()
        self.session = self.device.open()

    def __call__(
        self,
        source: str,
        *arguments: np.ndarray | np.generic,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (32, 1, 1),
        shared_bytes: int = 0,
        language: Language = Language.CUDA,
        defines: Mapping[str, Value] | None = None,
        entry: str = "k",
    ) -> None:
        geometry = Geometry(grid, block, shared_bytes)
        types = tuple(
            ParameterType(f"a{index}", _DTYPES[argument.dtype], isinstance(argument, np.ndarray))
            for index, argument in enumerate(arguments)
        )
        request = CompileRequest(source, Path("prelude_test.cu"), language, entry, types, geometry, defines or {})
        program = self.session.load(self.device.compile(request))
        buffers = [_page_aligned(a) if isinstance(a, np.ndarray) else a.tobytes() for a in arguments]
        program.launch(tuple(memoryview(b) if isinstance(b, mmap.mmap) else b for b in buffers), geometry)
        for argument, buffer in zip(arguments, buffers, strict=True):
            if isinstance(argument, np.ndarray):
                argument[...] = np.frombuffer(buffer, argument.dtype, argument.size).reshape(argument.shape)


def _page_aligned(array: np.ndarray) -> mmap.mmap:
    memory = mmap.mmap(-1, max(array.nbytes, 1))
    memory[: array.nbytes] = np.ascontiguousarray(array).tobytes()
    return memory


@pytest.fixture(scope="session")
def run() -> Runner:
    return Runner()
