"""Asks what speaks against a text beside a kernel, and whether the original may have the same."""

from __future__ import annotations

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.devices.base import Original
from warpsmith.refactor.allowed import require_allowed

KERNEL = "__global__ void k(float* y, int n) {\n  if (threadIdx.x < n) y[threadIdx.x] = 1.0f;\n}\n"
OPENCL_KERNEL = "kernel void k(global float* y) { y[get_global_id(0)] = 1.0f; }\n"


def problem(source: str, original: str = KERNEL, language: Language = Language.CUDA, **given) -> str | None:
    try:
        require_allowed(source, Original(original), language, **given)
    except InputError as error:
        return error.message
    return None


def added(text: str, language: Language = Language.CUDA) -> str | None:
    """What speaks against the text in front of a kernel. Where the original has it, nothing does."""
    kernel = OPENCL_KERNEL if language is Language.OPENCL else KERNEL
    assert problem(text + kernel.replace("1.0f", "2.0f"), text + kernel, language) is None
    return problem(text + kernel, kernel, language)
