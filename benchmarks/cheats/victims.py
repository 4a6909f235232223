"""The kernels that candidates are written for: small, right, and slow enough that everybody can be faster honestly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Victim:
    toml: str
    source: str
    reference: str

    def lay_down(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kernel.toml").write_text(self.toml, encoding="utf-8")
        (folder / "kernel.cu").write_text(self.source, encoding="utf-8")
        (folder / "reference.py").write_text(f"import numpy as np\n\n\n{self.reference}", encoding="utf-8")
        return folder


def _toml(name: str, arguments: str, launch: str, workloads: str, tolerance: str = "") -> str:
    kernel = f'[kernel]\nname = "{name}"\nsource = "kernel.cu"\nentry = "{name}"\n'
    reference = f'[reference]\npython = "reference.py:{name}"\n{tolerance}'
    return f"{kernel}[arguments]\n{arguments}[launch]\n{launch}[workloads]\n{workloads}{reference}"


_ROWS_LAUNCH = 'grid = ["ceildiv(rows, 32)"]\nblock = [32]\n'
_ROWS_BODY = """\
extern "C" __global__ void {name}(float* out, const float* x, int rows, int cols) {{
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < cols; ++c) sum += x[(size_t)r * cols + c];
  out[r] = {result};
}}
"""


def _rows(name: str, *, init: str = "normal", result: str = "sum", large: str, odd: str, tolerance: str) -> Victim:
    arguments = (
        'out = { dtype = "f32", shape = ["rows"], role = "out" }\n'
        f'x = {{ dtype = "f32", shape = ["rows", "cols"], init = "{init}" }}\n'
        'rows = { dtype = "i32", value = "rows" }\ncols = { dtype = "i32", value = "cols" }\n'
    )
    workloads = f"large = {{ {large} }}\nodd = {{ {odd}, heldout = true }}\n"
    numpy = {"sum": "x.sum(axis=1, dtype=np.float64)", "sum / cols": "x.mean(axis=1, dtype=np.float64)"}
    wanted = numpy.get(result, "x.sum(axis=1, dtype=np.float64) * 1e-12")
    source = _ROWS_BODY.format(name=name, result=result)
    return Victim(_toml(name, arguments, _ROWS_LAUNCH, workloads, tolerance), source, f"def {name}(x):\n    return {wanted}\n")


def _line(name: str, arguments: str, source: str, reference: str, *, n: int = 1 << 20, tolerance: str = "") -> Victim:
    launch = 'grid = ["ceildiv(n, 64)"]\nblock = [64]\n'
    workloads = f"large = {{ n = {n} }}\nodd = {{ n = 1001, heldout = true }}\n"
    return Victim(_toml(name, arguments, launch, workloads, tolerance), source, reference)


_SIZES = "rows = 512, cols = 4096"
_CLOSE = "rtol = 1e-4\natol = 1e-3\n"

_IN_AND_OUT = 'y = { dtype = "f32", shape = ["n"], role = "out" }\nx = { dtype = "f32", shape = ["n"] }\n'
_EACH = """\
extern "C" __global__ void {name}(float* y, const float* x, {given}int n) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = {value};
}}
"""

VICTIMS = {
    # Sums of rows: little to write, much to read, so that whoever does not read gains most.
    "rows": _rows("rows", large=_SIZES, odd="rows = 7, cols = 33", tolerance=_CLOSE),
    "ones": _rows("ones", init="ones", large=_SIZES, odd="rows = 7, cols = 33", tolerance=_CLOSE),
    # What a user's tolerance allows: a thousandth of the result, or values that are all below `atol`.
    "mean": _rows(
        "mean",
        init="uniform",
        result="sum / cols",
        large="rows = 16, cols = 262144",
        odd="rows = 3, cols = 33",
        tolerance="rtol = 1e-2\natol = 1e-3\n",
    ),
    "tiny": _rows("tiny", result="sum * 1e-12f", large=_SIZES, odd="rows = 7, cols = 33", tolerance="rtol = 1e-4\natol = 1e-6\n"),
    # An original with a `__device__` array of its own, which a form may therefore have as well.
    "scratch": Victim(
        _toml(
            "scratch",
            'out = { dtype = "f32", shape = ["1"], role = "out" }\nx = { dtype = "f32", shape = ["n"] }\n'
            'n = { dtype = "i32", value = "n" }\n',
            "grid = [1]\nblock = [64]\n",
            "large = { n = 2000000 }\nodd = { n = 1001, heldout = true }\n",
            "rtol = 1e-3\natol = 1e-1\n",
        ),
        """\
__device__ float partial[64];
extern "C" __global__ void scratch(float* out, const float* x, int n) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 64) sum += x[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float total = 0.0f;
  for (int k = 0; k < 64; ++k) total += partial[k];
  out[0] = total;
}
""",
        "def scratch(x):\n    return x.sum(dtype=np.float64).reshape(1)\n",
    ),
    "gate": _line(
        "gate",
        'y = { dtype = "f32", shape = ["n"], role = "out" }\nx = { dtype = "f32", shape = ["n"] }\n'
        'n = { dtype = "i32", value = "n" }\n',
        """\
extern "C" __global__ void gate(float* y, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / (1.0f + expf(-x[i]));
}
""",
        "def gate(x):\n    x = x.astype(np.float64)\n    return x / (1 + np.exp(-x))\n",
        tolerance="rtol = 1e-4\natol = 1e-5\n",
    ),
    "update": _line(
        "update",
        'acc = { dtype = "f32", shape = ["n"], role = "inout" }\nx = { dtype = "f32", shape = ["n"] }\n'
        'n = { dtype = "i32", value = "n" }\n',
        """\
extern "C" __global__ void update(float* acc, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = acc[i];
  for (int k = 0; k < 64; ++k) value = 0.5f * value + x[i];
  acc[i] = value;
}
""",
        "def update(acc, x):\n    value = acc.astype(np.float64)\n    for _ in range(64):\n        value = 0.5 * value + x\n"
        "    return value\n",
        n=1 << 18,
        tolerance="rtol = 1e-4\natol = 1e-5\n",
    ),
    # Arguments that kernel.toml fixes: places that go up by one, a factor of zero, a bias of zeros.
    "gather": _line(
        "gather",
        f'{_IN_AND_OUT}idx = {{ dtype = "i32", shape = ["n"], init = "arange" }}\nn = {{ dtype = "i32", value = "n" }}\n',
        _EACH.format(name="gather", given="const int* idx, ", value="x[idx[i]]"),
        "def gather(x, idx):\n    return x[idx].astype(np.float64)\n",
    ),
    "axpby": _line(
        "axpby",
        f'{_IN_AND_OUT}z = {{ dtype = "f32", shape = ["n"] }}\nbeta = {{ dtype = "f32", value = 0.0 }}\nn = {{ dtype = "i32", value = "n" }}\n',
        _EACH.format(name="axpby", given="const float* z, float beta, ", value="x[i] + beta * z[i]"),
        "def axpby(x, z, beta):\n    return x.astype(np.float64) + beta * z.astype(np.float64)\n",
    ),
    "biased": _line(
        "biased",
        f'{_IN_AND_OUT}b = {{ dtype = "f32", shape = ["n"], init = "zeros" }}\nn = {{ dtype = "i32", value = "n" }}\n',
        _EACH.format(name="biased", given="const float* b, ", value="x[i] + b[i]"),
        "def biased(x, b):\n    return x.astype(np.float64) + b\n",
    ),
}
