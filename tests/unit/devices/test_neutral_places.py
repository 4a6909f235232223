"""Identity is of code, not of where it lies: host code that names its file and lines does not make a template another kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import CompileRequest
from warpsmith.devices.registry import load_device

CUDA = """
#define CHECK(x) if (!(x)) printf("%s:%d\\n", __FILE__, __LINE__)
__global__ void k(float* p) { p[0] = 1; }
void host() { CHECK(1); }
"""
OPENCL = """
#define HERE(f, n) n
kernel void k(global float* p) { p[0] = HERE(__FILE__, __LINE__); }
"""


@pytest.mark.parametrize(
    ("device", "language", "source"),
    [
        ("cpu", Language.CUDA, CUDA),
        ("cpu", Language.OPENCL, OPENCL),
        ("cuda:sm_80", Language.CUDA, CUDA),
        ("hip:gfx942", Language.HIP, CUDA),
    ],
)
def test_neither_file_nor_line_counts(device: str, language: Language, source: str) -> None:
    def tokens(file: str, text: str) -> list[str]:
        one = Geometry((1, 1, 1), (1, 1, 1))
        return load_device(device).preprocess(CompileRequest(text, Path("/nowhere") / file, language, "k", (), one))

    assert tokens("k.cu", source) == tokens("k.template.cu", "#define WIDTH 4\n\n" + source)
