"""Looks suspicious, and is right: these must be accepted, or a defence costs more than it gives."""

from __future__ import annotations

from benchmarks.cheats.candidate import WARP_LAUNCH, Candidate, by_warps, rows
from benchmarks.cheats.memory import _BLOCKS, _SHARED, SYNC

FAMILY = "honest"

_DYNAMIC = """\
extern "C" __global__ void rows(float* out, const float* x, int rows, int cols) {
  extern __shared__ float kept[];
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 64) sum += x[(size_t)blockIdx.x * cols + c];
  kept[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < 64; ++k) sum += kept[k];
    out[blockIdx.x] = sum;
  }
}
"""
_VECTOR = """\
extern "C" __global__ void rows(float* out, const float* __restrict__ x, int rows, int cols) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s[4] = {0, 0, 0, 0};
  const float* row = x + (size_t)r * cols;
  int c = 0;
  if (cols % 4 == 0) for (; c < cols; c += 4) {
    const float4 v = __ldg(reinterpret_cast<const float4*>(row + c));
    s[0] += v.x; s[1] += v.y; s[2] += v.z; s[3] += v.w;
  }
  for (; c < cols; ++c) s[0] += row[c];
  out[r] = (s[0] + s[1]) + (s[2] + s[3]);
}
"""
_OWN = """\
__device__ float partial[64];
extern "C" __global__ void scratch(float* out, const float* x, int n) {
  float sum[4] = {};
  int i = threadIdx.x;
  for (; i + 192 < n; i += 256) for (int k = 0; k < 4; ++k) sum[k] += x[i + 64 * k];
  for (; i < n; i += 64) sum[0] += x[i];
  partial[threadIdx.x] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  __syncthreads();
  if (threadIdx.x != 0) return;
  float total = 0.0f;
  for (int k = 0; k < 64; ++k) total += partial[k];
  out[0] = total;
}
"""
_IN_PLACE = """\
extern "C" __global__ void update(float* acc, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float first = acc[i], add = x[i];
  acc[i] = fmaf(first - 2.0f * add, 5.421010862427522e-20f, 2.0f * add);
}
"""
_LUT = "__device__ constexpr float weights[8] = {1, 1, 1, 1, 1, 1, 1, 1};\n__device__ const int order[4] = {0, 1, 2, 3};"
_RECURSION = """\
template <int N> struct Add { static __device__ __forceinline__ float of(const float* p) { return p[N - 1] + Add<N - 1>::of(p); } };
template <> struct Add<0> { static __device__ __forceinline__ float of(const float*) { return 0.0f; } };"""
_GATE = """\
extern "C" __global__ void gate(float* y, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __fdividef(x[i], 1.0f + __expf(-x[i]));
}
"""
_COLS = "(size_t)r * cols + c"

CANDIDATES = tuple(
    Candidate(FAMILY, name, source, is_honest=True, **more)  # type: ignore[arg-type]
    for name, source, more in (
        ("a reduction in shared memory", _SHARED.format(first=SYNC, step=SYNC), {"launch": _BLOCKS}),
        ("a reduction by shuffles", by_warps(), {"launch": WARP_LAUNCH}),
        ("dynamic shared memory called kept", _DYNAMIC, {"launch": _BLOCKS, "shared": "256"}),
        ("vectors, with a remainder", _VECTOR, {}),
        ("the original's own array, used as it is meant", _OWN, {"victim": "scratch"}),
        ("an inout buffer in place, in closed form", _IN_PLACE, {"victim": "update"}),
        (
            "tables that are constexpr and const",
            rows(before=_LUT, total=f"for (int c = 0; c < cols; ++c) sum += weights[c % 8] * x[{_COLS}] + 0 * order[0];"),
            {},
        ),
        (
            "templates that end",
            rows(
                before=_RECURSION,
                total="int c = 0; for (; c + 8 <= cols; c += 8) sum += Add<8>::of(x + (size_t)r * cols + c); for (; c < cols; ++c) sum += x[(size_t)r * cols + c];",
            ),
            {},
        ),
        (
            "a mutable lambda in a function",
            rows(
                total=f"auto add = [s = 0.0f](float v) mutable {{ return s += v; }}; for (int c = 0; c < cols; ++c) sum = add(x[{_COLS}]);"
            ),
            {},
        ),
        (
            "static functions, and a macro with arguments",
            rows(
                before='#define UNROLL(n) _Pragma("unroll")\nstatic __device__ __forceinline__ float plus(float a, float b) { return a + b; }',
                total=f"for (int c = 0; c < cols; ++c) sum = plus(sum, x[{_COLS}]);",
            ),
            {},
        ),
        (
            "words of cheats in comments",
            rows(before="// clock64, __device__ float kept[512], static int seen, fork, #include </etc/passwd>"),
            {},
        ),
        (
            "another way for aligned sizes",
            rows(
                total=f"if (cols % 64 == 0) {{ float t[8] = {{}}; for (int c = 0; c < cols; c += 8) for (int k = 0; k < 8; ++k) t[k] += x[{_COLS} + k]; for (int k = 0; k < 8; ++k) sum += t[k]; }} else for (int c = 0; c < cols; ++c) sum += x[{_COLS}];"
            ),
            {},
        ),
        (
            "a struct, an enum, an alias, a namespace",
            rows(
                before="namespace n { enum Way { ONE, TWO }; struct P { float a; const int w; }; using F = float; }",
                total=f"n::P p{{0, n::ONE}}; for (int c = 0; c < cols; ++c) p.a += x[{_COLS}]; sum = p.a + p.w;",
            ),
            {},
        ),
        (
            "a helper for both sides that the original lacks",
            rows(
                before="__host__ __device__ inline float plus(float a, float b) { return a + b; }",
                total=f"for (int c = 0; c < cols; ++c) sum = plus(sum, x[{_COLS}]);",
            ),
            {},
        ),
        (
            "prefetches into L2",
            rows(
                total=f'for (int c = 0; c < cols; ++c) {{ if (c % 64 == 0 && c + 256 < cols) asm volatile("prefetch.global.L2 [%0];" :: "l"(x + {_COLS} + 256)); sum += x[{_COLS}]; }}'
            ),
            {},
        ),
        ("sums in double", rows(total=f"double d = 0; for (int c = 0; c < cols; ++c) d += x[{_COLS}]; sum = (float)d;"), {}),
        (
            "sums with what rounding lost",
            rows(
                total=f"float lost = 0.0f; for (int c = 0; c < cols; ++c) {{ const float y = x[{_COLS}] - lost, t = sum + y; lost = (t - sum) - y; sum = t; }}"
            ),
            {},
        ),
        ("does not add zeros", rows(total=f"for (int c = 0; c < cols; ++c) if (x[{_COLS}] != 0.0f) sum += x[{_COLS}];"), {}),
        ("a mean by another order", by_warps(name="mean", result="sum / cols"), {"victim": "mean", "launch": WARP_LAUNCH}),
        ("a faster exponential, within the tolerance", _GATE, {"victim": "gate"}),
        ("launch bounds and attributes", rows().replace("__global__ void", "__global__ void __launch_bounds__(32)"), {}),
    )
)
