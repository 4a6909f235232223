from __future__ import annotations

from dataclasses import replace

import pytest
from pass_subjects import CPU_LIMITS, applied, bundled, declined, small, squeezed

from warpsmith.core.dtype import DType
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject, Tunable
from warpsmith.refactor.passes.grid_share import GridShare
from warpsmith.refactor.passes.unroll import Unroll
from warpsmith.refactor.passes.whole_steps import WholeSteps
from warpsmith.spec.kernel import Scalar


def _kernel(body: str, parameters: str = "float* out, const float* x, int n") -> str:
    return f"__global__ void k({parameters}) {{\n{body}\n}}\n"


def _parameters(text: str, **options) -> dict[str, tuple[tuple[int, ...], int]]:
    return {t.name: (t.values, t.default) for t in applied(Unroll(), small(text, **options)).variant.tunables}


_STRIDED = "  for (int i = threadIdx.x; i < n; i += blockDim.x) {\n    out[i] = x[i];\n  }"


def test_loop_without_a_pragma_is_left_to_the_compiler_by_default():
    answer = applied(Unroll(), small(_kernel(_STRIDED)))
    branches = "".join(f"#elif UNROLL_I == {value}\n#pragma unroll {value}\n" for value in (1, 2, 4))
    expected = branches.replace("#elif", "#if", 1) + "#endif\n  for (int i = threadIdx.x;"
    assert expected in answer.variant.text, "nvcc knows no macro in a pragma"
    (tunable,) = answer.variant.tunables
    assert (tunable.values, tunable.default) == ((0, 1, 2, 4), 0)
    assert answer.choice is None


@pytest.mark.parametrize(
    ("pragma", "default", "values"),
    [("#pragma unroll", 0, (0, 1, 2, 4)), ("#pragma unroll 1", 1, (1, 2, 4)), ("#pragma unroll (8)", 8, (1, 2, 4, 8))],
)
def test_pragma_that_stands_there_is_the_default(pragma: str, default: int, values: tuple[int, ...]):
    answer = applied(Unroll(), small(_kernel(f"{pragma}\n{_STRIDED}")))
    others = "".join(f"#elif UNROLL_I == {value}\n#pragma unroll {value}\n" for value in values if value != default)
    expected = f"#if UNROLL_I == {default}\n{pragma}\n{others}#endif\n  for (int i"
    assert expected in answer.variant.text
    (tunable,) = answer.variant.tunables
    assert (tunable.values, tunable.default) == (values, default)


def test_known_trips_bound_the_factors_and_may_be_unrolled_altogether():
    def body(trips: int) -> str:
        return _kernel(f"  float s = 0.0f;\n  for (int t = 0; t < {trips}; ++t) {{\n    s += x[t * n];\n  }}\n  out[0] = s;")

    assert _parameters(body(3)) == {"UNROLL_T": ((0, 1, 2, 3), 0)}
    assert _parameters(body(100)) == {"UNROLL_T": ((0, 1, 2, 4), 0)}
    assert "short" in declined(Unroll(), small(body(2)))


def test_trips_may_depend_on_parameters():
    text = _kernel("#pragma unroll\n  for (int t = 0; t < DEPTH; ++t) {\n    out[t] = x[t];\n  }")
    assert _parameters(text, tunables=(Tunable("DEPTH", (4, 16), 4, ""),)) == {
        "DEPTH": ((4, 16), 4),
        "UNROLL_T": ((0, 1, 2), 0),
    }


def test_same_headers_follow_one_parameter_and_inner_loops_come_first():
    assert [t.name for t in applied(Unroll(), bundled("convolution_opencl")).variant.tunables] == ["UNROLL_J", "UNROLL_I"]
    answer = applied(Unroll(), bundled("transpose"))
    assert [t.name for t in answer.variant.tunables] == ["UNROLL_J"]
    assert answer.variant.text.count("#if UNROLL_J == ") == 2


def test_a_cpu_needs_fewer_choices():
    """One factor, of the innermost loops; none of short ones that are unrolled altogether."""
    (tunable,) = applied(Unroll(), bundled("matmul_opencl", CPU_LIMITS)).variant.tunables
    assert (tunable.name, tunable.values) == ("UNROLL_DEPTH", (0, 4))
    assert "no loop" in declined(Unroll(), bundled("convolution_opencl", CPU_LIMITS))


def test_loops_over_registers_must_stay_unrolled():
    own = "  float s[4];\n  for (int t = 0; t < 4; ++t) {\n    s[t] = x[t];\n  }\n  out[0] = s[0] + s[3];"
    assert "register arrays" in declined(Unroll(), small(_kernel(own)))
    packed = "  float4 v;\n  Pack p;\n  for (int t = 0; t < 4; ++t) {\n    out[t] = p.lane[t];\n  }"
    assert "register arrays" in declined(Unroll(), small(_kernel(packed)))
    shared = "  __shared__ float s[4];\n  for (int t = 0; t < 4; ++t) {\n    out[t] = s[t];\n  }"
    assert "UNROLL_T" in _parameters(_kernel(shared))
    local = "  __local float s[4];\n  for (int t = 0; t < 4; ++t) {\n    out[t] = s[t];\n  }"
    text = "__kernel void k(__global float* out, const __global float* x, int n) {\n" + local + "\n}\n"
    assert "UNROLL_T" in _parameters(text, language=Language.OPENCL)


def test_loop_that_waits_at_a_barrier_is_left_alone():
    body = "  for (int t = 0; t < n; ++t) {\n    __syncthreads();\n    out[t] = x[t];\n  }"
    assert "barriers" in declined(Unroll(), small(_kernel(body)))


def test_the_rest_of_another_loop_is_left_alone():
    body = "  for (int i = n - n % 4 + threadIdx.x; i < n; i += blockDim.x) {\n    out[i] = x[i];\n  }"
    assert "no loop" in declined(Unroll(), small(_kernel(body)))


def test_whole_steps_are_unrolled_already():
    subject = bundled("fused_add_rmsnorm")
    other = applied(WholeSteps(), subject).alternatives[4]
    assert "no loop" in declined(Unroll(), type(subject)(subject.kernel, subject.limits, other))


def test_whole_steps_of_a_share_leave_a_rest_too():
    subject = bundled("reduction")
    share = applied(GridShare(), subject).alternatives[1]
    shared = Subject(subject.kernel, subject.limits, share)
    assert [t.name for t in applied(Unroll(), shared).variant.tunables] == ["UNROLL_I"]
    whole = applied(WholeSteps(), shared).alternatives[4]
    assert "no loop" in declined(Unroll(), Subject(subject.kernel, subject.limits, whole))


def test_other_directives_are_not_disturbed():
    assert "no loop" in declined(Unroll(), small(_kernel(f"#pragma nounroll\n{_STRIDED}")))
    assert "no loop" in declined(Unroll(), small(_kernel(f"#pragma unroll\n  // why\n{_STRIDED}")))
    either = "#if FAST\n#pragma unroll\n#else\n#pragma unroll 1\n#endif"
    assert "no loop" in declined(Unroll(), small(_kernel(f"{either}\n{_STRIDED}")))
    asked = _kernel(f"#ifdef FAST\n#pragma unroll\n#endif\n{_STRIDED}")
    assert "no loop" in declined(Unroll(), small(f"#define FAST\n{asked}"))
    assert applied(Unroll(), small(asked)).variant.tunables, "nobody defines FAST"


def test_a_loop_that_is_the_body_of_another_keeps_its_pragma():
    nested = "  for (int i = 0; i < 8; ++i)\n#pragma unroll 2\n    for (int j = 0; j < 8; ++j) out[i * 8 + j] = x[j];"
    made = applied(Unroll(), small(_kernel(nested))).variant
    assert [t.name for t in made.tunables] == ["UNROLL_I"]
    assert nested in made.text


def test_no_more_than_four_parameters():
    loops = "\n".join(
        f"  for (int {v} = 0; {v} < n; ++{v}) {{\n    out[{v}] = x[{v}];\n  }}" for v in ("a", "b", "c", "d", "e", "f")
    )
    assert len(_parameters(_kernel(loops))) == 4


def test_loop_in_a_device_function_counts_too():
    text = """__device__ float total(const float* x, int n) {
  float s = 0.0f;
  for (int t = 0; t < n; ++t) {
    s += x[t];
  }
  return s;
}
__global__ void k(float* out, const float* x, int n) { out[threadIdx.x] = total(x, n); }
"""
    assert "UNROLL_T" in _parameters(text)
    assert squeezed("#pragma unroll 4 #endif for (int t = 0;") in squeezed(applied(Unroll(), small(text)).variant.text)


_GUARDED = """  float s = 0.0f;
  for (int i = 0; i < 9; ++i) {
#pragma unroll
    for (int j = 0; j < 9; ++j) {
#pragma unroll
      for (int p = 0; p < PIXELS; ++p) s += READ;
    }
  }
  out[threadIdx.x] = s;"""


def _branch_rules(read: str, pixels: tuple[int, ...], default: int = 1) -> list[str]:
    text = _kernel(_GUARDED.replace("READ", read))
    tunables = (Tunable("PIXELS", pixels, default, "pixels of a thread"),)
    rules = applied(Unroll(), small(text, tunables=tunables)).variant.rules
    return [rule.expression for rule in rules if "unrolled branches" in rule.reason]


def test_copies_of_branches_are_bounded():
    count = "max(UNROLL_I, 1) * (9 if UNROLL_J == 0 else UNROLL_J) * PIXELS"
    assert _branch_rules("p + i < n ? x[p + i + j] : 0.0f", (1, 8)) == [f"{count} <= 512"]
    assert _branch_rules("(p < n ? x[p] : 0.0f) + (i < n ? x[i + j] : 0.0f)", (1, 4)) == [f"2 * {count} <= 512"]


def test_no_bound_where_nothing_branches_or_parameters_cannot_reach_it():
    assert _branch_rules("x[p + i + j]", (1, 64)) == []
    assert _branch_rules("p + i < n ? x[p + i + j] : 0.0f", (1, 6)) == []


def test_what_the_author_wrote_is_within_the_bound():
    (rule,) = _branch_rules("p + i < n ? x[p + i + j] : 0.0f", (16, 100), default=100)
    assert rule.endswith("<= 900")


def test_a_counter_declared_before_its_loop():
    assert _parameters(_kernel("  int j;\n  for (j = 0; j < n; j++) {\n    out[j] = x[j];\n  }")) == {
        "UNROLL_J": ((0, 1, 2, 4), 0)
    }


def test_a_loop_from_tile_to_tile_is_left_as_it_is_around_others():
    text = _kernel(
        "  for (int k = 0; k < n; k += 16) {\n    for (int d = 0; d < 16; ++d) {\n      out[0] += x[k + d];\n    }\n  }",
    )
    assert list(_parameters(text)) == ["UNROLL_D"]


def test_loops_are_unrolled_from_within():
    inner = "#pragma unroll\n    for (int j = 0; j < 9; ++j) {\n      out[0] += x[i * 9 + j];\n    }"
    answer = applied(Unroll(), small(_kernel(f"  for (int i = 0; i < 9; ++i) {{\n{inner}\n  }}")))
    assert [rule.expression for rule in answer.variant.rules] == ["UNROLL_I == 0 or UNROLL_J == 0"]


@pytest.mark.parametrize("bound", ["limit", "10 % n"])
def test_bounds_without_a_whole_number_of_steps(bound: str):
    """A floating-point argument, and what has no value on a workload."""
    subject = small(_kernel(f"  for (int t = 0; t < {bound}; ++t) {{\n    out[0] += t;\n  }}"), scalars={"n": "n - 4000"})
    limit = Scalar("limit", DType("f32"), Expression.parse("1.5"))
    subject.kernel = replace(subject.kernel, arguments=(*subject.kernel.arguments, limit))
    text = subject.variant.text.replace("int n)", "int n, float limit)")
    subject.variant = replace(subject.variant, text=text)
    assert [t.values for t in applied(Unroll(), subject).variant.tunables] == [(0, 1, 2, 4)]
