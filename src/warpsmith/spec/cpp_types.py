"""Memory layout of a kernel's parameter types, as far as their names determine it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Language

_NAMES = {
    DType.F64: "double",
    DType.F32: "float",
    DType.F16: "half __half _Float16 Half",
    DType.BF16: "bfloat16 nv_bfloat16 __nv_bfloat16 hip_bfloat16 __hip_bfloat16 BFloat16",
    DType.F8E4M3: "__nv_fp8_e4m3",
    DType.F8E5M2: "__nv_fp8_e5m2",
    DType.I64: "long longlong int64_t ptrdiff_t",
    DType.I32: "int int32_t",
    DType.I16: "short int16_t",
    DType.I8: "char int8_t",
    DType.U64: "ulong ulonglong uint64_t size_t",
    DType.U32: "uint uint32_t",
    DType.U16: "ushort uint16_t",
    DType.U8: "uchar uint8_t",
    DType.BOOL: "bool",
}
_DTYPES = {name: dtype for dtype, names in _NAMES.items() for name in names.split()}
_NAMESPACES = re.compile(r"^(?:::)?(?:(?:std|at|c10)::)?")
_VECTOR = re.compile(r"(?P<element>\w*?[A-Za-z_]\w*?)(?P<lanes>1|2|3|4|8|16)")
_WHOLE_WORDS = frozenset({"signed", "unsigned", "long", "short", "int", "char"})
_SMALL = 2  # bytes of the formats that travel packed or as raw bits
_MAX_ALIASES = 8  # more than people nest; ends where two of them name each other


@dataclass(frozen=True, slots=True)
class CppType:
    """Memory of several elements side by side: a `float4` is four f32."""

    dtype: DType
    lanes: int = 1
    is_long: bool = False  # C++'s `long` has the size that the host's compiler gives it

    def elements(self, language: Language) -> int:
        """Number of elements of the dtype it occupies: in OpenCL a vector of three occupies four."""
        return 4 if self.lanes == 3 and language is Language.OPENCL else self.lanes

    def has_size(self, dtype: DType) -> bool:
        """Whether an element may have as many bytes as that type."""
        return dtype.itemsize == self.dtype.itemsize or (self.is_long and dtype.itemsize == DType.I32.itemsize)


def cpp_type(name: str, language: Language, aliases: Mapping[str, str | None]) -> CppType | None:
    """The layout of a type name; None if unknown. `aliases` maps names that stand for others, to None where ambiguous."""
    for _ in range(_MAX_ALIASES):
        if name not in aliases:
            break
        target = aliases[name]
        if target is None:
            return None
        name = target
    words = _NAMESPACES.sub("", re.sub(r"\s*::\s*", "::", " ".join(name.split())))
    plain = _one_word(words)
    if (dtype := _DTYPES.get(plain)) is not None:
        return CppType(dtype, is_long=plain in {"long", "ulong"} and language is not Language.OPENCL)
    vector = _VECTOR.fullmatch(plain)
    if vector is None or (language is not Language.OPENCL and int(vector["lanes"]) > 4):
        return None  # in CUDA an `int8` is what its author says
    element = _DTYPES.get(vector["element"])
    return CppType(element, int(vector["lanes"])) if element is not None else None


def _one_word(text: str) -> str:
    """`unsigned long int` → `ulong`: one name for all spellings."""
    words = text.split()
    if not words or not _WHOLE_WORDS.issuperset(words):
        return text
    sign = "u" if "unsigned" in words else ""
    size = next((word for word in ("char", "short", "long") if word in words), "int")
    return f"{sign}{size}{'long' if words.count('long') > 1 else ''}"


def may_be_value(declared: CppType, dtype: DType) -> bool:
    """Whether a parameter of that type can take a scalar of the dtype. A GPU gets its raw bytes: nothing is converted.

    Integers may be wider than the parameter (little-endian, the low bytes come first). 16-bit and 8-bit formats may travel as
    raw bits.
    """
    if declared.lanes > 1:
        return dtype.itemsize == declared.lanes * declared.dtype.itemsize
    if dtype.is_float or declared.dtype.is_float:
        is_raw = dtype.is_float != declared.dtype.is_float and declared.dtype.itemsize <= _SMALL and declared.has_size(dtype)
        return dtype is declared.dtype or is_raw
    return declared.has_size(dtype) or dtype.itemsize > declared.dtype.itemsize


def may_be_memory(declared: CppType, dtype: DType, *, as_bits: bool) -> bool:
    """Whether a pointer to that type can refer to memory of the dtype; `as_bits` where floats are read as integers.

    Bytes can hold anything, and a vector whatever fits into it: a `float4*` often loads eight f16. Integers may also hold
    smaller ones side by side, and 16-bit formats may travel as raw bits.
    """
    own = declared.dtype
    if dtype is own or 1 in {dtype.itemsize, own.itemsize}:
        return True
    if declared.lanes > 1:
        return dtype.itemsize <= own.itemsize * (1 if own.is_float else declared.lanes)
    if own.is_float == dtype.is_float:
        return not own.is_float and (declared.has_size(dtype) or dtype.itemsize <= _SMALL)
    is_packed = not own.is_float and dtype.itemsize <= _SMALL
    return is_packed or (declared.has_size(dtype) and (as_bits or own.itemsize <= _SMALL))
