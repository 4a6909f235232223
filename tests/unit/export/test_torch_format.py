"""A package for PyTorch: what it says of its arguments, and what it asks the driver to launch.

Neither PyTorch nor a GPU can be had here: both have stand-ins in `torch_stand_in`, the driver's behind its real C interface.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.devices.cuda.cubin import read_cubin
from warpsmith.export.base import Shipment
from warpsmith.export.parts import parts_of
from warpsmith.export.pytorch import PyTorchExporter
from warpsmith.export.pytorch.sizes import derived_sizes
from warpsmith.export.pytorch.verified import vouched
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.spec.load import load_kernel
from warpsmith.testing.exporters import shipment_of_kernel

STAND_IN = Path(__file__).parent / "torch_stand_in"
KERNEL = """\
[kernel]
name = "gate"
source = "gate.cu"
entry = "gate"

[arguments]
out = { dtype = "f32", shape = ["tokens", "d"], role = "out" }
in = { dtype = "f32", shape = ["tokens", "2 * d"] }
total = { dtype = "f32", shape = ["d"], role = "inout", init = "zeros" }
mask = { dtype = "u8", shape = ["tokens"], null = true }
d = { dtype = "i32", value = "d" }
scale = { dtype = "f32", value = 0.5 }
mode = { dtype = "i32", value = 3 }
lanes = { dtype = "i32", value = "BLOCK" }

[launch]
grid = ["ceildiv(tokens * d, BLOCK)"]
block = ["BLOCK"]
shared = "512 * BLOCK"

[workloads]
small = { tokens = 8, d = 64 }
general = { tokens = 32, d = 96 }
odd = { tokens = 3, d = 20, heldout = true }

[parameters]
BLOCK = { values = [32, 64, 128], default = 32 }

[[constraints]]
expr = "d % 4 == 0 and BLOCK <= 128"
reason = "no tail"

[replaces]
function = "acme.ops.gate"
arguments = { in = "x", scale = "factor" }
where = { kind = "silu" }
"""
SOURCE = """\
#ifndef BLOCK
#define BLOCK 32
#endif
__global__ void gate(float* out, const float* in, float* total, const unsigned char* mask, int d, float scale, int mode,
                     int lanes) {
  extern __shared__ float kept[];
  int i = blockIdx.x * BLOCK + threadIdx.x;
  kept[threadIdx.x] = in[i / d * 2 * d + i % d] * scale;
  if (mask == nullptr && mode == 3) out[i] = kept[threadIdx.x];
  total[i % d] = lanes;
}
"""
CALLS = """\
import json, sys, threading, types
import torch
from torch import Tensor

log = {}
acme, ops = types.ModuleType("acme"), types.ModuleType("acme.ops")
def gate(x, total, factor=1.0, out=None, *, kind, expert_ids=None):
    return "the original"
acme.ops, ops.gate, sys.modules["acme"], sys.modules["acme.ops"] = ops, gate, acme, ops
client = types.ModuleType("client")
client.gate, sys.modules["client"] = gate, client

import gate_tuned
def inputs(tokens, d, **about):
    return Tensor((tokens, 2 * d), **about), Tensor((d,))

x, total = inputs(8, 64)
log["general"] = [x.data_ptr(), total.data_ptr(), gate_tuned.gate(x, total, scale=0.25).data_ptr()]
x, total = inputs(32, 96)
out = Tensor((32, 96))
log["own"] = [x.data_ptr(), total.data_ptr(), out.data_ptr()]
assert gate_tuned.gate(x, total, out=out) is out
assert total.version == out.version == 1

x, total = Tensor((8, 128), contiguous=False), Tensor((64,), offset=4)
gate_tuned.gate(x, total)
log["copies"] = [x.data_ptr(), total.data_ptr(), total.copied_from.data_ptr(), x.copied_from is None]
x, total = inputs(8, 64)
out = Tensor((8, 64), of=x)
thread = threading.Thread(target=gate_tuned.gate, args=(x, total), kwargs={"out": out})
thread.start()
thread.join()
log["in place"] = [x.data_ptr(), out.data_ptr()]

def why(*args, **kwargs):
    return gate_tuned.why_not(*args, **kwargs)
host = torch.Device("cpu", None)
shared, learnt = Tensor((8, 64)), Tensor((8, 128))
class Foreign(Tensor):
    def __torch_dispatch__(self):
        pass
learnt.requires_grad = True
log["why"] = [
    why(*inputs(8, 64)),
    why(Tensor((8, 128), device=host), Tensor((64,))),
    why(Tensor((8, 128), torch.float16), Tensor((64,))),
    why(Tensor((128,)), Tensor((64,))),
    why(Tensor((8, 128)), Tensor((65,))),
    why(Tensor((8, 129)), Tensor((64,))),
    why(*inputs(8, 66)),
    why(*inputs(8, 64), mode=4),
    why(learnt, Tensor((64,))),
    why(Tensor((8, 128)), None),
    why(Tensor((2, 4, 128)), Tensor((64,))),
    why((Tensor((8, 128)), 1), Tensor((64,))),
    why(Foreign((8, 128)), Tensor((64,))),
    why(*inputs(8, 64), scale=None),
    why(*inputs(8, 64), mode=3.0),
    why(*inputs(8, 192)),
    why(*inputs(0, 64)),
    why(Tensor((8, 128)), Tensor((64,), of=shared), out=shared),
    why(Tensor((8, 128)), Tensor((64,), contiguous=False, strides=(0,))),
]
try:
    gate_tuned.gate(*inputs(8, 66))
except ValueError as error:
    log["refused"] = str(error)

gate_tuned.register()
gate_tuned.register()
tuned = client.gate(*inputs(8, 64), kind="silu", factor=2.0)
log["replaced"] = [
    tuned.shape,
    client.gate(*inputs(8, 66), kind="silu"),
    client.gate(*inputs(8, 64), kind="gelu"),
    client.gate(*inputs(8, 64), kind="silu", expert_ids=[1]),
]
from dataclasses import replace
from gate_tuned.table import REPLACEMENT
log["misfits"] = []
for other in (
    replace(REPLACEMENT, where={}),
    replace(REPLACEMENT, arguments={"in": "y"}),
    replace(REPLACEMENT, arguments={}),
    replace(REPLACEMENT, function="acme.ops.gates"),
    replace(REPLACEMENT, function="acme.ops.Class.gate"),
):
    try:
        other.original()
    except TypeError as error:
        log["misfits"].append(str(error))
one = replace(REPLACEMENT, where={"kind": "silu", "factor": 1.0}).reading(gate)
log["where"] = [one(inputs(8, 64), {"kind": "silu", "factor": factor}) is None for factor in (1.0, 2.0)]
# A second package for the same function, and the first once more.
KERNEL = gate_tuned.table.KERNEL
second = replace(REPLACEMENT, kernel=replace(KERNEL, name="second"))
second.install()
REPLACEMENT.install()
second.install()
log["chain"] = [kernel.name for kernel in client.gate.warpsmith_kernels]
planner, gpu = KERNEL.planner, KERNEL._gpu(0)
by_row = replace(planner, rows="tokens")
log["traced"] = planner.plan({"in": (32, 192), "total": (96,)}, {}, gpu, traced=True).configuration.name
def planned(**shapes):
    found = by_row.plan(shapes, {}, gpu)
    return found if isinstance(found, str) else [found.grid, found.outputs]
reading = replace(by_row, operands=tuple(replace(o, is_written=o.is_output) for o in planner.operands))
log["rows"] = [
    planned(**{"in": (2, 4, 128), "total": (64,)}),
    planned(**{"in": (2, 4, 128), "total": (64,), "out": (4, 2, 64)}),
    planned(**{"in": (2, 4, 128), "total": (1, 64)}),
    planned(**{"in": (2**12, 2**12, 192), "total": (96,)}),
    reading.plan({"in": (2, 0, 128), "total": (64,)}, {}, gpu).outputs,
]
torch._about.minor = 9
gate_tuned.table.KERNEL._gpus.clear()
gate_tuned.table.KERNEL._plans.clear()
log["elsewhere"] = why(*inputs(8, 64))
print(json.dumps(log))
"""


def gate_kernel(folder: Path) -> Kernel:
    folder.mkdir(exist_ok=True)
    (folder / "gate.cu").write_text(SOURCE)
    (folder / "kernel.toml").write_text(KERNEL)
    return load_kernel(folder)


def shipment(kernel: Kernel, *targets: str) -> Shipment:
    general, own = Configuration.of({"BLOCK": 64}), Configuration.of({"BLOCK": 128})
    return replace(shipment_of_kernel(kernel, general, {"general": own}), targets=targets)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("torch")
    (folder / "shipped").mkdir()
    PyTorchExporter().write(shipment(gate_kernel(folder / "kernel"), "sm_90a"), folder / "shipped")
    return folder / "shipped"


@pytest.fixture(scope="module")
def seen(package: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the package answered, and what the driver was asked."""
    library, launches = package.parent / "libcuda.so.1", package.parent / "launches"
    build = ["-m", "ziglang", "cc", "-shared", "-fPIC", "-O1", "-o", library, STAND_IN / "libcuda.c"]
    subprocess.run([sys.executable, *build], check=True)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{STAND_IN}{os.pathsep}{package}",
        "LD_LIBRARY_PATH": str(package.parent),
        "LAUNCHES": str(launches),
        "PARAMETERS": "8 8 8 8 4 4 4 4",
    }
    done = subprocess.run([sys.executable, "-c", CALLS], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), [json.loads(line) for line in launches.read_text().splitlines()]


def test_the_driver_is_asked_for_what_was_verified(seen: tuple[dict[str, Any], list[dict[str, Any]]], package: Path):
    said, launches = seen
    general, asking, own = launches[0], launches[1], launches[2]
    assert (general["grid"], general["block"], general["shared"]) == ([8, 1, 1], [64, 1, 1], 512 * 64)
    assert general["stream"] == 4660
    x, total, out = said["general"]
    assert general["values"] == [
        *(struct.pack("<Q", address).hex() for address in (out, x, total, 0)),
        struct.pack("<i", 64).hex(),
        struct.pack("<f", 0.25).hex(),
        struct.pack("<i", 3).hex(),
        struct.pack("<i", 64).hex(),
    ]
    assert asking == {"attribute": [8, 512 * 128]}  # more than 48 KiB is to be asked for
    assert (own["grid"], own["block"], own["shared"]) == ([24, 1, 1], [128, 1, 1], 512 * 128)
    x, total, out = said["own"]
    assert own["values"][:3] == [struct.pack("<Q", address).hex() for address in (out, x, total)]
    assert own["values"][5] == struct.pack("<f", 0.5).hex()
    codes = sorted((package / "gate_tuned" / "code").iterdir())
    assert [code.name for code in codes] == ["gate.general.sm_90a.cubin", "gate.sm_90a.cubin"]
    for code, launch in zip(codes, (own, general), strict=True):
        assert read_cubin(code.read_bytes(), launch["kernel"]).parameter_bytes == (8, 8, 8, 8, 4, 4, 4, 4)


def test_leading_axes_are_rows_where_kernel_toml_says_so(seen: tuple[dict[str, Any], list[dict[str, Any]]]):
    said, _ = seen
    assert said["rows"] == [
        [[8, 1, 1], {"out": [2, 4, 64]}],
        "in has the leading axes (2, 4), not (4, 2)",
        "total has 2 axes, not 1",
        "in has more than 2147483647 elements",
        {"out": [2, 0, 64]},  # nothing is launched, and nothing has to be
    ]


def test_a_trace_is_not_for_the_sizes_of_one_workload(seen: tuple[dict[str, Any], list[dict[str, Any]]]):
    """The operator chooses again when it runs; a guard on one size would keep `torch.export` from a range of sizes."""
    said, _ = seen
    assert said["traced"] == "general"


def test_what_is_read_does_not_change_meanwhile(seen: tuple[dict[str, Any], list[dict[str, Any]]]):
    """Launched by another thread, which had no context."""
    said, launches = seen
    x, out = said["in place"]
    given = [int.from_bytes(bytes.fromhex(value), "little") for value in launches[4]["values"][:2]]
    assert given[0] == out
    assert given[1] != x


def test_gaps_and_odd_addresses_are_copied_and_results_brought_back(seen: tuple[dict[str, Any], list[dict[str, Any]]]):
    said, launches = seen
    x, total, copy, is_only_read = said["copies"]
    given = [int.from_bytes(bytes.fromhex(value), "little") for value in launches[3]["values"][:3]]
    assert x not in given
    assert total not in given
    assert given[2] == copy
    assert is_only_read


def test_it_says_what_it_is_not_for(seen: tuple[dict[str, Any], list[dict[str, Any]]]):
    said, _ = seen
    assert said["why"] == [
        None,
        "its tensors must be on one GPU, not on cpu, cuda:0",
        "in is torch.float16, not torch.float32",
        "in has 1 axes, not 2",
        "in has the shape (8, 128), not (8, 130)",
        "in has the shape (8, 129), not (8, 128)",
        "it is only for d % 4 == 0",
        "mode is 4: it was verified with 3 only",
        "it has no gradient",
        "total is missing",
        "in has 3 axes, not 2",
        "in is a tuple, not a tensor",
        "in is a Foreign",
        "scale is None, which is no number",
        "mode is 3.0, which is no whole number",
        "it is only for d <= 96",
        "tokens is 0, and total is to be written",
        "out and total share memory",
        "elements of total share memory",
    ]
    assert said["refused"] == "the tuned gate does not support this call: it is only for d % 4 == 0"
    assert said["elsewhere"] == "it was tuned for sm_90, and this GPU is sm_99"


def test_it_stands_in_for_a_function_where_it_may(seen: tuple[dict[str, Any], list[dict[str, Any]]]):
    said, launches = seen
    assert said["replaced"] == [[8, 64], "the original", "the original", "the original"]
    assert launches[-1]["values"][5] == struct.pack("<f", 2.0).hex()
    assert [text.partition(" (see")[0].partition(") ")[2] for text in said["misfits"]] == [
        "has no default for kind: `where` can fix a value",
        "has no parameter y",
        "has no parameter in",
        "",
        "",
    ]
    assert said["misfits"][3].startswith("acme.ops.gates is not an importable function: module 'acme.ops' has no")
    assert said["misfits"][4].startswith("acme.ops.Class.gate is not an importable function: No module named")
    assert said["where"] == [False, True]
    assert said["chain"] == ["gate", "second"]


def test_it_is_a_project_that_pip_and_sglang_understand(tmp_path: Path):
    kernel = gate_kernel(tmp_path / "kernel")
    toml = tmp_path / "kernel" / "kernel.toml"
    toml.write_text(KERNEL.replace("acme.ops.gate", "sglang.kernels.ops.gate"))
    (tmp_path / "out").mkdir()
    PyTorchExporter().write(replace(shipment(kernel, "h100-sxm"), kernel_file=toml), tmp_path / "out")
    project = tomllib.loads((tmp_path / "out" / "pyproject.toml").read_text())
    assert project["project"]["name"] == "gate-tuned"
    assert project["project"]["entry-points"] == {"sglang.srt.plugins": {"gate_tuned": "gate_tuned:register"}}
    front = (tmp_path / "out" / "gate_tuned" / "__init__.py").read_text()
    assert "HookRegistry.register(REPLACEMENT.function, REPLACEMENT.around, HookType.AROUND)" in front
    assert (tmp_path / "out" / "gate_tuned" / "code" / "gate.sm_90a.cubin").is_file()


def test_it_vouches_for_sizes_like_those_that_were_verified(tmp_path: Path):
    """The function that it stands in for may have checks of its own, which nobody told us of."""
    sizes = [("small", {"tokens": 8, "d": 64}), ("large", {"tokens": 32, "d": 64})]
    alike = replace(gate_kernel(tmp_path), workloads=tuple(Workload(name, each) for name, each in sizes))
    general = parts_of(shipment(alike))[0].build(tmp_path / "gate.cu")

    def asked(*adversaries: dict[str, int]) -> list[str]:
        also = tuple(Workload(f"odd-{i}", each) for i, each in enumerate(adversaries))
        return [str(c.expression) for c in vouched(replace(shipment(alike), adversaries=also), general)]

    assert asked() == ["tokens % 8 == 0", "d == 64"]
    assert asked({"tokens": 5, "d": 96}) == ["d % 32 == 0", "d <= 96"]
    assert asked({"tokens": 5, "d": 30}) == asked()  # not where the configuration may be used
    alike = replace(alike, workloads=tuple(Workload(f"square-{n}", {"tokens": n, "d": n}) for n in (32, 64)))
    assert asked() == ["tokens % 32 == 0", "d == tokens"]
    assert asked({"tokens": 3, "d": 4}) == ["d % 4 == 0", "d <= 64"]


def test_what_it_cannot_ship_is_refused_with_a_way_out(tmp_path: Path):
    kernel = gate_kernel(tmp_path / "kernel")
    with pytest.raises(InputError, match="the run was on cpu alone") as caught:
        PyTorchExporter().write(shipment(kernel, "gfx942"), tmp_path)
    assert "--also-compile sm_90" in str(caught.value)
    with pytest.raises(InputError, match="for CUDA and HIP kernels"):
        PyTorchExporter().write(shipment(replace(kernel, language=Language.OPENCL), "sm_90"), tmp_path)
    file = tmp_path / "kernel" / "kernel.toml"
    file.write_text(KERNEL.replace('scale = { dtype = "f32"', 'scale = { dtype = "bf16"'))
    narrow = SOURCE.replace("float scale", "__nv_bfloat16 scale")
    (tmp_path / "kernel" / "gate.cu").write_text(f"#include <cuda_bf16.h>\n{narrow}")
    with pytest.raises(InputError, match="the scalar 'scale' is bf16"):
        PyTorchExporter().write(shipment(load_kernel(file), "sm_90"), tmp_path)


@pytest.mark.parametrize(
    ("shapes", "found", "unsaid"),
    [
        ([["n"]], {"n": 'shapes["a"][0]'}, []),
        ([["tokens", "2 * d"], ["d"]], {"tokens": 'shapes["a"][0]', "d": 'shapes["b"][0]'}, []),
        ([["tokens * d"], ["d + 8"]], {"d": '(shapes["b"][0] - 8)', "tokens": '(shapes["a"][0] // max(s["d"], 1))'}, []),
        ([["n - 1"], ["100 - m"]], {"n": '(shapes["a"][0] + 1)', "m": '(100 - shapes["b"][0])'}, []),
        ([["n / 8"]], {}, ["n"]),
        ([["n * n"]], {}, ["n"]),
        ([["n * m"]], {}, ["n", "m"]),
    ],
)
def test_sizes_follow_from_shapes(tmp_path: Path, shapes: list[list[str]], found: dict[str, str], unsaid: list[str]):
    names = dict.fromkeys(word for extents in shapes for extent in extents for word in extent.split() if word.isalpha())
    buffers = dict(zip("ab", shapes, strict=False))
    lines = [f"{name} = {{ dtype = 'f32', shape = {extents!r}, role = 'inout' }}" for name, extents in buffers.items()]
    sizes = ", ".join(f"{name} = 16" for name in names)
    (tmp_path / "k.cu").write_text(f"__global__ void k({', '.join(f'float* {name}' for name in buffers)}) {{}}\n")
    (tmp_path / "kernel.toml").write_text(
        '[kernel]\nname = "k"\nsource = "k.cu"\nentry = "k"\n[arguments]\n' + "\n".join(lines) + "\n"
        f"[launch]\ngrid = [1]\nblock = [1]\n[workloads]\nw = {{ {sizes} }}\n"
    )
    kernel = load_kernel(tmp_path)
    steps, rest = derived_sizes(kernel.buffers, kernel.workloads[0].sizes)
    assert ({step.size: step.text for step in steps}, rest) == (found, unsaid)
