"""The CPU device shows its machine code, where the system has a disassembler."""

import shutil

import numpy as np
import pytest
from cpu_support import device, request

from warpsmith.analysis.hot_loop import hot_loops_text
from warpsmith.core.errors import UnavailableError
from warpsmith.devices.cpu import disassembly

SOURCE = """
__global__ void k(float* out, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int s = 0; s < n; ++s) sum = sum * 0.5f + x[s * 64 + i];
  out[i] = sum;
}
"""
ARGUMENTS = [np.zeros(64, np.float32), np.zeros(640, np.float32), np.int32(10)]


def test_the_hot_loop_is_found_in_what_was_compiled(monkeypatch: pytest.MonkeyPatch):
    code = device().compile(request(SOURCE, ARGUMENTS)).code
    if any(shutil.which(tool) for tool in ("objdump", "llvm-objdump")):
        told = hot_loops_text(disassembly.instructions(code))
        assert told.startswith("loop 1: ")
        assert "fmadd" in told or "mul" in told
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnavailableError, match="no disassembler"):
        disassembly.instructions(code)
    with pytest.raises(ValueError, match="ELF"):
        disassembly.instructions(b"none")
