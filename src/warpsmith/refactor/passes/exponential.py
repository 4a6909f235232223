"""`exponential`: how e to the x is computed, the dearest function of activations, norms and attention.

Exposes: the calls of `expf` (CUDA, HIP) or `exp` (OpenCL), or of the intrinsic where the kernel already uses that.
Precondition: the function is called and not shadowed; no file is included after the first call, where the macro would reach it.
Parameters: EXP. Constraints: none; whether an approximation is good enough is decided by the kernel's tolerance on its workloads.

The calls stay as they are written: a macro after the includes sends them elsewhere, so at the default no token changes.
"""

from __future__ import annotations

import re
from dataclasses import replace

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import unreadable
from warpsmith.refactor.substitution import call_lines, insertion_point
from warpsmith.source import Edit

# The same two functions for both families of languages: the words differ, the arithmetic does not.
_CUDA_WORDS = {
    "QUALIFIERS": "static __device__ __forceinline__",
    "FMA": "fmaf",
    "BITS": "__float_as_uint",
    "NUMBER": "__uint_as_float",
}
_OPENCL_WORDS = {"QUALIFIERS": "static inline", "FMA": "fma", "BITS": "as_uint", "NUMBER": "as_float"}

# e^x = 2^(n - 1) * 2 * 2^r. Adding 1.5 * 2^23 - 1 rounds x / ln 2 to n and leaves n - 1 in the low bits, from where it is shifted
# into the exponent. The coefficients are minimax for 2^r on [-1/2, 1/2] among those with 2^0 = 1: a sum that is scaled by e^0 at
# every step, as a running softmax does, must not drift. log2(e) is taken in two parts, so that r is exact.
_CLOSE = """\
// e to the x by a polynomial: within 3e-7 of it, 0 where that is below 4e-38, infinite where e to the x is.
QUALIFIERS float NAME(float x) {
  float c = x < -86.2f ? -86.2f : x;
  c = c > 89.0f ? 89.0f : c;
  const float shifted = FMA(c, 1.44269502f, 12582911.0f);
  const float n = shifted - 12582911.0f;
  const float r = FMA(c, 1.92596299e-8f, FMA(c, 1.44269502f, -n));
  float power = FMA(r, 1.326472731e-3f, 9.671512991e-3f);
  power = FMA(r, power, 5.550733581e-2f);
  power = FMA(r, power, 2.402224243e-1f);
  power = FMA(r, power, 6.931470037e-1f);
  power = FMA(r, power, 1.0f);
  const float result = 2.0f * NUMBER(BITS(power) + (BITS(shifted) << 23));
  return x < -86.2f ? 0.0f : result;
}
"""
# The same with n + 127 in the low bits: the shift makes 2^n of them, and 0 or infinity where that is out of range.
_SHORT = """\
// e to the x by a shorter polynomial: within 3e-6 of it near 0, 1e-5 at the ends; 0 below 9e-39, infinite above 2.4e38.
QUALIFIERS float NAME(float x) {
  float c = x < -87.9f ? -87.9f : x;
  c = c > 89.0f ? 89.0f : c;
  const float shifted = FMA(c, 1.44269502f, 12583039.0f);
  const float r = FMA(c, 1.44269502f, 12583039.0f - shifted);
  float power = FMA(r, 9.582852945e-3f, 5.590642616e-2f);
  power = FMA(r, power, 2.402409911e-1f);
  power = FMA(r, power, 6.931241751e-1f);
  power = FMA(r, power, 1.0f);
  return power * NUMBER(BITS(shifted) << 23);
}
"""


class Exponential:
    name = "exponential"
    summary = "e^x by the library, by the hardware's approximation, or by a polynomial on the multiply-add units"
    stage = Stage.DECORATE
    concerns = frozenset({Concern.BALANCE})

    def apply(self, subject: Subject) -> Answer:
        source = subject.source
        if (unclear := unreadable(source)) is not None:
            return unclear
        opencl = source.language is Language.OPENCL
        exact, intrinsic = ("exp", "native_exp") if opencl else ("expf", "__expf")
        lines = {name: call_lines(source, name) for name in (exact, intrinsic)}
        called = next((name for name in (exact, intrinsic) if lines[name]), None)
        if called is None:
            return Declined(f"neither {exact} nor {intrinsic} is called")
        at = insertion_point(source, called)
        if isinstance(at, Declined):
            return at
        name = fresh_name(subject, "EXP")
        helper = fresh_name(subject, "polynomial_exp")
        hardware = [(1, f"#define {called} {intrinsic}\n")] if called == exact else []
        forms = [
            *hardware,
            *(
                (value, _function(text, helper, opencl) + f"#define {called} {helper}\n")
                for value, text in ((2, _CLOSE), (3, _SHORT))
            ),
        ]
        text = "".join(
            f"#{'if' if index == 0 else 'elif'} {name} == {value}\n{form}" for index, (value, form) in enumerate(forms)
        )
        approximate = f" · 1: {intrinsic}" if hardware else ""
        tunable = Tunable(
            name,
            (0, *(value for value, _ in forms)),
            0,
            f"e to the x. 0: {called}{approximate} · 2: a polynomial, within 3e-7 · 3: a shorter one, within 1e-5",
            lines[called][0],
        )
        variant = subject.variant
        edited = source.edited(Edit(at, at, f"{text}#endif\n\n"))
        return Rewrite(replace(variant, text=edited, tunables=(*variant.tunables, tunable)))


def _function(text: str, name: str, opencl: bool) -> str:
    words = {**(_OPENCL_WORDS if opencl else _CUDA_WORDS), "NAME": name}
    return re.sub(r"\b(?:QUALIFIERS|FMA|BITS|NUMBER|NAME)\b", lambda match: words[match.group()], text)
