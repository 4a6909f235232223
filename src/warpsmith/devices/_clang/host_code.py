"""Blanks host code in a mixed .cu file, so that it compiles for the device. Line numbers stay.

Recognisable host code (a launch, the runtime's API, containers, torch, `main`) is blanked first; host-only declarations that
clang fails on are blanked on demand. Code marked for the device or `constexpr` is never blanked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from warpsmith.core.configuration import Value
from warpsmith.devices._clang.branches import live
from warpsmith.devices._clang.items import Item, blank, device_words, split, text_at
from warpsmith.devices._clang.tokens import Kind, Token, tokenize

_HOST_WORD = re.compile(
    r"""
    main | argc | argv | cout | cerr | endl | chrono | ifstream | ofstream | fstream | stringstream
  | fopen | fclose | fscanf | fprintf | gettimeofday
  | (?:cuda|hip)(?:Malloc|Free|Memcpy|Memset|Stream|Event|Device|Get|Set|Launch|Func|Error|Success|Host|Graph|Occupancy)\w*
  | cu(?:blas|rand|fft|sparse|solver|dnn)\w*[A-Z]\w* | checkCudaErrors | getLastCudaError
  | torch | at | c10 | pybind11 | (?:PYBIND11|TORCH|AT|C10|TVM|GTEST)_\w+ | TEST | TEST_F | BENCHMARK
    """,
    re.VERBOSE,
)
_STD_HOST = re.compile(
    r"""
    vector | string | (?:unordered_)?(?:map|set) | list | deque | (?:unique|shared)_ptr | make_(?:unique|shared) | function
  | thread | mutex | mt19937 | random_device | (?:uniform_real|uniform_int|normal)_distribution | (?:o|i|string)stream | getline
  | to_string | runtime_error | exception | exit
    """,
    re.VERBOSE,
)
# Headers that only host code needs, and those of features that are refused where they are used: left out if missing. Any other
# missing header is an error.
_HOST_HEADER = re.compile(
    r"""
    (?: torch | ATen | THC | c10 | pybind11 | thrust | opencv2? | boost | gtest | benchmark | nvtx3 | tvm | dlpack | nlohmann
      | fmt | cutlass | cute )/.*
  | cub/(?: device | util_ | agent | iterator | grid | thread ) .* | (?: GL | SDL2? | glog | gflags | Eigen | hdf5 ) /.*
  | mma\.h | cuda_fp[46]\.h | cuda_pipeline(?:_primitives)?\.h | cooperative_groups/memcpy_async\.h
  | cuda/(?:pipeline|barrier|annotated_ptr)
  | (?: cublas | curand | cufft | cusparse | cusolver | cudnn | nvToolsExt | nccl | mpi | omp | helper_ | cutil | nvrtc
      | cuda_profiler | rocblas | hipblas | hiprand | nvml | zlib | png | jpeglib | tiff | fftw3 | mkl | papi | hdf5 | netcdf
      | cuda_occupancy | cuda_texture | texture_ | surface_ | sm_ | cuda_surface | hip_ext ) \w* \.h(?:pp)?
  | crt/\w+\.h(?:pp)? | hip/hip_(?:ext|profile|texture_types)\.h | vector_functions\.hpp
  | Python\.h | (?:sys|arpa|netinet)/\w+\.h | (?: unistd | getopt | pthread | signal | fcntl | windows | dirent ) \.h
    """,
    re.VERBOSE,
)
INCLUDE = re.compile(r'^[ \t]*#\s*include\s*[<"]([^>"\n]+)[>"]', re.MULTILINE)


def without_host_code(text: str, defines: Mapping[str, Value] | None = None) -> str:
    """The text with all recognisable host code blanked."""
    tokens = list(live(list(tokenize(text)), defines or {}))
    return blank(text, _host_ranges(split(tokens), device_words(tokens), _own_namespaces(tokens)))


def without_host_lines(text: str, lines: Iterable[int], defines: Mapping[str, Value] | None = None) -> str | None:
    """The text without the host-only items on these lines; None if there are none (the errors are then in device code)."""
    tokens = list(live(list(tokenize(text)), defines or {}))
    marks = device_words(tokens)
    wanted = set(lines)
    ranges = [
        item.span
        for item in split(tokens)
        if wanted & set(item.lines) and not item.is_marked(marks) and not _is_specialisation(item)
    ]
    return blank(text, ranges) if ranges else None


def without_host_headers(text: str, missing: Iterable[str], folders: Sequence[Path]) -> str:
    """The text without includes of missing host-only headers, including those that clang would report next."""
    if not any(_HOST_HEADER.fullmatch(header) for header in missing):
        return text

    def kept(match: re.Match[str]) -> str:
        header = match[1]
        is_missing = header in missing or not any((folder / header).is_file() for folder in folders)
        return "" if is_missing and _HOST_HEADER.fullmatch(header) else match[0]

    return INCLUDE.sub(kept, text)


def _own_namespaces(tokens: Sequence[Token]) -> frozenset[str]:
    """Namespaces that the text itself opens: its own `c10` is not a host library (`warpsmith extract` writes one)."""
    found = (index for index, token in enumerate(tokens) if token.text == "namespace" and text_at(tokens, index - 1) != "using")
    return frozenset(text_at(tokens, index + 1) for index in found)


def _host_ranges(items: Iterable[Item], marks: frozenset[str], own: frozenset[str]) -> Iterator[tuple[int, int]]:
    for item in items:
        if item.is_class:
            # It may be for both sides: its host member functions are blanked, its members and device functions stay.
            yield from _host_ranges((member for member in split(item.body[1:-1]) if member.body), marks, own)
        elif _shows_host(item.tokens, own) and not item.is_marked(marks):
            yield item.span


def _is_specialisation(item: Item) -> bool:
    """Of a class template. Without it the general template would be used instead, with another meaning."""
    head = [token.text for token in item.head]
    names = (index + 1 for index, text in enumerate(head) if text in {"class", "struct"} and head[index - 1] not in {"<", ","})
    return item.is_class and (head[:3] == ["template", "<", ">"] or any(head[name + 1 : name + 2] == ["<"] for name in names))


def _shows_host(tokens: Sequence[Token], own: frozenset[str]) -> bool:
    # A kernel inside "host code" means that braces in `#if` branches were misread.
    if any(token.text == "__global__" for token in tokens):
        return False
    for index, token in enumerate(tokens):
        if token.text == "<<<":
            return True
        if token.kind is not Kind.WORD or token.text in own:
            continue
        if _STD_HOST.fullmatch(token.text) and text_at(tokens, index - 1) == "::" and text_at(tokens, index - 2) == "std":
            return True
        if _HOST_WORD.fullmatch(token.text) and (token.text not in {"at", "main"} or text_at(tokens, index + 1) in {"::", "("}):
            return True
    return False
