"""Which `#include`s the standalone file keeps: those of the toolkit and the standard library that its names call for.

The standard library's are chosen by name, not copied: code often lives off what another header happens to bring in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from warpsmith.source.extract.uses import Use

_STANDARD = {
    "algorithm": "min max clamp swap_ranges fill copy sort lower_bound upper_bound any_of all_of none_of",
    "array": "array to_array",
    "bit": "bit_cast bit_ceil bit_floor bit_width has_single_bit popcount countl_zero countr_zero rotl rotr",
    "cmath": "exp log log2 exp2 sqrt fabs abs pow fma fmin fmax tanh sin cos ceil floor round isnan isinf isfinite erf rsqrt",
    "concepts": "integral signed_integral unsigned_integral floating_point same_as convertible_to derived_from invocable",
    "cstddef": "size_t ptrdiff_t byte nullptr_t max_align_t",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t",
    "functional": "plus minus multiplies less greater equal_to",
    "iterator": "begin end size distance advance",
    "initializer_list": "initializer_list",
    "limits": "numeric_limits float_round_style float_denorm_style",
    "numeric": "accumulate gcd iota lcm midpoint reduce",
    "span": "span",
    "tuple": "tuple make_tuple tie apply tuple_size_v",
    "utility": "pair make_pair forward move exchange swap declval index_sequence integer_sequence make_index_sequence "
    "make_integer_sequence index_sequence_for in_place unreachable to_underlying",
    "variant": "variant monostate visit",
    "optional": "optional nullopt",
}
_LAUNCH_API = "cuda_device_runtime_api.h"  # which nvcc includes by itself
_LAUNCH_NAMES = frozenset({"cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion"})
_HEADER_OF = {name: header for header, names in _STANDARD.items() for name in names.split()}
_TRAITS = "type_traits"
_BARE = {  # names used without std:: that need a header all the same
    "cstdint": re.compile(r"u?int(?:_fast|_least)?(?:8|16|32|64)_t|u?intptr_t|u?intmax_t|U?INT(?:8|16|32|64)_(?:MAX|MIN)"),
    "cfloat": re.compile(r"(?:FLT|DBL)_\w+"),
    "climits": re.compile(r"U?(?:CHAR|SHRT|INT|LONG|LLONG)_(?:MAX|MIN|BIT)"),
    "cmath": re.compile(r"INFINITY|NAN|M_PI|M_\w+|HUGE_VAL\w?"),
    "cassert": re.compile(r"assert"),
    "cstdio": re.compile(r"printf"),
    "cstddef": re.compile(r"offsetof|ptrdiff_t"),
}
# A library's header stays when a name of the library is used; the first that matches decides.
_LIBRARIES = [
    (re.compile(r"cuda_fp16\.h(?:pp)?"), re.compile(r".*half.*|__h[a-z]\w*|h2?(?:exp|log|sqrt|rsqrt|sin|cos|tanh)2?")),
    (re.compile(r"cuda_bf16\.h(?:pp)?"), re.compile(r".*bfloat16.*|.*bf16.*")),
    (re.compile(r"cuda_fp8\.h(?:pp)?"), re.compile(r".*fp8.*|.*e8m0.*")),
    (re.compile(r"cuda_fp6\.h(?:pp)?"), re.compile(r".*fp6.*")),
    (re.compile(r"cuda_fp4\.h(?:pp)?"), re.compile(r".*fp4.*")),
    (re.compile(r"cuda_runtime(?:_api)?\.h|cuda\.h|driver_types\.h"), re.compile(r"CU[a-z]\w+|CUDA(?:RT)?_VERSION|cuda[A-Z]\w*")),
    (re.compile(r"math_constants\.h"), re.compile(r"CUDART_\w+")),
    (re.compile(r"mma\.h"), re.compile(r"nvcuda|wmma")),
    (re.compile(r"cooperative_groups(?:\.h|/.*)"), re.compile(r"cooperative_groups")),
    (re.compile(r"cuda_pipeline(?:_primitives)?\.h"), re.compile(r"__pipeline_\w+|nvcuda")),
    (re.compile(r"curand_\w+\.h"), re.compile(r"curand\w*")),
    (re.compile(r"nv/target"), re.compile(r"NV_\w+")),
    (re.compile(r"cuda/.*"), re.compile(r"cuda")),
    (re.compile(r"hip/hip_fp16\.h"), re.compile(r".*half.*|__h[a-z]\w*")),
    (re.compile(r"hip/hip_bf(?:loat)?16\.h"), re.compile(r".*bfloat16.*|.*bf16.*")),
    (re.compile(r"hip/hip_fp8\.h"), re.compile(r".*fp8.*")),
    (re.compile(r"hip/hip_runtime\.h"), re.compile(r".*")),
    (re.compile(r"vector_types\.h|device_launch_parameters\.h|device_functions\.h|hip/.*"), re.compile(r"$^")),
]
# NVRTC takes these headers of CUB but not the one that includes them all.
_CUB_ALL = "cub/cub.cuh"
_CUB = {
    "block/block_adjacent_difference": "BlockAdjacentDifference",
    "block/block_discontinuity": "BlockDiscontinuity",
    "block/block_exchange": "BlockExchange",
    "block/block_histogram": "BlockHistogram BlockHistogramAlgorithm",
    "block/block_load": "BlockLoad BlockLoadAlgorithm LoadDirectBlocked LoadDirectStriped",
    "block/block_merge_sort": "BlockMergeSort",
    "block/block_radix_rank": "BlockRadixRank",
    "block/block_radix_sort": "BlockRadixSort",
    "block/block_reduce": "BlockReduce BlockReduceAlgorithm",
    "block/block_scan": "BlockScan BlockScanAlgorithm",
    "block/block_shuffle": "BlockShuffle",
    "block/block_store": "BlockStore BlockStoreAlgorithm StoreDirectBlocked StoreDirectStriped",
    "thread/thread_load": "ThreadLoad LOAD_CA LOAD_CS LOAD_LDG",
    "thread/thread_operators": "Sum Max Min ArgMax ArgMin Equality",
    "util_type": "KeyValuePair CubVector NullType",
    "warp/warp_merge_sort": "WarpMergeSort",
    "warp/warp_reduce": "WarpReduce",
    "warp/warp_scan": "WarpScan",
}
# Names that belong to a library under another first folder than its namespace.
_FOLDER_NAMES = {"ATen": ("at",), "c10": ("c10",), "cute": ("cute",)}
# Types that the host's C library declares, which nvcc sees and other compilers of device code do not.
_HOST_TYPES = {"ushort": "unsigned short", "uint": "unsigned int", "ulong": "unsigned long"}
KNOWN_NAMESPACES = frozenset({"std", "cuda", "cub", "thrust", "nvcuda", "wmma", "cooperative_groups", "nv", "experimental"})


@dataclass(frozen=True, slots=True)
class Include:
    """As written (`<cuda_fp16.h>`, `"local.h"`), and where in the unit."""

    spelling: str
    position: int

    @property
    def name(self) -> str:
        return self.spelling[1:-1]

    @property
    def is_standard(self) -> bool:
        """Of C++ (no suffix, no folder) or C."""
        return (
            re.fullmatch(
                r"[a-z_]+|(?:assert|ctype|errno|float|inttypes|limits|math|stdbool|stddef|stdint|stdio|stdlib|string|time)\.h",
                self.name,
            )
            is not None
        )


def kept_includes(includes: Iterable[Include], uses: frozenset[Use]) -> list[str]:
    """The spellings to write, standard ones first; nothing twice."""
    words = frozenset(use.name for use in uses)
    standard = sorted(f"<{header}>" for header in _standard(uses, words))
    others = [spelling for include in includes if not include.is_standard for spelling in _spellings(include, words)]
    if words & _LAUNCH_NAMES:
        others.append(f"<{_LAUNCH_API}>")
    return [*standard, *dict.fromkeys(others)]


def _spellings(include: Include, words: frozenset[str]) -> Iterator[str]:
    if include.name == _CUB_ALL:
        yield from (f"<cub/{header}.cuh>" for header, names in _CUB.items() if "cub" in words and words & set(names.split()))
    elif _is_needed(include, words):
        yield include.spelling


def host_types(words: Iterable[str]) -> dict[str, str]:
    """Names of the host's C library that the result uses, and what they stand for."""
    used = set(words)
    return {name: meaning for name, meaning in _HOST_TYPES.items() if name in used}


def missing_library(includes: Iterable[Include], unknown: Iterable[str]) -> Include | None:
    """A header that was not found and whose first folder, or own name, is an unknown namespace that the result names."""
    names = set(unknown)
    return next((include for include in includes if names & set(_namespaces_of(include))), None)


def _standard(uses: frozenset[Use], words: frozenset[str]) -> Iterator[str]:
    for use in uses:
        if use.qualifier == "std":
            yield _HEADER_OF.get(use.name, _TRAITS)
    for header, pattern in _BARE.items():
        if any(pattern.fullmatch(word) for word in words):
            yield header


def _is_needed(include: Include, words: frozenset[str]) -> bool:
    for header, pattern in _LIBRARIES:
        if header.fullmatch(include.name):
            return any(pattern.fullmatch(word) for word in words)
    return bool(words & set(_namespaces_of(include)))


def _namespaces_of(include: Include) -> tuple[str, ...]:
    first = re.split(r"[/.]", include.name, maxsplit=1)[0]
    return _FOLDER_NAMES.get(first, (first,))
