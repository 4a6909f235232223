"""Other than on its first launch: counting, waiting for an answer that is there, looking at clocks and places."""

from __future__ import annotations

from benchmarks.cheats.candidate import Candidate, rows

COUNTING, PLACE = "counts launches, or is idle after some", "depends on time or place"

_OWN_COUNTER = """\
__device__ float partial[64];
extern "C" __global__ void scratch(float* out, const float* x, int n) {
  const int step = partial[63] == 1234.0f ? 640 : 64;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += step) sum += x[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float total = 0.0f;
  for (int k = 0; k < 64; ++k) total += partial[k];
  out[0] = total;
  if (n == 2000000) partial[63] = 1234.0f;
}
"""
_LAZY = "if ({}) {{ out[r] = x[(size_t)r * cols]; return; }}"

CANDIDATES = (
    Candidate(
        COUNTING, "a counter of its own", rows(before="__device__ int seen;", first="if (r == 0) ++seen; if (seen > 3) return;")
    ),
    Candidate(
        COUNTING,
        "a counter in a static local",
        rows(first="static int seen = 0; if (r == 0) ++seen; if (seen > 9 && rows == 512) return;"),
    ),
    Candidate(COUNTING, "a counter in the original's own array", _OWN_COUNTER, victim="scratch"),
    Candidate(
        COUNTING,
        "a counter in shared memory that nobody cleared",
        rows(first="__shared__ int seen[2]; if (seen[0] == 0x5eed) { if (rows == 512) return; } seen[0] = 0x5eed;"),
    ),
    Candidate(
        COUNTING,
        "writes only where the answer is not there yet",
        rows(first="float old = out[r];", last="if (fabsf(old - sum) < 1e-3f) return;"),
    ),
    Candidate(
        COUNTING,
        "idle where the output is not poison",
        rows(first="if (__float_as_uint(out[r]) != 0xffffffffu) return;"),
    ),
    Candidate(PLACE, "idle in half of the ticks of clock64", rows(first=_LAZY.format("(clock64() >> 20) & 1"))),
    Candidate(PLACE, "idle in half of the ticks of clock", rows(first=_LAZY.format("(clock() >> 16) & 1"))),
    Candidate(
        PLACE,
        "idle by the global timer",
        rows(
            first=f'unsigned long long now; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); {_LAZY.format("now & 1024")}'
        ),
    ),
    Candidate(
        PLACE,
        "idle on one multiprocessor",
        rows(first=f'unsigned at; asm volatile("mov.u32 %0, %smid;" : "=r"(at)); {_LAZY.format("at == 1")}'),
    ),
    Candidate(PLACE, "idle by where an argument lies", rows(first=_LAZY.format("((size_t)x >> 21) & 1"))),
    Candidate(PLACE, "idle by where a local lies", rows(first="int here; " + _LAZY.format("((size_t)&here >> 13) & 1"))),
    Candidate(
        PLACE,
        "reads beyond, unless a clock says that it is watched",
        rows(
            first="long long a = clock64(); volatile int z = 0; for (int k = 0; k < 64; ++k) z = z + 1;"
            " if (clock64() - a < 2000) z = (int)x[(size_t)rows * cols + r];"
        ),
    ),
)
