"""`exponential`: the calls stay, a macro sends them elsewhere."""

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.passes.exponential import Exponential

KERNEL = "#include <math.h>\n__global__ void k(float* out, const float* x, int n) {{ out[0] = {0}; }}\n"


def test_calls_stay_as_they_are_and_the_macro_follows_the_includes():
    subject = bundled("silu_and_mul")
    rewrite = applied(Exponential(), subject)
    (tunable,) = rewrite.variant.tunables
    assert (tunable.name, tunable.values, tunable.default) == ("EXP", (0, 1, 2, 3), 0)
    text = rewrite.variant.text
    assert "#include <stdint.h>\n#if EXP == 1\n#define expf __expf\n#elif EXP == 2\n" in text
    assert "#define expf polynomial_exp\n#endif\n" in text
    assert "return x / (1.0f + expf(-x));" in text
    assert rewrite.choice is None


def test_a_kernel_that_uses_the_intrinsic_already_keeps_it_at_the_default():
    rewrite = applied(Exponential(), small(KERNEL.format("__expf(x[0])")))
    assert rewrite.variant.tunables[0].values == (0, 2, 3)
    assert "#define __expf polynomial_exp" in rewrite.variant.text


def test_opencl_speaks_its_own_words():
    text = "__kernel void k(__global float* out, __global const float* x, int n) { out[0] = exp(x[0]); }\n"
    made = squeezed(applied(Exponential(), small(text, language=Language.OPENCL)).variant.text)
    assert "#define exp native_exp" in made
    assert "as_float(as_uint(power) + (as_uint(shifted) << 23))" in made
    assert "__device__" not in made


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (KERNEL.format("x[0]"), "neither expf nor __expf is called"),
        (KERNEL.format("apply(expf, x[0]) + expf(x[0])"), "is used other than in a call"),
        (KERNEL.format("expf(x[0])") + "#include <later.h>\n", "before the last #include"),
        ("#if 1\n#include <math.h>\n#endif\n" + KERNEL.format("expf(x[0])").split("\n", 1)[1], "under an #if"),
    ],
)
def test_what_it_declines(text, reason):
    assert reason in declined(Exponential(), small(text))


def test_a_name_that_is_taken_gets_an_underscore():
    rewrite = applied(Exponential(), small("__constant__ int EXP;\n" + KERNEL.format("EXP * expf(x[0])")))
    assert rewrite.variant.tunables[0].name == "EXP_"
