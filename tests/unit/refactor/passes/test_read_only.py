"""`read_only`: an empty macro where `__restrict__` goes."""

from pass_subjects import applied, bundled, declined, small

from warpsmith.core.hardware import Language
from warpsmith.refactor.passes.read_only import ReadOnly
from warpsmith.source import parse_kernel


def test_pointers_that_lack_the_word_get_it():
    text = "__global__ void k(float* out, const float *x, int n) { out[0] = x[0]; }\n"
    made = applied(ReadOnly(), small(text)).variant
    assert "void k(float* NO_OVERLAP out, const float *NO_OVERLAP x, int n)" in made.text
    assert "#if READ_ONLY\n#define NO_OVERLAP __restrict__\n#else\n#define NO_OVERLAP\n#endif\n" in made.text
    assert made.tunables[0].meaning.startswith("1: out, x do not overlap")


def test_only_those_that_lack_it():
    text = "__global__ void k(float* __restrict__ out, const float* x, int n) { out[0] = x[0]; }\n"
    assert "float* __restrict__ out, const float* NO_OVERLAP x" in applied(ReadOnly(), small(text)).variant.text


def test_opencl_has_a_word_of_its_own():
    text = "__kernel void k(__global float* out, __global const float* x, int n) { out[0] = x[0]; }\n"
    assert "#define NO_OVERLAP restrict\n" in applied(ReadOnly(), small(text, language=Language.OPENCL)).variant.text


def test_nothing_to_say():
    for name in ("silu_and_mul", "convolution_opencl"):  # the other pointer of the second is to constant memory
        assert "every pointer already has __restrict__" in declined(ReadOnly(), bundled(name))


def test_later_passes_can_still_read_the_kernel():
    text = "__global__ void k(float* out, const float *x, int n) { out[0] = x[0]; }\n"
    source = parse_kernel(applied(ReadOnly(), small(text)).variant.text, Language.CUDA, "k")
    assert not source.has_errors()
    assert [(p.name, p.depth) for p in source.parameters] == [("out", 1), ("x", 1), ("n", 0)]
