"""The code base as NVRTC can compile it where it stands: a copy whose host code is blanked, beside which the extract is judged.

The blanking is the CPU device's, not the extractor's, so the two are made by different means. What NVRTC still complains about in
host-only declarations is blanked next; device code is never touched. Headers of libraries for the host become empty ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from warpsmith.devices._clang.host_code import without_host_code, without_host_lines
from warpsmith.devices.base import CompileError
from warpsmith.devices.cuda import CompiledCubin, compile_cubin
from warpsmith.devices.cuda.headers import header_folders

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_ERROR = re.compile(r"^([^\n(]+)\((\d+)\): (?:catastrophic )?error(?!: static assertion)", re.MULTILINE)
_SUFFIXES = frozenset({".cu", ".cuh", ".h", ".hpp"})
_ROUNDS = 40
# The second lets NVRTC read all of CUB at once; extracts include the parts they need.
_DEFINES = {"CUDA_VERSION": 13000, "CCCL_DISABLE_NVRTC_COMPATIBILITY_CHECK": 1}

# What device code asks of the host side of SGLang's headers, and of the tensor library behind them.
STUBS = {
    "sgl_kernel/utils.h": """\
#pragma once
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#define CHECK_HOST(...)
namespace sglang {
namespace host {
template <typename...>
inline constexpr bool dependent_false_v = false;
template <std::integral T, std::integral U>
constexpr auto div_ceil(T a, U b) {
  return (a + b - 1) / b;
}
}  // namespace host
}  // namespace sglang
""",
    "sgl_kernel/tensor.h": "#pragma once\n",
    "sgl_kernel/runtime.cuh": "#pragma once\n",
    "dlpack/dlpack.h": """\
#pragma once
#include <cstdint>
enum DLDeviceType { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLROCM = 10, kDLROCMHost = 11 };
enum DLDataTypeCode { kDLInt, kDLFloat = 2, kDLBfloat = 4, kDLFloat8_e4m3fn = 10, kDLFloat8_e5m2 = 12, kDLFloat4_e2m1fn = 17 };
struct DLDevice {
  DLDeviceType device_type;
  int32_t device_id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
""",
}


class Originals:
    """A copy of one code base under `folder`; what was mended for one kernel stays mended for the next."""

    def __init__(self, root: Path, include_dirs: Iterable[str], folder: Path) -> None:
        self._folder = folder
        self._includes = [folder / "stubs", *(folder / directory for directory in include_dirs), folder / "empty"]
        files = [file for file in root.rglob("*") if file.suffix in _SUFFIXES and file.is_file()]
        for file in files:
            self._write(folder / file.relative_to(root), without_host_code(file.read_text(encoding="utf-8", errors="replace")))
        for name, text in STUBS.items():
            self._write(folder / "stubs" / name, text)
        self._leave_out_absent(folder / file.relative_to(root) for file in files)

    def compile(self, source: str, entry: str, target: str, defines: Mapping[str, str]) -> CompiledCubin | str:
        """The cubin, or what NVRTC says that is not about host code."""
        file = self._folder / source
        for _ in range(_ROUNDS):
            try:
                return compile_cubin(
                    file.read_text(encoding="utf-8"),
                    name=str(file),
                    target=target,
                    entry=entry,
                    include_dirs=self._includes,
                    defines={**defines, **_DEFINES},
                )
            except CompileError as error:
                if not self._mend(error.log):
                    return error.reason
        return "host code remains"

    def _mend(self, log: str) -> bool:
        places: dict[Path, set[int]] = {}
        for file, line in _ERROR.findall(log):
            places.setdefault(Path(file), set()).add(int(line))
        changed = False
        for path, lines in places.items():
            if path.is_relative_to(self._folder):
                text = path.read_text(encoding="utf-8")
                shorter = without_host_lines(text, lines)
                if shorter is not None and shorter != text:
                    path.write_text(shorter, encoding="utf-8")
                    changed = True
        return changed

    def _leave_out_absent(self, files: Iterable[Path]) -> None:
        folders = [*self._includes, *map(Path, header_folders())]
        for file in files:
            for name in _INCLUDE.findall(file.read_text(encoding="utf-8")):
                if ".." not in name and not any((place / name).is_file() for place in (file.parent, *folders)):
                    self._write(self._folder / "empty" / name, "#pragma once\n")

    def _write(self, file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
