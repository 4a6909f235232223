from __future__ import annotations

from dataclasses import replace

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.refactor.base import Subject, Variant
from warpsmith.refactor.passes.joined_rows import JoinedRows
from warpsmith.refactor.passes.rows_per_block import RowsPerBlock
from warpsmith.refactor.passes.staging import Staging
from warpsmith.refactor.passes.sweeps import Sweeps

_SUM = """__device__ float total(float v) { __shared__ float s[256]; s[threadIdx.x] = v; __syncthreads(); return s[0]; }
"""


def _kernel(body: str, parameters: str = "int n") -> str:
    return f"{_SUM}__global__ void k(float* out, const float* x, {parameters}) {{\n  {body}\n}}\n"


def _body(*, before: str = "", between: str = "const float all = total(sum);", step: str = "sum += row[i];") -> str:
    return f"""const float* row = x + blockIdx.x * n;
  float* to = out + blockIdx.x * n;
  float sum = 0.0f;
  {before}
  for (int i = threadIdx.x; i < n; i += blockDim.x) {{ {step} }}
  {between}
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = row[i] * all;"""


def _made(subject: Subject) -> Variant:
    answer = applied(JoinedRows(), subject)
    assert answer.variant == subject.variant  # the default is the original itself
    (made,) = set(answer.alternatives.values())
    return made


def _looped(subject: Subject) -> Subject:
    """As the pass meets it where `rows_per_block` was applied before."""
    rows = applied(RowsPerBlock(), subject)
    return Subject(subject.kernel, subject.limits, rows.alternatives[2], frozenset({"ROWS_PER_BLOCK"}))


def test_each_stage_has_a_row_of_its_own():
    text = squeezed(_made(small(_kernel(_body()))).text)
    assert "for (int step = 0; step < rows_here + 1; ++step)" in text
    # The row is found again from the block; what the first sweep found out is kept.
    assert "const unsigned int block_2 = blockIdx.x * ROWS_PER_BLOCK + min(max(step - 1, 0), rows_here - 1);" in text
    assert "const float* row_2 = x + block_2 * n; float* to_2 = out + block_2 * n; const float all_2 = all_kept;" in text
    assert "sum_2" not in text
    # The earlier row's second sweep stands beside the later row's first one.
    joined = "for (int i = threadIdx.x; i < n; i += blockDim.x) { to_2[i] = row_2[i] * all_2; { sum_1 += row_1[i]; } }"
    assert f"if (step >= 1 && step < rows_here) {{ {joined} }} else {{" in text
    assert "if (step < rows_here) { const float all_1 = total(sum_1); all_kept = all_1; } __syncthreads();" in text


def test_rows_that_an_argument_counts():
    made = _made(small(_kernel(_body(), "int n, int count"), scalars={"n": "n", "count": "rows"}))
    wanted = "const int rows_here = min(ROWS_PER_BLOCK, static_cast<int>(count) - static_cast<int>(blockIdx.x * ROWS_PER_BLOCK));"
    assert wanted in made.text
    assert made.grid == ("ceildiv(rows, ROWS_PER_BLOCK)",)


@pytest.mark.parametrize("scalars", [{"n": "n", "count": "rows"}, {"n": "n", "count": "7"}])
def test_rows_that_a_block_does_already_are_joined_in_the_same_way(scalars: dict[str, str]):
    subject = small(_kernel(_body(), "int n, int count"), scalars=scalars)
    looped = _looped(subject)
    alone, after = _made(subject), _made(looped)
    assert (squeezed(after.text), after.grid) == (squeezed(alone.text), alone.grid)
    # Their number comes with this pass only where no other form has it.
    assert [t.name for t in alone.tunables] == ["ROWS_PER_BLOCK"]
    assert not after.tunables
    single = Subject(subject.kernel, subject.limits, subject.variant, looped.parameters)
    assert declined(JoinedRows(), single) == "a block does one row"


def test_a_loop_that_somebody_else_wrote_is_left_alone():
    looped = _looped(small(_kernel(_body())))
    text = looped.variant.text.replace("one after the other", "and each needs the one before")
    assert text != looped.variant.text
    assert declined(JoinedRows(), Subject(looped.kernel, looped.limits, replace(looped.variant, text=text)))


def test_rows_of_a_loop_that_can_be_left_are_not_joined():
    body = _body(before="if (n < 0) return;")
    assert declined(JoinedRows(), _looped(small(_kernel(body.replace("total(sum)", "sum")))))


def test_three_sweeps_of_a_softmax():
    subject = bundled("softmax")
    swept = applied(Sweeps(), subject).alternatives[1]
    text = squeezed(_made(Subject(subject.kernel, subject.limits, swept)).text)
    assert "step < rows_here + 2;" in text
    # All three, the first two where a block begins, the last two where it ends.
    assert "if (step >= 2 && step < rows_here) {" in text
    assert "} else if (step == 1 && step < rows_here) {" in text
    assert "} else if (step == rows_here && step >= 2) {" in text
    assert text.index("to_3[i] = y;") < text.index("to_2[i] = y;") < text.index("top_1 = higher;")
    assert "const int packs = cols / kLanes; // A block does what" in text  # the same for all rows
    assert "float mass_2 = 0.0f;" in text  # first changed in the second sweep: it need not be kept until then
    assert "mass_1" not in text


def test_a_row_in_shared_memory_must_be_read_again_first():
    subject = bundled("fused_add_rmsnorm")
    assert "shared memory (staged) is used after more than one sweep" in declined(JoinedRows(), subject)
    again = applied(Staging(), subject).alternatives[1]
    assert "res_2[i]" in _made(Subject(subject.kernel, subject.limits, again)).text


def test_rows_that_are_joined_are_not_joined_again():
    subject = small(_kernel(_body()))
    made = Subject(subject.kernel, subject.limits, _made(subject))
    assert declined(JoinedRows(), made)
    assert declined(RowsPerBlock(), made)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "const int b = blockIdx.x;\n  for (int i = threadIdx.x; i < n; i += blockDim.x) out[b * n + i] = x[i];",
            "more than once",
        ),
        (_body(before="const int m = n - blockIdx.x;").replace("i < n", "i < m"), "is not the same for all rows"),
        (_body(before="sum = out[blockIdx.x];"), "a statement other than a declaration precedes the first sweep over the row"),
        (_body(before="float other;"), "without an initialiser"),
        (_body(step="if (row[i] < 0.0f) continue; sum += row[i];"), "can break or continue"),
        (_body(step="sum += total(row[i]);"), "contains a barrier"),
        (_body(between="const auto all = total(sum);"), "all is needed after the next sweep, and its type"),
        (_body(between="const float all[1] = {total(sum)};").replace("* all", "* all[0]"), "its type cannot be copied"),
        (_body(before="float low = 0.0f, all = 1.0f;", between="all = total(sum);"), "declared together with others"),
        (_body(before="__shared__ float all;", between="all = total(sum);"), "shared memory (all) is used after more than one"),
        (_body() + "\n  to[0] = total(sum);", "shared memory (total()) is used after more than one"),
        (_body(before="if (n < 0) return;"), "a row can be left early"),
    ],
)
def test_declines(body: str, reason: str):
    assert reason in declined(JoinedRows(), small(_kernel(body)))
