"""Which `#include`s the standalone file keeps: those of the toolkit and the standard library that its names call for.

The standard library's are chosen by name, not copied: code often lives off what another header happens to bring in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from warpsmith.core.hardware import Language
from warpsmith.source.tokens.uses import Use

_STANDARD = {
    "algorithm": "min max clamp swap_ranges fill copy sort lower_bound upper_bound any_of all_of none_of",
    "array": "array to_array",
    "bit": "bit_cast bit_ceil bit_floor bit_width has_single_bit popcount countl_zero countr_zero rotl rotr",
    "cmath": "exp log log2 exp2 sqrt fabs abs pow fma fmin fmax tanh sin cos ceil floor round isnan isinf isfinite erf rsqrt "
    "abs sinh cosh tan asin acos atan atan2 log1p expm1 hypot cbrt fmod trunc rint nearbyint lround copysign signbit erfc lgamma "
    "tgamma expf logf sqrtf fabsf powf",
    "concepts": "integral signed_integral unsigned_integral floating_point same_as convertible_to derived_from invocable",
    "cstddef": "size_t ptrdiff_t byte nullptr_t max_align_t",
    "cstring": "memcpy memset memmove memcmp strlen",
    "cstdlib": "abort exit malloc free",
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
# What code gets of the toolkit's own library through another header, perhaps one of a library that only its build has.
_CUDA_LIBRARY = {
    "cuda/atomic": "atomic atomic_ref atomic_thread_fence memory_order_acquire memory_order_relaxed memory_order_release",
    "cuda/barrier": "barrier",
    "cuda/cmath": "ceil_div round_down round_up",
    "cuda/functional": "maximum minimum proclaim_return_type",
    "cuda/pipeline": "pipeline pipeline_shared_state make_pipeline",
}
# Likewise its types, by names that are nothing else's; PyTorch's headers bring them along.
_CUDA_TYPES = {
    "cuda_fp16.h": re.compile(r"(?:__)?half2?|__nv_half2?"),
    "cuda_bf16.h": re.compile(r"(?:__)?nv_bfloat162?"),
    "cuda_fp8.h": re.compile(r"__nv_fp8x?\d?_e[45]m[23]"),
}
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
# Of toolkits and of libraries for the host, which some code bases carry a copy of.
_FOREIGN = re.compile(
    r"(?:cub|thrust|nv|nvtx3|hip|hipcub|rocprim|torch|ATen|c10|caffe2|pybind11|tvm|dlpack|cudnn|nccl|sys)/"
    r"|(?:cu(?:blas|dnn|rand|sparse|solver|fft|tensor|pti)|nccl|nvrtc|cuda|Python|mpi|pthread|unistd)\w*\.h"
)
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
    "block/block_run_length_decode": "BlockRunLengthDecode",
    "block/block_scan": "BlockScan BlockScanAlgorithm",
    "block/block_shuffle": "BlockShuffle",
    "block/block_store": "BlockStore BlockStoreAlgorithm StoreDirectBlocked StoreDirectStriped",
    "block/radix_rank_sort_operations": "BFEDigitExtractor ShiftDigitExtractor RadixSortTwiddle",
    "iterator/cache_modified_input_iterator": "CacheModifiedInputIterator",
    "thread/thread_load": "ThreadLoad LOAD_CA LOAD_CG LOAD_CS LOAD_CV LOAD_DEFAULT LOAD_LDG LOAD_VOLATILE",
    "thread/thread_operators": "Sum Max Min ArgMax ArgMin Equality",
    "thread/thread_reduce": "ThreadReduce",
    "thread/thread_scan": "ThreadScanExclusive ThreadScanInclusive",
    "thread/thread_search": "LowerBound UpperBound MergePathSearch",
    "thread/thread_store": "ThreadStore STORE_CG STORE_CS STORE_DEFAULT STORE_VOLATILE STORE_WB STORE_WT",
    "util_ptx": "BFE BFI LaneId LaneMaskGe LaneMaskGt LaneMaskLe LaneMaskLt ShuffleDown ShuffleIndex ShuffleUp WarpId",
    "util_type": "BaseTraits CubVector KeyValuePair NullType NumericTraits Traits Uninitialized UnitWord",
    "warp/warp_exchange": "WarpExchange",
    "warp/warp_load": "WarpLoad WarpLoadAlgorithm",
    "warp/warp_merge_sort": "WarpMergeSort",
    "warp/warp_reduce": "WarpReduce",
    "warp/warp_scan": "WarpScan",
    "warp/warp_store": "WarpStore WarpStoreAlgorithm",
}
# Names that belong to a library under another first folder than its namespace.
_FOLDER_NAMES = {"ATen": ("at",), "c10": ("c10",), "cute": ("cute",)}
# Types that the host's C library declares, which nvcc sees and other compilers of device code do not.
_HOST_TYPES = {
    "ushort": "unsigned short",
    "uint": "unsigned int",
    "ulong": "unsigned long",
    "__int32_t": "int",
    "__uint32_t": "unsigned int",
    "__int64_t": "long",
    "__uint64_t": "unsigned long",
}
# Spellings of keywords that the host's compiler has, likewise.
_HOST_WORDS = {"__asm__": "asm", "__volatile__": "volatile"}
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


def is_of_code_base(name: str) -> bool:
    """Whether a header may be one of the code base's own: not of C++, a toolkit's, or a library's for the host."""
    return not (Include(f"<{name}>", 0).is_standard or _FOREIGN.match(name) or any(h.fullmatch(name) for h, _ in _LIBRARIES))


def is_tensor_library(name: str) -> bool:
    """Of PyTorch, whose headers no compiler of device code alone takes."""
    return re.match(r"(?:torch|ATen|c10)/", name) is not None


def kept_includes(includes: Iterable[Include], uses: frozenset[Use], language: Language = Language.CUDA) -> list[str]:
    """The spellings to write, standard ones first; nothing twice."""
    words = frozenset(use.name for use in uses)
    standard = sorted(f"<{header}>" for header in _standard(uses, words))
    others = [spelling for include in includes if not include.is_standard for spelling in _spellings(include, words)]
    if words & _LAUNCH_NAMES:
        others.append(f"<{_LAUNCH_API}>")
    asked = {use.name for use in uses if use.qualifier == "cuda"}
    if "std" in asked:  # whether a name is asked of std or of cuda::std is not told apart
        others += [f"<cuda/std/{header}>" for header in sorted({_HEADER_OF[use.name] for use in uses if _is_of_both(use)})]
    others += [f"<{header}>" for header, names in _CUDA_LIBRARY.items() if asked & set(names.split())]
    if language is Language.CUDA:
        others += [f"<{header}>" for header, names in _CUDA_TYPES.items() if any(names.fullmatch(word) for word in words)]
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


def host_words(words: Iterable[str]) -> dict[str, str]:
    """Other spellings of keywords that the result uses, and the keywords."""
    used = set(words)
    return {name: meaning for name, meaning in _HOST_WORDS.items() if name in used}


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


def _is_of_both(use: Use) -> bool:
    return use.qualifier == "std" and _HEADER_OF.get(use.name) in {"cmath", "functional", "limits", "tuple", "utility"}


def _is_needed(include: Include, words: frozenset[str]) -> bool:
    for header, pattern in _LIBRARIES:
        if header.fullmatch(include.name):
            return any(pattern.fullmatch(word) for word in words)
    return bool(words & set(_namespaces_of(include)))


def _namespaces_of(include: Include) -> tuple[str, ...]:
    first = re.split(r"[/.]", include.name, maxsplit=1)[0]
    return _FOLDER_NAMES.get(first, (first,))
