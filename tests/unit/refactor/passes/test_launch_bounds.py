"""`launch_bounds`: an empty macro where the bounds go."""

from dataclasses import replace

import pytest
from pass_subjects import applied, bundled, declined, small

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject, Tunable
from warpsmith.refactor.passes.launch_bounds import LaunchBounds
from warpsmith.source import parse_kernel

KERNEL = "template <typename T>\n__global__ void k(float* out, const float* x, int n) { out[0] = x[0]; }\n"


def test_new_bounds_follow_the_block():
    tunables = (Tunable("BLOCK", (32, 64), 64, ""),)
    for block, threads in ((("min(n / 4, BLOCK)",), "BLOCK"), (("BLOCK / 2", "8"), "(BLOCK / 2) * 8"), (("256",), "256")):
        rewrite = applied(LaunchBounds(), small(KERNEL, block=block, tunables=tunables))
        text = rewrite.variant.text
        assert text.startswith(
            "#if MIN_BLOCKS > 0\n#define LAUNCH_BOUNDS __launch_bounds__(" + threads + ", MIN_BLOCKS)\n#else\n"
        )
        assert "#define LAUNCH_BOUNDS\n#endif\ntemplate <typename T>\n__global__ void LAUNCH_BOUNDS k(" in text
        assert rewrite.variant.tunables[-1].default == 0


def test_bounds_that_are_there_get_a_second_number():
    text = applied(LaunchBounds(), bundled("matmul")).variant.text
    assert "#define LAUNCH_BOUNDS , MIN_BLOCKS\n" in text
    assert "__launch_bounds__(kThreads LAUNCH_BOUNDS) matmul_kernel(" in text


@pytest.mark.parametrize(
    ("text", "block", "reason"),
    [
        (KERNEL, ("n / 4",), "the block's size is not an expression of parameters and numbers"),
        (
            KERNEL.replace("void k", "void __launch_bounds__(256, 2) k"),
            ("256",),
            "its launch bounds already give the number of blocks",
        ),
        (KERNEL.replace("void k", "BOUNDS(256) void k"), ("256",), "BOUNDS may have launch bounds in it"),
    ],
)
def test_what_it_declines(text, block, reason):
    assert reason in declined(LaunchBounds(), small(text, block=block))


def test_opencl_has_none():
    subject = bundled("matmul_opencl")
    assert "OpenCL" in declined(LaunchBounds(), subject)
    other = Subject(replace(subject.kernel, language=Language.OPENCL), subject.limits, subject.variant)
    assert "OpenCL" in declined(LaunchBounds(), other)


def test_later_passes_can_still_read_the_kernel():
    for name in ("silu_and_mul", "matmul"):
        subject = bundled(name)
        text = applied(LaunchBounds(), subject).variant.text
        source = parse_kernel(text, subject.kernel.language, subject.kernel.entry)
        assert not source.has_errors()
        assert source.text == text


def test_a_macro_that_stands_for_nothing_promises_nothing():
    text = "#define BOUNDS(n)\n" + KERNEL.replace("void k", "BOUNDS(256) void k")
    assert "BOUNDS(256) void LAUNCH_BOUNDS k(" in applied(LaunchBounds(), small(text, block=("256",))).variant.text
