"""Whether work may be distributed over blocks of another size: what is proved, and what is not, however much it looks alike."""

from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small

from warpsmith.refactor.base import Subject
from warpsmith.refactor.passes.block_size import BlockSize
from warpsmith.refactor.passes.grid_blocks import GridBlocks
from warpsmith.refactor.passes.lift_constants import LiftConstants


def _kernel(body: str, before: str = "") -> str:
    return f"{before}__global__ void k(float* out, const float* x, int n) {{\n  {body}\n}}\n"


def _conjectured(subject: Subject) -> set[str]:
    """The parameters of the two passes that give a block its size, and which of them are not proved."""
    lifted = LiftConstants().apply(subject)
    variant = lifted.variant if hasattr(lifted, "variant") else subject.variant
    freed = BlockSize().apply(Subject(subject.kernel, subject.limits, variant))
    variant = freed.variant if hasattr(freed, "variant") else variant
    return {t.name for t in variant.tunables if t.assumes} | {"-" for t in variant.tunables if not t.assumes}


_INDEX = "int i = blockIdx.x * T + threadIdx.x;\n  int tid = threadIdx.x;\n  "
_SIDE_BY_SIDE = (
    "if (i < n) out[i] = x[i] * (float)threadIdx.x;",
    "if (i < n) out[i] = tid & 255;",
    "if (i < n) out[i] = x[i] + (tid >> 6);",
    "float q = 1; if (tid % 3 == 0) q = 2; if (i < n) out[i] = x[i] * q;",
    "if (i < n) { if (tid == 0) out[i] = x[i]; else out[i] = -x[i]; }",
    "if (i < n) out[i] = !tid ? x[i] : 0;",
    "if (tid >= 100) return; if (i < n) out[i] = x[i];",
    "if (i < n && tid < T - 1) out[i] = x[i]; else if (i < n) out[i] = 0;",
    "switch (tid) { case 0: if (i < n) out[i] = x[i]; }",
    "if (i < n) atomicAdd(&out[i], tid);",
    "for (int j = i; j < n; j += n) out[j] = x[j] * tid;",
    "if (i < n) out[i] = blockIdx.x % 2 ? x[i] : 0.0f;",
    "const int last = gridDim.x; if (i < n) out[i] = last > 1 ? x[i] : 0.0f;",
    "if (i < n) out[i] = x[i + T];",
    "if (i < n) out[i] = x[i] - x[blockIdx.x * T];",
    "const int count = (int)x[0]; if (tid < count) out[i] = x[i];",
    "if (i < n) out[i] = cooperative_groups::this_thread_block().thread_rank();",
    "int any = __syncthreads_or(i < n && x[i] > 0.0f); if (i < n) out[i] = any;",
    "if (__syncthreads_count(i < n && x[i] > 0.0f) > 3) { if (i < n) out[i] = 1.0f; }",
)
_SHARED = "__shared__ float s[T];\n  s[tid] = i < n ? x[i] : 0;\n  __syncthreads();\n  "
_OF_A_TILE = (
    "if (i < n) out[i] = s[(tid + 1) % T];",
    "if (i < n) out[i] = s[T - 1 - tid];",
    "if (i < n) out[i] = x[i] - s[0];",
    "if (i < n) out[i] = tid + 1 < T ? s[tid + 1] : 0.0f;",
    "for (int d = T / 2; d > 0; d >>= 1) { if (tid < d) s[tid] += s[tid + d]; __syncthreads(); } if (i < n) out[i] = s[0];",
    "if (i < n) out[i] = less_than_at(x[i], &s[tid]);",
    "if (i < n) out[i] = less_than_at(x[i], s);",
)
_FUNCTIONS = (
    "__device__ float less_than_at(float a, const float* b) { return a - *b; }\n"
    "__device__ float mean(float v) { __shared__ float m[256]; m[threadIdx.x] = v; __syncthreads(); return m[0]; }\n"
)


@pytest.mark.parametrize("block", ["T", "blockDim.x"])
@pytest.mark.parametrize(
    "body",
    [
        *_SIDE_BY_SIDE,
        "__shared__ float c; if (tid == 0) c = x[i]; __syncthreads(); if (i < n) out[i] = x[i] - c;",
        "if (i < n) out[i] = mean(x[i]);",
        *(_SHARED + each for each in _OF_A_TILE),
    ],
)
def test_what_depends_on_where_blocks_end_is_not_proved(body: str, block: str):
    text = _kernel((_INDEX + body).replace("s[T]", "s[256]" if block != "T" else "s[T]"), _FUNCTIONS)
    text = f"#define T 256\n{text}" if block == "T" else text.replace("* T", "* blockDim.x").replace("T", "blockDim.x")
    assert "-" not in _conjectured(small(text, grid=("ceildiv(n, 256)",), sizes={"rows": 1, "n": 1000}))


_SUM = "__shared__ float slot[T];\n  float sum = 0;\n  for (int i = threadIdx.x; i < n; i += T) sum += x[i];\n"
_SUM += "  slot[threadIdx.x] = sum;\n  __syncthreads();\n  {}\n  if (threadIdx.x == 0) out[blockIdx.x] = slot[0];"
_TREE = "for (int d = {}; d > 0; d >>= 1) {{ if ({}threadIdx.x < d) slot[threadIdx.x] += slot[threadIdx.x + d]; }}"


@pytest.mark.parametrize(
    "steps",
    [
        _TREE.format(32, ""),
        _TREE.format(512, "T > d && "),
        "if (threadIdx.x < 32) slot[threadIdx.x] += slot[threadIdx.x + 32];",
        "if (threadIdx.x == 0) for (int j = 1; j < 64; ++j) slot[0] += slot[j];",
        "int d = 64; while (d /= 2) if (threadIdx.x < d) slot[threadIdx.x] += slot[threadIdx.x + d];",
        "if (threadIdx.x == 63) out[0] = sum;",
        "if (threadIdx.x == 0) slot[0] += slot[63];",
        "const int lane = threadIdx.x % 32; if (threadIdx.x == 0) slot[0] = lane < 8 ? slot[lane] : 0;",
    ],
)
def test_steps_for_one_size_of_a_block_are_not_proved_for_others(steps: str):
    subject = small(_kernel(_SUM.format(steps), "#define T 64\n"), block=("64",))
    assert _conjectured(subject) == {"T"}


@pytest.mark.parametrize("steps", ["if (threadIdx.x == 0) for (int j = 1; j < T; ++j) slot[0] += slot[j];"])
def test_steps_that_follow_the_block_are(steps: str):
    assert _conjectured(small(_kernel(_SUM.format(steps), "#define T 64\n"), block=("64",))) == {"-"}


_STEPS = "float last = 0.0f;\n  for (int i = threadIdx.x; i < n; i += blockDim.x) {{ {0} }}"
_WHOLE_GRID = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) "
_OVER_GRID = f"float last = 0.0f;\n  {_WHOLE_GRID}{{{{ {{0}} }}}}"


@pytest.mark.parametrize("loop", [_STEPS, _OVER_GRID])
@pytest.mark.parametrize(
    "step",
    [
        "out[i] = x[i] - last; last = x[i];",
        "last += 1.0f; if (last > 2.0f) out[i] = x[i];",
        "const float now = last + x[i]; last = now; out[i] = now;",
        "out[i] = x[i]; if (x[i] > 1.0f) break;",
        "if (x[i] > 1.0f) return; out[i] = x[i];",
    ],
)
def test_steps_that_depend_on_a_threads_steps_before_are_not(loop: str, step: str):
    subject = small(_kernel(loop.format(step)), grid=("64",))
    assert _conjectured(subject) == {"BLOCK"}
    if loop == _OVER_GRID:
        reason = declined(GridBlocks(), subject)
        assert "of the thread's earlier iterations" in reason or "leaves the loop over i" in reason


@pytest.mark.parametrize(
    "body",
    [
        f"float s = 0;\n  {_WHOLE_GRID}s += x[i];\n  if (!threadIdx.x) out[blockIdx.x] = s;",
        f"{_WHOLE_GRID}out[i] = x[i] + blockIdx.x;",
    ],
)
def test_a_blocks_number_beside_a_loop_over_the_whole_grid_is_not(body: str):
    assert _conjectured(small(_kernel(body), grid=("4",))) == {"BLOCK"}


def test_what_a_thread_makes_of_its_elements_is_not():
    body = (
        "float v[E], sum = 0.0f;\n  const int base = (blockIdx.x * 64 + threadIdx.x) * E;\n"
        "  for (int k = 0; k < E; ++k) v[k] = base + k < n ? x[base + k] : 0.0f;\n  for (int k = 0; k < E; ++k) sum += v[k];\n"
        "  for (int k = 0; k < E; ++k) if (base + k < n) out[base + k] = v[k] / sum;"
    )
    subject = small(_kernel(body, "#define E 4\n"), grid=("ceildiv(n, 256)",), block=("64",))
    assert "aggregates sum over all elements of a thread" in declined(LiftConstants(), subject)


@pytest.mark.parametrize(
    "body",
    [
        "if (i < n) out[i] = x[i] * (i & 255);",
        "if (i < n) out[i] = x[(i + n) / 2];",
        _SHARED + "if (i < n) out[i] = s[tid] * 2.0f;",
        _SHARED + "if (i < n) out[i] = fmaxf(x[i], s[tid]);",
    ],
)
def test_a_place_in_the_grid_and_copies_at_a_fixed_distance_are_proved(body: str):
    subject = small(_kernel(_INDEX + body, "#define T 256\n"), grid=("ceildiv(n, 256)",), sizes={"rows": 1, "n": 1000})
    assert _conjectured(subject) == {"-"}


@pytest.mark.parametrize("name", ["silu_and_mul", "softmax", "reduction", "merge_attn_states_lse", "rope", "matmul_opencl"])
def test_bundled_kernels_that_are_proved(name: str):
    assert _conjectured(bundled(name)) == {"-"}


def test_a_conjectured_size_says_what_is_not_proved():
    subject = small(_kernel(_INDEX + "if (i < n) out[i] = tid;", "#define T 256\n"), grid=("ceildiv(n, 256)",))
    (made,) = applied(LiftConstants(), subject).variant.tunables
    assert made.assumes == "results do not depend on T, although line 5 uses a thread's index in its block (tid)"
