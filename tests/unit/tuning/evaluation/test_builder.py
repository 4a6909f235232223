"""The original is read like the template: in whatever encoding its comments are."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.compile.binding import Binder
from warpsmith.core.hardware import Limits
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.tuning.evaluation.builder import Builder

KERNEL = """
[kernel]
name = "k"
source = "k.cu"
entry = "k"
[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
[launch]
grid = [1]
block = [32]
[workloads]
w = { n = 32 }
"""


@pytest.mark.parametrize("prefix", [b"// gr\xf6\xdfe\n", b"\xef\xbb\xbf// BOM\r\n"], ids=["Latin-1", "BOM and CRLF"])
def test_an_original_in_another_encoding_is_compiled(prefix: bytes, tmp_path: Path):
    (tmp_path / "k.cu").write_bytes(prefix + b"__global__ void k(float* out) { out[threadIdx.x] = 1.0f; }\n")
    (tmp_path / "kernel.toml").write_text(KERNEL)
    kernel = load_kernel(tmp_path)
    template = template_of(kernel)
    builder = Builder(Binder(kernel, Limits(1024, 1024, 1024, 64, 49152, 32, 2)), template, pool=None)
    assert builder.requests.original(kernel.workloads[0]).source == template.source
