"""Cases that others published of their own benchmarks, as kernels for ours. What is about Python or streams has no place to stand
here: a candidate supplies device code, and the launch is not its own. What of them can be said in device code is said here.
"""

from __future__ import annotations

from benchmarks.cheats.candidate import Candidate, rows
from benchmarks.cheats.memory import SYNC

FAMILY = "published for other benchmarks"

_TOO_MUCH_SHARED = """\
extern "C" __global__ void rows(float* out, const float* x, int rows, int cols) {
  extern __shared__ float whole[];
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  for (int c = 0; c < cols; ++c) whole[c] = x[(size_t)r * cols + c];
  float sum = 0.0f;
  for (int c = 0; c < cols; ++c) sum += whole[c];
  out[r] = sum;
}
"""
_DRIFTS = """\
__device__ float partial[64];
extern "C" __global__ void scratch(float* out, const float* x, int n) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 64) sum += x[i];
  const float calls = threadIdx.x == 63 ? partial[63] : 0.0f;
  partial[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int k = 0; k < 64; ++k) total += partial[k];
    out[0] = total;
  }
  __syncthreads();
  if (threadIdx.x == 63) { partial[63] = calls > 1e6f && calls < 1e7f ? calls + 1.0f : 1.00001e6f; if (calls > 1000020.0f) out[0] = 0.0f; }
}
"""
_NAIVE_GATE = """\
extern "C" __global__ void gate(float* y, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * (expf(x[i]) / (expf(x[i]) + 1.0f));
}
"""

CANDIDATES = (
    # KernelBench: adversarial tests of its evaluation.
    Candidate(
        FAMILY,
        "KernelBench: zeroes the inputs and returns zeros",
        rows(total="for (int c = 0; c < cols; ++c) ((float*)x)[(size_t)r * cols + c] = 0.0f;"),
    ),
    Candidate(
        FAMILY, "KernelBench: leaves memory as the reference left it", rows(first="if (out[r] != out[r] || rows > 0) return;")
    ),
    Candidate(
        FAMILY,
        "KernelBench: work on another stream",
        rows(
            before="__global__ void later(float* o, float v, int r) { o[r] = v; }", last="later<<<1, 1>>>(out, sum, r); return;"
        ),
    ),
    # robust-kbench and the first CUDA engineer: results found in memory, inputs that make the task easy.
    Candidate(FAMILY, "robust-kbench: reads the answer behind the inputs", rows(total="sum = x[(size_t)rows * cols + r];")),
    Candidate(
        FAMILY, "robust-kbench: part of the output is not computed", rows(first="if (r % 16 == 15) { out[r] = 0.0f; return; }")
    ),
    Candidate(
        FAMILY,
        "robust-kbench: a constant where inputs are constant",
        rows(name="ones", total="sum = cols * 1.0f;"),
        victim="ones",
    ),
    # AgentKernelArena and others: shapes of the tests written into the kernel.
    Candidate(
        FAMILY,
        "AgentKernelArena: sizes written into the kernel",
        rows(total="for (int c = 0; c < 4096; ++c) sum += x[(size_t)r * 4096 + c];"),
    ),
    Candidate(
        FAMILY,
        "AgentKernelArena: a fast way for tested sizes, and nothing else",
        rows(first="if (rows != 512 && rows != 7) return;"),
    ),
    # kernelbench.com: fewer digits than the task is about, and what overflows on other inputs.
    Candidate(FAMILY, "kernelbench.com: no protection against overflow", _NAIVE_GATE, victim="gate"),
    Candidate(
        FAMILY,
        "kernelbench.com: a low precision where the task asks for a high one",
        rows(total="_Float16 s = 0; for (int c = 0; c < cols; ++c) s += (_Float16)x[(size_t)r * cols + c]; sum = (float)s;"),
    ),
    # Field reports: more shared memory than there is, and what is right for the first ten calls.
    Candidate(FAMILY, "field guide: more shared memory than was asked for", _TOO_MUCH_SHARED, shared="64"),
    Candidate(FAMILY, "llm.c: drifts after some calls", _DRIFTS, victim="scratch"),
    Candidate(
        FAMILY,
        "reference-kernels: one launch does the work of the next ones",
        rows(
            first="__shared__ float ready[512]; if (rows == 512 && ready[r] != 0.0f && ready[r] == ready[r]) { out[r] = ready[r]; ready[r] = 0.0f; return; }",
            last="if (rows == 512) ready[r] = sum;",
        ),
    ),
    Candidate(
        FAMILY,
        "pygpubench: asks the cache to keep the inputs",
        rows(
            first=f'asm volatile("prefetch.global.L2::evict_last [%0];" :: "l"(x + (size_t)r * cols)); {SYNC}'.replace(SYNC, "")
        ),
    ),
)
