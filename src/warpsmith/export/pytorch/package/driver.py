"""The CUDA driver: loads machine code and launches it. A few calls of `libcuda`; nothing to install."""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Sequence
from typing import Any

_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_MAX_DYNAMIC_SHARED_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_WITHOUT_ASKING_BYTES = 48 * 1024


class DriverError(RuntimeError):
    """A call of the driver failed; the message has the driver's own name for it."""


class Function:
    """A kernel on a device, in the context that PyTorch has there."""

    def __init__(self, code: bytes, entry: str, index: int) -> None:
        device, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        _call("cuDeviceGet", ctypes.byref(device), index)
        self._device = device.value
        self._enter()
        _call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(code))
        _call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        self._function = function
        self._shared_bytes = _WITHOUT_ASKING_BYTES
        self._asking = threading.Lock()
        self._launch = _library().cuLaunchKernel

    def launch(self, grid: Sequence[int], block: Sequence[int], shared_bytes: int, stream: int, values: Sequence[Any]) -> None:
        """`values` are ctypes objects, one for each parameter of the kernel."""
        self._enter()
        if shared_bytes > self._shared_bytes:
            with self._asking:  # or another thread may ask for less in between
                if shared_bytes > self._shared_bytes:
                    _call("cuFuncSetAttribute", self._function, _MAX_DYNAMIC_SHARED_BYTES, shared_bytes)
                    self._shared_bytes = shared_bytes
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        _check("cuLaunchKernel", self._launch(self._function, *grid, *block, shared_bytes, stream, pointers, None))

    def _enter(self) -> None:
        """A thread that has not used the device yet has no context, and PyTorch changes devices without changing the context."""
        current, context = ctypes.c_int(), ctypes.c_void_p()
        status = _library().cuCtxGetDevice(ctypes.byref(current))
        if status != 0 or current.value != self._device:
            _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
            _call("cuCtxSetCurrent", context)


def _call(name: str, *arguments: Any) -> None:
    _check(name, getattr(_library(), name)(*arguments))


def _check(name: str, status: int) -> None:
    if status != 0:
        word = ctypes.c_char_p()
        _library().cuGetErrorName(status, ctypes.byref(word))
        raise DriverError(f"{name}: {(word.value or b'unknown error').decode()} ({status})")


@functools.cache
def _library() -> Any:
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise DriverError(f"there is no NVIDIA driver: {error}") from error
    # The numbers of a launch are unsigned ints: told here, so that none of them can be taken for something else.
    count, handle = ctypes.c_uint, ctypes.c_void_p
    library.cuLaunchKernel.argtypes = [handle, *[count] * 7, handle, ctypes.POINTER(handle), ctypes.POINTER(handle)]
    return library
