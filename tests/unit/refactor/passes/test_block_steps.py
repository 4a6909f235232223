from __future__ import annotations

import pytest
from pass_subjects import applied, declined, small

from warpsmith.refactor.base import Subject, Variant
from warpsmith.refactor.passes.block_steps import BlockSteps

_SHARED = "__shared__ float s[256];\n  s[threadIdx.x] = x[blockIdx.x];\n  __syncthreads();\n  "
_INDEX = "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  "


def _subject(body: str, grid: tuple[str, ...] = ("rows",)) -> Subject:
    return small(f"__global__ void k(float* out, const float* x, int n) {{\n  {body}\n}}\n", grid=grid)


def _made(subject: Subject) -> Variant:
    answer = applied(BlockSteps(), subject)
    (made,) = set(answer.alternatives.values())
    return made


def test_grids_of_several_dimensions_are_divided_along_x():
    made = _made(_subject(f"{_SHARED}out[blockIdx.x] = s[blockIdx.y];", ("n", "rows")))
    assert "for (int step = 0; step < BLOCK_STEPS; ++step) {" in made.text
    assert "const unsigned int block = blockIdx.x * BLOCK_STEPS + step;" in made.text
    assert "__syncthreads();  // before shared memory is written again" in made.text
    assert made.grid == ("n / BLOCK_STEPS", "rows")
    assert [rule.expression for rule in made.rules] == ["(n) % BLOCK_STEPS == 0"]


def test_blocks_of_elements_whose_threads_work_together():
    made = _made(_subject(f"{_INDEX}{_SHARED}out[i] = s[0];"))
    assert "const int i = block * blockDim.x + threadIdx.x;" in made.text


@pytest.mark.parametrize(
    ("body", "grid", "reason"),
    [
        ("out[blockIdx.x] = x[blockIdx.y];", ("n", "rows"), "threads do not cooperate: use thread_steps"),
        (f"{_SHARED}out[blockIdx.x] = s[0];", ("rows",), "each block does a row: use rows_per_block"),
        (f"{_SHARED}out[blockIdx.x] = s[blockIdx.y];", ("n + 1", "rows"), "not always even"),
        (f"{_SHARED}out[blockIdx.x] = s[blockIdx.y];", ("2", "1"), "leave compute units idle"),
    ],
)
def test_declines(body: str, grid: tuple[str, ...], reason: str):
    assert reason in declined(BlockSteps(), _subject(body, grid))
