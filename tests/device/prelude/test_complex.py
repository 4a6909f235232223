"""complex.h and cuComplex.h: the same numbers as Python's."""

from __future__ import annotations

import cmath

import numpy as np
import pytest

A, B = complex(1.5, -2.25), complex(-0.5, 0.75)
FUNCTIONS = {
    "a * b": A * B, "a / b": A / B, "a + 2.0": A + 2, "3.0 - b": 3 - B, "-a": -A, "conj(a)": A.conjugate(), "exp(a)": cmath.exp(A),
    "sqrt(b)": cmath.sqrt(B), "sqrt(a)": cmath.sqrt(A), "log(a)": cmath.log(A), "pow(a, b)": A**B, "sin(a)": cmath.sin(A),
    "cosh(b)": cmath.cosh(B), "N::polar(abs(a), arg(a))": A, "C(norm(a), a == b)": abs(A) ** 2 + 0j,
}  # fmt: skip


@pytest.mark.parametrize("namespace", ["std", "thrust", "cuda::std"])
def test_complex(run, namespace):
    out = np.zeros(len(FUNCTIONS), np.complex128)
    numbers = np.array([A, B])
    lines = "\n".join(f"put({expression});" for expression in FUNCTIONS)
    code = f"""
    #include <complex>
    #include <thrust/complex.h>
    #include <cuda/std/complex>
    __global__ void k(double* out, const double* x) {{
      namespace N = {namespace};
      using C = N::complex<double>;
      const C a(x[0], x[1]), b(x[2], x[3]);
      auto put = [&](C z) {{ *out++ = z.real(); *out++ = z.imag(); }};
      {lines}
    }}"""
    run(code, out.view(np.float64), numbers.view(np.float64), block=(1, 1, 1))
    np.testing.assert_allclose(out, list(FUNCTIONS.values()), rtol=1e-14, atol=1e-15)


def test_cu_complex(run):
    out = np.zeros(4, np.complex128)
    code = """
    #include <cuComplex.h>
    __global__ void k(double2* out, const double2* x) {
      out[0] = cuCdiv(cuCmul(x[0], x[0]), x[1]);
      out[1] = cuCfma(x[0], x[1], cuConj(x[0]));
      out[2] = make_cuDoubleComplex(cuCabs(x[0]), cuCimag(x[1]));
      out[3] = cuComplexFloatToDouble(cuCsubf(make_cuComplex(1, 2), make_cuFloatComplex(3, 5)));
    }"""
    run(code, out.view(np.float64), np.array([A, B]).view(np.float64), block=(1, 1, 1))
    np.testing.assert_allclose(out, [A * A / B, A * B + A.conjugate(), complex(abs(A), B.imag), complex(-2, -3)], rtol=1e-14)
