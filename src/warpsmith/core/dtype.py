"""The element types a kernel's memory may have, with their NumPy form and default tolerance."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


class DType(StrEnum):
    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    F8E4M3 = "f8e4m3"
    F8E5M2 = "f8e5m2"
    I64 = "i64"
    I32 = "i32"
    I16 = "i16"
    I8 = "i8"
    U64 = "u64"
    U32 = "u32"
    U16 = "u16"
    U8 = "u8"
    BOOL = "bool"

    @property
    def numpy(self) -> np.dtype[Any]:
        import ml_dtypes  # noqa: PLC0415 - loaded when used, so that `--help` stays fast
        import numpy as np  # noqa: PLC0415

        special = {
            DType.BF16: ml_dtypes.bfloat16,
            DType.F8E4M3: ml_dtypes.float8_e4m3fn,
            DType.F8E5M2: ml_dtypes.float8_e5m2,
            DType.BOOL: np.bool_,
        }
        plain = {"f": "float", "i": "int", "u": "uint"}
        return np.dtype(special[self] if self in special else plain[self.value[0]] + self.value[1:])

    @property
    def is_float(self) -> bool:
        return self.value.startswith(("f", "bf"))

    @property
    def is_whole(self) -> bool:
        return self.value.startswith(("i", "u"))

    @property
    def itemsize(self) -> int:
        return self.numpy.itemsize

    @property
    def tolerance(self) -> tuple[float, float]:
        """(rtol, atol) against a float64 oracle when kernel.toml names none; integers must be equal.

        A few units in the last place of the type times the growth of a reduction over some thousand terms.
        """
        return _TOLERANCE.get(self, (0.0, 0.0))


_TOLERANCE = {
    DType.F64: (1e-10, 1e-12),
    DType.F32: (1e-4, 1e-5),
    DType.F16: (1e-2, 1e-3),
    DType.BF16: (2e-2, 1e-2),
    DType.F8E4M3: (0.13, 2e-2),
    DType.F8E5M2: (0.26, 4e-2),
}
