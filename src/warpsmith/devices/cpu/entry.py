"""Owns the generated tail of a translation unit: the real kernel entry that calls the user's, and the helper entries.

The prelude turns `__global__` into a plain device function. The wrapper is what OpenCL launches: its pointer parameters are in
global memory, so that the runtime sees where loads and stores go once the user's function is inlined into it. The C++ types
come from the user's function itself, for kernel.toml names memory: `u8` memory may be a `uchar4*`, an `i32` scalar an enum, a
buffer a structure that the kernel takes by value.
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

# Each scalar is passed as an OpenCL type of its size; 16-bit and 8-bit floats as raw bits.
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

# Names in the tail are reserved, because the user's macros apply there (and must: an entry may be `k<N>`).
# These two, which attributes need, cannot be.
_FREED = "#undef global\n#undef address_space"
_KERNEL = 'extern "C" __attribute__((global)) void'
_GLOBAL = "__attribute__((address_space(1)))"


def kernel_names(constants: int) -> list[str]:
    """Kernels that the runtime may call, the entry first."""
    return [ENTRY, READ_TRAP, *(f"{SET_CONSTANT}{index}" for index in range(constants))]


def generated_tail(entry: str, parameters: Sequence[ParameterType], constants: Sequence[ParameterType]) -> str:
    """Text to append to the user's source."""
    count = len(parameters)
    lines = [
        f'\n#line 1 "{GENERATED_FILE}"',
        _FREED,
        f"using __warpsmith_signature = __warpsmith::__signature<decltype(&{entry})>;",
        f'static_assert(__warpsmith_signature::__count == {count}, "the kernel does not take {count} parameters");',
        *_entry(entry, parameters),
        f"{_KERNEL} {READ_TRAP}({_GLOBAL} int* __out) {{ __warpsmith::__read_trap(__out); }}",
    ]
    for index, constant in enumerate(constants):
        arguments = f"{_GLOBAL} const char* __bytes, long __count, {_GLOBAL} long* __size"
        setting = f"__warpsmith::__set_constant({constant.name}, __bytes, __count, __size);"
        lines.append(f"{_KERNEL} {SET_CONSTANT}{index}({arguments}) {{ {setting} }}")
    return "\n".join(lines) + "\n"


def _entry(entry: str, parameters: Sequence[ParameterType]) -> list[str]:
    checks: list[str] = []
    declared: list[str] = []
    passed: list[str] = []
    for index, parameter in enumerate(parameters):
        cpp_type = f"__warpsmith_signature::__type<{index}>"
        if parameter.is_pointer:
            checks.append(
                f"static_assert(__warpsmith::__pointer<{cpp_type}>::__takes_buffer, "
                f"\"parameter {index + 1} ('{parameter.name}') is not a pointer in the kernel\");"
            )
            declared.append(f"__warpsmith::__pointer<{cpp_type}>::__in_global __p{index}")
            passed.append(f"__warpsmith::__from_buffer<{cpp_type}>(__p{index})")
        else:
            carrier = _CARRIER[parameter.dtype]
            checks.append(
                f"static_assert(!__warpsmith::__pointer<{cpp_type}>::__is, "
                f"\"parameter {index + 1} ('{parameter.name}') is a pointer in the kernel\");"
            )
            checks.append(
                f"static_assert(__warpsmith::__pointer<{cpp_type}>::__is || __warpsmith::__fits<{cpp_type}, {carrier}>, "
                f"\"parameter {index + 1} ('{parameter.name}') is a structure in the kernel; give a buffer with its bytes\");"
            )
            declared.append(f"{carrier} __p{index}")
            passed.append(f"__warpsmith::__scalar<{cpp_type}>(__p{index})")
    return [
        *checks,
        f"{_KERNEL} {ENTRY}({', '.join(declared)}) {{",
        f"  {entry}({', '.join(passed)});",
        "}",
    ]
