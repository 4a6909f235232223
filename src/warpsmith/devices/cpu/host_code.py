"""Blanks host code out of a mixed .cu file, so that it compiles for the device as it is. Line numbers stay.

Blanked from the start is what shows itself as host code (a launch, the runtime's API, containers, torch, `main`); later, on
demand, whatever host-only declaration clang could not compile. Never anything that is marked for the device or `constexpr`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from warpsmith.devices.cpu.tokens import Kind, Token, tokenize, words

_DEVICE_WORDS = frozenset(
    {"__device__", "__global__", "__constant__", "__shared__", "__managed__", "constexpr", "consteval", "HIP_DYNAMIC_SHARED"}
)
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
_STD_HOST = frozenset(
    "vector string map unordered_map set unordered_set list deque unique_ptr shared_ptr make_unique make_shared function thread mutex "
    "mt19937 random_device uniform_real_distribution normal_distribution uniform_int_distribution ostream istream to_string "
    "runtime_error exception stringstream getline exit".split()
)
# Headers that only host code needs; where they are missing they are left out. Anything else missing is an error.
_HOST_HEADER = re.compile(
    r"""
    (?: torch | ATen | c10 | pybind11 | thrust | opencv2? | boost | gtest | benchmark | nvtx3 | tvm | dlpack | nccl | nlohmann | fmt )/.*
  | (?: cublas | curand | cufft | cusparse | cusolver | cudnn | nvToolsExt | nccl | mpi | omp | helper_ | cutil | cuda_profiler | nvrtc
      | rocblas | hipblas | hiprand ) \w* \.h(?:pp)?
  | Python\.h | (?:sys|arpa|netinet)/\w+\.h | (?: unistd | getopt | pthread | signal | fcntl | windows | dirent ) \.h
    """,
    re.VERBOSE,
)
# Directives inside blanked code stay, for an `#if` there may end elsewhere.
_NOT_DIRECTIVE = re.compile(r"(^[ \t]*#(?:[^\n\\]|\\\r?\n|\\.)*)|[^\n]+", re.MULTILINE)
_SCOPES = frozenset({"class", "struct", "union"})


@dataclass(frozen=True, slots=True)
class Item:
    """One declaration or definition at namespace or class scope; `body` is the part in braces."""

    tokens: tuple[Token, ...]
    body: tuple[Token, ...]
    is_class: bool

    @property
    def lines(self) -> range:
        return range(self.tokens[0].line, self.tokens[-1].line + self.tokens[-1].text.count("\n") + 1)


def without_host_code(text: str) -> str:
    """The text with everything blanked that shows itself as host code."""
    tokens = list(tokenize(text))
    device_words = _device_words(tokens)
    return _blank(text, _host_ranges(_items(tokens), device_words))


def without_host_lines(text: str, lines: Iterable[int]) -> str | None:
    """The text without the host-only items on these lines; None if there are none (then the errors are the device code's own)."""
    tokens = list(tokenize(text))
    device_words = _device_words(tokens)
    wanted = set(lines)
    ranges = [
        (item.tokens[0].start, item.tokens[-1].end)
        for item in _items(tokens)
        if wanted & set(item.lines) and not _marked(item.tokens if item.is_class else _head(item), device_words)
    ]
    return _blank(text, ranges) if ranges else None


def without_host_header(text: str, header: str) -> str | None:
    """The text without the includes of a missing header, if it is one that only host code needs."""
    if not _HOST_HEADER.fullmatch(header):
        return None
    line = re.compile(rf'^[ \t]*#\s*include\s*[<"]{re.escape(header)}[>"]', re.MULTILINE)
    return line.sub("", text) if line.search(text) else None


def _host_ranges(items: Iterable[Item], device_words: frozenset[str]) -> Iterator[tuple[int, int]]:
    for item in items:
        if item.is_class and _marked(item.tokens, device_words):
            # A class for both sides: its host member functions go, its members and device functions stay.
            yield from _host_ranges(_items(item.body[1:-1]), device_words)
        elif _shows_host(item.tokens) and not _marked(_head(item), device_words):
            yield item.tokens[0].start, item.tokens[-1].end


def _items(tokens: Sequence[Token]) -> Iterator[Item]:
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.kind is Kind.DIRECTIVE or token.text in {"}", ";"}:
            position += 1
        elif token.text in {"public", "private", "protected"} and _text(tokens, position + 1) == ":":
            position += 2
        elif (opening := _scope_opening(tokens, position)) is not None:
            position = opening + 1
        else:
            end, body, is_class = _item_end(tokens, position)
            yield Item(tuple(tokens[position:end]), tuple(tokens[body:end]) if body is not None else (), is_class)
            position = end


def _scope_opening(tokens: Sequence[Token], position: int) -> int | None:
    """The brace of a namespace or `extern "C"` block, whose contents count as top level."""
    first = tokens[position].text
    if first == "inline" and _text(tokens, position + 1) == "namespace":
        position, first = position + 1, "namespace"
    if first == "namespace":
        opening = position + 1
        while opening < len(tokens) and tokens[opening].text not in {"{", ";", "="}:
            opening += 1
        return opening if _text(tokens, opening) == "{" else None
    if first == "extern" and position + 2 < len(tokens) and tokens[position + 1].kind is Kind.STRING:
        return position + 2 if tokens[position + 2].text == "{" else None
    return None


def _item_end(tokens: Sequence[Token], start: int) -> tuple[int, int | None, bool]:
    """(one past the item, index of its body's brace, whether it is a class)."""
    depth = 0
    body: int | None = None
    is_class = assigned = called = False
    position = start
    while position < len(tokens):
        text = tokens[position].text
        if depth == 0:
            if text == ";":
                return position + 1, body, is_class
            if text == "}":  # closes an enclosing scope: the item was not terminated
                return position, body, is_class
            is_class = is_class or (text in _SCOPES and not called and _text(tokens, position - 1) not in {"<", ","})
            assigned = assigned or (text == "=" and _text(tokens, position - 1) != "operator")
            called = called or text == "("
            if text == "{" and body is None and not assigned:
                body = position
        depth += text in {"(", "[", "{"}
        depth -= text in {")", "]", "}"}
        position += 1
        if text == "}" and depth == 0 and not assigned and not (is_class and not called):
            following = _text(tokens, position)
            if following == ";":
                return position + 1, body, is_class
            if following not in {",", "{"}:  # those: a constructor's initialiser list, still before its body
                return position, body, False
            body = None
    return position, body, is_class and not called


def _head(item: Item) -> tuple[Token, ...]:
    return item.tokens[: len(item.tokens) - len(item.body)] if item.body else item.tokens


def _marked(tokens: Iterable[Token], device_words: frozenset[str]) -> bool:
    return any(token.text in device_words for token in tokens)


def _shows_host(tokens: Sequence[Token]) -> bool:
    # A kernel inside "host code" means that braces in `#if` branches misled us.
    if any(token.text == "__global__" for token in tokens):
        return False
    for index, token in enumerate(tokens):
        if token.text == "<<<":
            return True
        if token.kind is not Kind.WORD:
            continue
        if token.text in _STD_HOST and _text(tokens, index - 1) == "::" and _text(tokens, index - 2) == "std":
            return True
        if _HOST_WORD.fullmatch(token.text) and (token.text not in {"at", "main"} or _text(tokens, index + 1) in {"::", "("}):
            return True
    return False


def _device_words(tokens: Iterable[Token]) -> frozenset[str]:
    """The device's own markers and the user's macros that expand to one (`#define DEVICE __device__ inline`)."""
    defined = {}
    for token in tokens:
        if token.kind is Kind.DIRECTIVE and (match := re.match(r"\s*#\s*define\s+(\w+)(.*)", token.text, re.DOTALL)):
            defined[match[1]] = words(match[2])
    found = set(_DEVICE_WORDS)
    while new := {name for name, used in defined.items() if name not in found and used & found}:
        found |= new
    return frozenset(found)


def _text(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].text if 0 <= index < len(tokens) else ""


def _spaces(match: re.Match[str]) -> str:
    return match[0] if match[1] else re.sub(r"[^\n]", " ", match[0])


def _blank(text: str, ranges: Iterable[tuple[int, int]]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in sorted(ranges):
        pieces += [text[position:start], _NOT_DIRECTIVE.sub(_spaces, text[start:end])]
        position = max(position, end)
    return "".join(pieces) + text[position:]
