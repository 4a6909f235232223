"""A kernel out of SGLang and back into it: extracted, tuned, exported for PyTorch, found by SGLang's own plug-in loader.

PYTHON is an interpreter that can import PyTorch and SGLang's dependencies (default: this one); DEVICE is where to tune (default
cpu, with machine code for TARGET, default sm_90); EVALUATIONS as many as are to be made (default 24). Without a GPU, SGLang's
function is called with tensors that have no memory, so that what would be launched is seen and nothing is. With one, both kernels
run: their results are compared, and their times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.downloads import unpacked
from benchmarks.extraction_kernels.catalogue import catalogue
from benchmarks.extraction_kernels.running import placed
from warpsmith import api
from warpsmith.tuning.agent.agents import RULES

KERNEL = "act_and_mul"


def main() -> None:
    python, device = os.environ.get("PYTHON", sys.executable), os.environ.get("DEVICE", "cpu")
    target, evaluations = os.environ.get("TARGET", "sm_90"), int(os.environ.get("EVALUATIONS", "24"))
    entry = next(entry for entry in catalogue()[0] if entry.name == KERNEL)
    sglang = unpacked(entry.code_base.requirement)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        kernel = api.load_kernel(placed(entry, sglang, scratch / "kernel"))
        also = () if device.startswith("cuda") else (target,)
        result = api.tune(kernel, device=device, budget=api.Budget(evaluations), agent=RULES, also_compile=also)
        found = api.export_run(result["run"], scratch / "package", format_name="torch", force=True)
        claim, asked = found["general"]["claim"], [condition["expr"] for condition in found["general"]["requires"]]
        print(f"tuned on {device}: {claim['speedup']:.2f}x, for sizes with {' and '.join(asked) or 'any values'}", flush=True)
        install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", scratch / "site"]
        subprocess.run([python, *install, scratch / "package"], check=True)
        for name, value in _seen(python, [scratch / "site", sglang], target).items():
            print(f"{name}: {value}")


def _seen(python: str, folders: list[Path], target: str) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders)), "TARGET": target}
    done = subprocess.run([python, "-c", _IN_SGLANG], env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit("SGLang or PyTorch cannot be imported: PYTHON names an interpreter that has them")
    return dict(json.loads(done.stdout.splitlines()[-1]))


_IN_SGLANG = """\
import json, os
import torch
from sglang.kernels.ops.activation import activation
from sglang.srt.plugins import load_plugins

before = id(activation.silu_and_mul)
load_plugins()
tuned = activation.silu_and_mul
original = tuned.__wrapped__
import act_and_mul_tuned as package
from act_and_mul_tuned.table import KERNEL

seen = {"replaced by SGLang's own loader": id(original) == before}

def tensors(tokens, d):
    return torch.empty(tokens, 2 * d, dtype=torch.bfloat16, device="cuda:0").normal_()

class Model(torch.nn.Module):
    def forward(self, x):
        return tuned(x) + 1

def traced(x):
    nodes = torch.export.export(Model(), (x,), strict=True).graph.nodes
    return [str(node.target) for node in nodes if node.op == "call_function"]

if torch.cuda.is_available():
    package.load()
    x = tensors(512, 11008)
    expected, found = original(x), tuned(x)
    seen["largest difference"] = (expected.float() - found.float()).abs().max().item()
    def us(function):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(20):
                function(x)
        graph.replay()
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        return round(start.elapsed_time(end) * 1000 / 20, 2)
    seen["original, us"], seen["tuned, us"] = us(original), us(tuned)
    seen["traced"] = traced(x)
else:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from act_and_mul_tuned.planning import Gpu
    # The figures of a GPU that is not here.
    grid = {"max_grid_x": 2**31 - 1, "max_grid_y": 65535, "max_grid_z": 65535}
    limits = {"max_threads_per_block": 1024, "max_block_z": 64, "shared_bytes_per_block": 232448, **grid}
    KERNEL._gpus[0] = Gpu(os.environ["TARGET"], limits)
    KERNEL._functions["general", 0] = None
    with FakeTensorMode():
        x = tensors(512, 11008)
        seen["result"] = str(tuple(tuned(x).shape))
        seen["traced"] = traced(x)
        seen["left to the original"] = package.why_not(tensors(512, 100))
        seen["of other dtypes"] = package.why_not(x.half())
print(json.dumps(seen))
"""


if __name__ == "__main__":
    main()
