"""Owns the generated tail of a translation unit: the real kernel entry that calls the user's, and the helper entries.

The prelude turns `__global__` into a plain device function. The wrapper is what OpenCL launches: its pointer parameters are in
global memory, so that the runtime sees where loads and stores go once the user's function is inlined into it. The C++ types
come from the user's function itself, for kernel.toml names memory: `u8` memory may be a `uchar4*`, an `i32` scalar an enum.
"""

from __future__ import annotations

from collections.abc import Sequence

from warpsmith.core.dtype import DType
from warpsmith.devices.base import ParameterType

GENERATED_FILE = "warpsmith-entry"
ENTRY = "__warpsmith_entry"
TRAP = "__warpsmith_trap"
READ_TRAP = "__warpsmith_read_trap"
SET_CONSTANT = "__warpsmith_set_constant_"

# How a scalar travels: by an OpenCL type of its size. 16-bit and 8-bit floats go as raw bits.
_CARRIER = {
    DType.F64: "double",
    DType.F32: "float",
    DType.F16: "_Float16",
    DType.BF16: "unsigned short",
    DType.F8E4M3: "unsigned char",
    DType.F8E5M2: "unsigned char",
    DType.I64: "long",
    DType.I32: "int",
    DType.I16: "short",
    DType.I8: "signed char",
    DType.U64: "unsigned long",
    DType.U32: "unsigned int",
    DType.U16: "unsigned short",
    DType.U8: "unsigned char",
    DType.BOOL: "unsigned char",
}

_SUPPORT = """
namespace __warpsmith_generated {
template <class F> struct signature;
template <class R, class... A> struct signature<R (*)(A...)> {
  static constexpr int count = sizeof...(A);
  template <int I> using type = __type_pack_element<I, A...>;
};
template <class R, class... A> struct signature<R (*)(A...) noexcept> : signature<R (*)(A...)> {};
template <class T> struct pointer { static constexpr bool ok = false; using in_global = __attribute__((address_space(1))) char*; };
template <class T> struct pointer<T*> { static constexpr bool ok = true; using in_global = __attribute__((address_space(1))) T*; };
template <class T, class V> __attribute__((device, always_inline)) inline T scalar(V value) {
  if constexpr (__is_arithmetic(T) || __is_enum(T)) return static_cast<T>(value);
  else return __builtin_bit_cast(T, value);
}
}
"""


def generated_tail(entry: str, parameters: Sequence[ParameterType], constants: Sequence[ParameterType]) -> str:
    """Text to append to the user's source."""
    count = len(parameters)
    lines = [
        f'\n#line 1 "{GENERATED_FILE}"',
        _SUPPORT,
        f"using __warpsmith_signature = __warpsmith_generated::signature<decltype(&{entry})>;",
        f'static_assert(__warpsmith_signature::count == {count}, "the kernel does not take {count} parameters");',
        *_entry(entry, parameters),
        f'extern "C" __attribute__((global)) void {READ_TRAP}(__attribute__((address_space(1))) int* out) {{',
        f"  for (int i = 0; i < 2; ++i) {{ out[i] = {TRAP}[i]; {TRAP}[i] = 0; }}",
        "}",
    ]
    for index, constant in enumerate(constants):
        lines += _constant_setter(index, constant.name)
    return "\n".join(lines) + "\n"


def _entry(entry: str, parameters: Sequence[ParameterType]) -> list[str]:
    checks: list[str] = []
    declared: list[str] = []
    passed: list[str] = []
    for index, parameter in enumerate(parameters):
        cpp_type = f"__warpsmith_signature::type<{index}>"
        if parameter.is_pointer:
            checks.append(
                f"static_assert(__warpsmith_generated::pointer<{cpp_type}>::ok, "
                f"\"parameter {index + 1} ('{parameter.name}') is not a pointer in the kernel\");"
            )
            declared.append(f"__warpsmith_generated::pointer<{cpp_type}>::in_global p{index}")
            passed.append(f"({cpp_type})p{index}")
        else:
            checks.append(
                f"static_assert(!__warpsmith_generated::pointer<{cpp_type}>::ok, "
                f"\"parameter {index + 1} ('{parameter.name}') is a pointer in the kernel\");"
            )
            declared.append(f"{_CARRIER[parameter.dtype]} p{index}")
            passed.append(f"__warpsmith_generated::scalar<{cpp_type}>(p{index})")
    return [
        *checks,
        f'extern "C" __attribute__((global)) void {ENTRY}({", ".join(declared)}) {{',
        f"  {entry}({', '.join(passed)});",
        "}",
    ]


def _constant_setter(index: int, symbol: str) -> list[str]:
    """Copies `count` bytes into the symbol, if they fit, and tells how many do."""
    space = "__attribute__((address_space(1)))"
    return [
        f'extern "C" __attribute__((global)) void {SET_CONSTANT}{index}({space} const char* bytes, long count, {space} long* size) {{',
        f"  *size = sizeof({symbol});",
        f"  if (count <= *size) for (long i = 0; i < count; ++i) ((char*)&{symbol})[i] = bytes[i];",
        "}",
    ]
