"""The identity certificate: each level reached by a template that deserves it, and none by one that does not."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import CompileRequest, ParameterType
from warpsmith.devices.hip import HipDevice
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.spec.load import load_kernel
from warpsmith.template import Certificate, template_of
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.templates.certify import certify
from warpsmith.verify.prepared import PreparedWorkload

ORIGINAL = """
__global__ void twice(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2.0f * in[i];
}
"""

KERNEL = """
[kernel]
name = "twice"
source = "twice.cu"
entry = "twice"
[template]
source = "twice.template.cu"
[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
in = { dtype = "f32", shape = ["n"] }
n = { dtype = "i32", value = "n" }
[launch]
grid = ["ceildiv(n, 128 * ITEMS)"]
block = [128]
[workloads]
small = { n = 5000 }
[parameters]
ITEMS = { values = [1, 2], default = 1 }
"""

TYPES = (
    ParameterType("out", DType.F32, is_pointer=True),
    ParameterType("in", DType.F32, is_pointer=True),
    ParameterType("n", DType.I32, is_pointer=False),
)

HEADER = "#ifndef ITEMS\n#define ITEMS 1\n#endif\n"
GUARDED = (
    HEADER
    + """
__global__ void twice(float* out, const float* in, int n) {
#if ITEMS == 1
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2.0f * in[i];
#else
  for (int k = 0; k < ITEMS; ++k) {
    const int i = (blockIdx.x * ITEMS + k) * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * in[i];
  }
#endif
}
"""
)
RENAMED = (
    HEADER
    + ORIGINAL.replace("int i ", "int place ").replace("(i <", "(place <").replace("[i]", "[place]")
    + "static_assert(ITEMS);\n"
)
SUMMED = HEADER + ORIGINAL.replace("2.0f * in[i]", "in[i] + in[i]") + "static_assert(ITEMS);\n"
ANOTHER = HEADER + ORIGINAL.replace("2.0f", "2.5f") + "static_assert(ITEMS);\n"


def _certify(folder: Path, template: str, pool: CompilePool) -> Certificate:
    (folder / "twice.cu").write_text(ORIGINAL)
    (folder / "twice.template.cu").write_text(template)
    (folder / "kernel.toml").write_text(KERNEL)
    kernel = load_kernel(folder)
    builder = Builder(Binder(kernel, pool.describe().limits), template_of(kernel), pool)
    with contextlib.ExitStack() as stack:
        workload = kernel.workloads[0]
        geometry = builder.binder.geometry(kernel.default_configuration, workload)
        prepared = stack.enter_context(PreparedWorkload.prepare(kernel, workload, 0, geometry))
        bench = stack.enter_context(Bench("cpu", [prepared]))
        original = builder.build(kernel.default_configuration, kernel.workloads)
        assert isinstance(original, Candidate)
        return certify(builder, pool, bench, original, {workload.name: prepared}, np.random.default_rng(0))


@pytest.mark.parametrize(("template", "level"), [(GUARDED, "tokens"), (RENAMED, "ir"), (SUMMED, "outputs")])
def test_the_strongest_proof_that_holds(template: str, level: str, workshop: Path, pool: CompilePool):
    assert _certify(workshop, template, pool).level == level


def test_another_kernel_gets_none(workshop: Path, pool: CompilePool):
    with pytest.raises(InputError, match=r"outputs differ.*`2\.0f`, the template `2\.5f`"):
        _certify(workshop, ANOTHER, pool)


@pytest.mark.parametrize(("device", "name"), [("cuda:sm_90", "SASS"), ("hip:gfx942", "code object")])
def test_the_same_machine_code_under_another_name(device: str, name: str, tmp_path: Path):
    """Nothing has to run: a GPU's binary differs by the name of its kernel, and what runs does not."""
    (tmp_path / "twice.cu").write_text(ORIGINAL)
    (tmp_path / "twice.template.cu").write_text(RENAMED.replace("twice(", "twice_by_template("))
    named = KERNEL.replace('source = "twice.template.cu"', 'source = "twice.template.cu"\nentry = "twice_by_template"')
    (tmp_path / "kernel.toml").write_text(named)
    kernel = load_kernel(tmp_path)
    with CompilePool(device, cache_dir=None) as pool, Bench("cpu", []) as unused:
        builder = Builder(Binder(kernel, pool.describe().limits), template_of(kernel), pool)
        original = builder.build(kernel.default_configuration, kernel.workloads)
        assert isinstance(original, Candidate)
        found = certify(builder, pool, unused, original, {}, np.random.default_rng(0))
    assert found == Certificate("machine code", f"same {name}")


def test_other_machine_code(tmp_path: Path):
    request = CompileRequest(ORIGINAL, tmp_path / "twice.cu", Language.CUDA, "twice", TYPES, Geometry((40, 1, 1), (128, 1, 1)))
    device = HipDevice("gfx942")
    codes = [device.machine_code(device.compile(replace(request, source=text))) for text in (ORIGINAL, ORIGINAL, ANOTHER)]
    assert codes[0] == codes[1] != codes[2]
