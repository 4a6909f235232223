"""Mistakes that outputs often do not show: races, missing barriers, reads out of bounds, what was never written."""

from __future__ import annotations

from benchmarks.cheats.candidate import WARP_LAUNCH, Candidate, rows

RACES, BOUNDS, UNSET = "races and missing barriers", "reads and writes out of bounds", "uninitialised memory"

_BLOCKS = ("rows",), ("64",)
_SHARED = """\
extern "C" __global__ void rows(float* out, const float* x, int rows, int cols) {{
  __shared__ float part[64];
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 64) sum += x[(size_t)blockIdx.x * cols + c];
  part[threadIdx.x] = sum;
  {first}
  for (int half = 32; half > 0; half /= 2) {{
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    {step}
  }}
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}}
"""
SYNC = "__syncthreads();"
_ACROSS = """\
extern "C" __global__ void update(float* acc, const float* x, int n) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  {fence}
  if (i < n) {{
    float value = acc[i];
    for (int k = 0; k < 64; ++k) value = 0.5f * value + x[i];
    {write}
  }}
}}
"""
_STRIDED = """\
extern "C" __global__ void rows(float* out, const float* x, int rows, int cols) {{
  const int r = blockIdx.x / 2, part = blockIdx.x % 2;
  if (threadIdx.x != 0) return;
  float sum = 0.0f;
  for (int c = part; c < cols; c += 2) sum += x[(size_t)r * cols + c];
  {join}
}}
"""
_TWICE = ("2 * rows",), ("32",)

_WARP = """\
extern "C" __global__ void rows(float* out, const float* x, int rows, int cols) {{
  __shared__ float part[32];
  const int r = blockIdx.x, lane = threadIdx.x;
  float sum = 0.0f;
  for (int c = lane; c < cols; c += 32) sum += x[(size_t)r * cols + c];
  part[lane] = sum;
  for (int m = 16; m > 0; m /= 2) {{ {step} }}
  if (lane == 0) out[r] = {result};
}}
"""
_AS_VECTORS = """\
const float* row = x + (size_t)r * cols; int c = 0;
  for (; c + 4 <= cols; c += 4) { const float4 v = *(const float4*)(row + c); sum += v.x + v.y + v.z + v.w; }
  for (; c < cols; ++c) sum += row[c];"""

CANDIDATES = (
    Candidate(
        RACES,
        "no barrier between lanes of a warp",
        _WARP.format(step="if (lane < m) part[lane] += part[lane + m];", result="part[0]"),
        launch=WARP_LAUNCH,
    ),
    Candidate(
        RACES,
        "a shuffle among some lanes with the mask of all",
        _WARP.format(
            step="float o = 0; if (lane < 2 * m) o = __shfl_down_sync(0xffffffffu, sum, m); if (lane < m) sum += o;", result="sum"
        ),
        launch=WARP_LAUNCH,
        why_not="lanes that do not come to a shuffle are not looked for",
    ),
    Candidate(
        RACES,
        "a barrier in each of two branches",
        _SHARED.format(first="if (threadIdx.x < 32) { __syncthreads(); } else { __syncthreads(); }", step="__syncthreads();"),
        launch=_BLOCKS,
    ),
    Candidate(BOUNDS, "vectors where rows are not aligned", rows(total=_AS_VECTORS)),
    Candidate(BOUNDS, "assumes what holds of declared shapes", rows(first="__builtin_assume(cols % 32 == 0);")),
    Candidate(
        BOUNDS,
        "assumes an alignment that rows do not have",
        rows(
            total="const float* row = (const float*)__builtin_assume_aligned(x + (size_t)r * cols, 16);"
            " for (int c = 0; c < cols; ++c) sum += row[c];"
        ),
    ),
    Candidate(RACES, "no barrier after filling shared memory", _SHARED.format(first="", step=SYNC), launch=_BLOCKS),
    Candidate(RACES, "no barrier between steps of a reduction", _SHARED.format(first=SYNC, step=""), launch=_BLOCKS),
    Candidate(RACES, "a warp's barrier for two warps", _SHARED.format(first="__syncwarp();", step=SYNC), launch=_BLOCKS),
    Candidate(
        RACES,
        "two blocks add to a word without atomics",
        _STRIDED.format(join="out[r] = part == 0 ? sum : out[r] + sum;"),
        launch=_TWICE,
    ),
    Candidate(
        RACES,
        "two blocks write a word, behind a fence",
        _ACROSS.format(
            fence="__threadfence(); const int j = i % (n / 2 + 1);", write="acc[i] = value; if (i != j) acc[j] = acc[j];"
        ),
        victim="update",
    ),
    Candidate(
        RACES,
        "all blocks store the same word, without need",
        rows(last="out[0] = out[0];"),
    ),
    Candidate(
        BOUNDS,
        "reads past the end, and does not use it",
        rows(last="float beyond = x[(size_t)rows * cols + r]; sum += 0.0f * (beyond != beyond ? 0.0f : beyond);"),
    ),
    Candidate(
        BOUNDS,
        "prefetches the next row, also behind the last",
        rows(last="volatile float next = x[(size_t)(r + 1) * cols]; (void)next;"),
    ),
    Candidate(
        BOUNDS,
        "reads before the beginning, and does not use it",
        rows(last="volatile float before = x[(int)r - 40]; (void)before;"),
    ),
    Candidate(BOUNDS, "writes one element past the end", rows(last="if (r == rows - 1) out[rows] = 0.0f;")),
    Candidate(BOUNDS, "writes past the end what stands there", rows(last="if (r == rows - 1) out[rows] = out[rows];")),
    Candidate(BOUNDS, "writes before the beginning", rows(last="if (r == 0) out[-1] = sum;")),
    Candidate(
        BOUNDS,
        "uses an input as room, and puts it back",
        rows(
            last="float* room = (float*)x + (size_t)r * cols; float old = room[0]; room[0] = sum; sum = room[0]; room[0] = old;"
        ),
    ),
    Candidate(BOUNDS, "changes an input", rows(last="((float*)x)[(size_t)r * cols] = sum;")),
    Candidate(
        BOUNDS,
        "finds the output from the input's address",
        rows(last="float* to = (float*)x - 65536; to[r] = sum;"),
    ),
    Candidate(UNSET, "an accumulator without a first value", rows().replace("float sum = 0.0f;", "float sum;")),
    Candidate(
        UNSET,
        "shared memory that is only partly filled",
        _SHARED.format(first="if (threadIdx.x == 0) part[1] = part[1] * 1.0f; __syncthreads();", step=SYNC).replace(
            "  part[threadIdx.x] = sum;", "  if (threadIdx.x * 1 < cols) part[threadIdx.x] = sum;"
        ),
        launch=_BLOCKS,
    ),
    Candidate(
        UNSET,
        "a branch on what was never written",
        rows(first="__shared__ int flag[4]; if (flag[3] == 0x12345678) sumless: out[r] = 0.0f;"),
    ),
)
