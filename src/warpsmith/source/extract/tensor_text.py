"""The C++ that stands in for PyTorch's headers in a standalone file: 8-bit floats, complex numbers, limits of floats, marks.

Only what device code asks of them. Which names are asked for: `tensor_types`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# The marks, and what they come to under a compiler of device code.
MARKS = {
    "C10_DEVICE": "__device__",
    "C10_HOST_DEVICE": "__host__ __device__",
    "C10_ALWAYS_INLINE": "__forceinline__",
    "gpuAtomicAdd": "atomicAdd",
    "gpuAtomicAddNoReturn": "atomicAdd",
    "C10_LAUNCH_BOUNDS_0": "__launch_bounds__(256, 4)",
    "C10_LAUNCH_BOUNDS_1(threads)": "__launch_bounds__((threads))",
    "C10_LAUNCH_BOUNDS_2(threads, blocks)": "__launch_bounds__((threads), (blocks))",
}
# nvcc lets both sides be said of a variable, NVRTC does not; it has no host's side anyway.
MARKS_OF_NVRTC = {"C10_HOST_DEVICE": "__device__"}
DEVICE_MARKS = frozenset({"C10_DEVICE", "C10_HOST_DEVICE"})


@dataclass(frozen=True, slots=True)
class Limits:
    """The bits of a float's landmarks; no infinity is None. `raw` makes a value of bits."""

    raw: str
    digits: int
    smallest: int
    largest: int
    lowest: int
    epsilon: int
    infinity: int | None
    not_a_number: int


_FROM_BITS = "{name}(0x{bits:x}, {name}::from_bits())"
LIMITS = {
    "Half": Limits("__half_raw{{0x{bits:x}}}", 11, 0x0400, 0x7BFF, 0xFBFF, 0x1400, 0x7C00, 0x7E00),
    "BFloat16": Limits("__nv_bfloat16_raw{{0x{bits:x}}}", 8, 0x0080, 0x7F7F, 0xFF7F, 0x3C00, 0x7F80, 0x7FC0),
    "Float8_e4m3fn": Limits(_FROM_BITS, 4, 0x08, 0x7E, 0xFE, 0x20, None, 0x7F),
    "Float8_e5m2": Limits(_FROM_BITS, 3, 0x04, 0x7B, 0xFB, 0x34, 0x7C, 0x7F),
}
_FORMATS = {"Float8_e4m3fn": "__NV_E4M3", "Float8_e5m2": "__NV_E5M2"}


def small_float(name: str) -> Iterator[str]:
    """PyTorch's converts to float and from it without being asked, unlike the toolkit's; what is too large is not clamped."""
    kind = _FORMATS[name]
    yield f"struct {name} {{"
    yield "  struct from_bits_t {};"
    yield "  __host__ __device__ static constexpr from_bits_t from_bits() { return from_bits_t(); }"
    yield "  unsigned char x;"
    yield f"  {name}() = default;"
    yield f"  __host__ __device__ constexpr {name}(unsigned char bits, from_bits_t) : x(bits) {{}}"
    yield f"  __host__ __device__ {name}(float value) : x(__nv_cvt_float_to_fp8(value, __NV_NOSAT, {kind})) {{}}"
    yield f"  __host__ __device__ operator float() const {{ return __half2float(__half(__nv_cvt_fp8_to_halfraw(x, {kind}))); }}"
    yield "};"


def limits(name: str, qualified: str) -> Iterator[str]:
    """Without this, `std::numeric_limits` of a type that it does not know is all zeros, silently."""
    known = LIMITS[name]
    yield "namespace std {"
    yield f"template <> class numeric_limits<{qualified}> {{"
    yield " public:"
    yield "  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;"
    yield f"  static constexpr bool has_infinity = {'false' if known.infinity is None else 'true'}, has_quiet_NaN = true;"
    yield f"  static constexpr int radix = 2, digits = {known.digits};"
    values = {
        "min": known.smallest,
        "max": known.largest,
        "lowest": known.lowest,
        "epsilon": known.epsilon,
        "infinity": known.infinity,
        "quiet_NaN": known.not_a_number,
    }
    for function, bits in values.items():
        if bits is not None:
            made = known.raw.format(name=qualified, bits=bits)
            yield f"  __host__ __device__ static constexpr {qualified} {function}() {{ return {made}; }}"
    yield "};"
    yield "}"


def complex_number() -> Iterator[str]:
    """Arithmetic as it is defined, without the special cases of numbers that are not finite."""
    method = "__host__ __device__ constexpr"
    yield "template <typename T> struct alignas(2 * sizeof(T)) complex {"
    yield "  using value_type = T;"
    yield "  T real_ = T(0), imag_ = T(0);"
    yield "  constexpr complex() = default;"
    yield f"  {method} complex(T real, T imag = T(0)) : real_(real), imag_(imag) {{}}"
    yield f"  {method} T real() const {{ return real_; }}"
    yield f"  {method} T imag() const {{ return imag_; }}"
    yield f"  {method} complex operator-() const {{ return complex(-real_, -imag_); }}"
    for sign in "+-":
        parts = f"real_ {sign} y.real_, imag_ {sign} y.imag_"
        yield f"  {method} complex operator{sign}(complex y) const {{ return complex({parts}); }}"
    yield f"  {method} complex operator*(complex y) const {{"
    yield "    return complex(real_ * y.real_ - imag_ * y.imag_, real_ * y.imag_ + imag_ * y.real_);"
    yield "  }"
    for sign in "+-*":
        yield f"  {method} complex& operator{sign}=(complex y) {{ return *this = *this {sign} y; }}"
    yield "};"
    for sign in "+-*":
        yield f"template <typename T> {method} complex<T> operator{sign}(T x, complex<T> y) {{ return complex<T>(x) {sign} y; }}"
        yield f"template <typename T> {method} complex<T> operator{sign}(complex<T> x, T y) {{ return x {sign} complex<T>(y); }}"
