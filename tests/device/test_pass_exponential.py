"""What `exponential` and `fast_math` send calls to is right: over the whole range of floats, and in real kernels."""

from dataclasses import replace

import numpy as np
import pytest
from cpu_support import launch
from pass_support import Runner, original, rewritten

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject, Variant
from warpsmith.refactor.passes.exponential import Exponential
from warpsmith.refactor.passes.fast_math import FastMath

CUDA = "#include <math.h>\n__global__ void k(float* out, const float* x) { out[threadIdx.x] = expf(x[threadIdx.x]); }\n"
OPENCL = "__kernel void k(__global float* out, __global const float* x) { int i = get_local_id(0); out[i] = exp(x[i]); }\n"


@pytest.mark.parametrize(("language", "text"), [(Language.CUDA, CUDA), (Language.OPENCL, OPENCL)])
def test_the_polynomials_over_the_whole_range(language, text):
    kernel, _ = original("silu_and_mul")
    variant = Variant(text, "k", ("1",), ("4096",))
    subject = Subject(replace(kernel, language=language), None, variant)
    made = Exponential().apply(subject).variant.text
    x = np.concatenate([np.linspace(-86, 88.7, 4090), [-np.inf, np.inf, np.nan, -100, 100, 0]]).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    for value, tolerance in ((2, 4e-7), (3, 1.2e-5)):
        out = np.zeros_like(x)
        found = launch(made, [out, x], block=len(x), language=language, defines={"EXP": value})
        middle = np.abs(x) < 88.3 if value == 3 else slice(0, 4090)  # a little earlier at infinity
        assert np.max(np.abs(found[middle] / exact[middle] - 1)) < tolerance
        assert np.isnan(found[-4])
        assert (found[-6], found[-5], found[-3], found[-2]) == (0, np.inf, 0, np.inf)
        assert found[-1] == 1  # a running softmax multiplies its sum by e to the 0 thousands of times


def test_a_bundled_kernel_stays_right_with_other_fast_math_too(pool):
    kernel, variant = original("silu_and_mul_hip")
    small = [w for w in kernel.workloads if w.heldout][:1]
    limits = pool.describe().limits
    made = rewritten(Exponential(), kernel, variant, limits).variant
    cases = [(made, {"EXP": value}) for value in (0, 1, 2, 3)]
    both = rewritten(FastMath(), kernel, made, limits).variant
    cases += [(both, {"EXP": 2, "FAST_MATH": 1})]
    Runner(pool, kernel, variant, small).check(cases)
