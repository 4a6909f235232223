"""Macros that hide from a reader what a kernel does, written out in place: after preprocessing the tokens are the same.

    CUDA_1D_KERNEL_LOOP(i, n) { … }      a loop over the grid
    SYNC();                              a barrier
    out[INDEX(row, col)]                 an address
    UNROLL                               a pragma on a line of its own

Those that stand for statements, ask for the thread, or let threads meet are written out wherever the kernel or a function that it
reaches uses them; others where they are part of an index. They may come from the author's headers, or be HIP's own names for what
CUDA spells `threadIdx.x`. Works on tokens: to a parser, such a call may look like anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from warpsmith.core.configuration import Value
from warpsmith.devices._clang.tokens import Kind, Token, tokenize
from warpsmith.source.conditionals import Definitions, definitions
from warpsmith.source.tokens.macros import Macro
from warpsmith.source.tokens.syntax import past_angles, past_brackets, split_commas

_TELLING = re.compile(
    r"[;{}]|(?<![=!<>])=(?!=)|<<=|>>=|\+\+|--"
    r"|\b(?:return|break|continue|goto|for|while|do|if|else|switch|case|asm|volatile"
    r"|threadIdx|blockIdx|blockDim|gridDim|warpSize|get_(?:global|local|group|num|sub_group|work|enqueued)_\w+"
    r"|__syncthreads\w*|__syncwarp|barrier|work_group_\w+|sub_group_\w+|__shfl\w*|__ballot\w*|__any\w*|__all\w*|__activemask"
    r"|__match_\w+|__reduce_\w+|__builtin_\w+|__threadfence\w*|mem_fence|__shared__|__local|local|atom(?:ic)?_?\w+"
    r"|cg|cub|cooperative_groups|wmma|_Pragma|__restrict(?:__)?|__launch_bounds__)\b"
)
# As every HIP header has them, ROCm's and ours.
_HIP = (
    "".join(
        f"#define hip{name[0].upper()}{name[1:]}_{axis} {name}.{axis}\n"
        for name in ("threadIdx", "blockIdx", "blockDim", "gridDim")
        for axis in "xyz"
    )
    + "#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];\n"
)
_HIP_NAME = re.compile(r"\bhip(?:Thread|Block|Grid)(?:Idx|Dim)_[xyz]\b|\bHIP_DYNAMIC_SHARED\b")
_PRAGMA = re.compile(r"""(?<!\\\n)^([ \t]*)_Pragma\s*\(\s*"([^"\\]*)"\s*\)[ \t]*$""", re.MULTILINE)  # alone on its line
_DEEPEST = 12
_OPERATORS = frozenset("+-*/%&|<>=!^~#.:")


@dataclass(frozen=True, slots=True)
class Expanded:
    """`hidden` is a macro that says more than its name shows and could not be written out, with the reason."""

    text: str
    hidden: str | None = None


def expanded(text: str, entry: str, given: Mapping[str, Value] | None = None, headers: Sequence[str] = ()) -> Expanded:
    """The source with what the kernel `entry` uses of such macros written out. `headers` are what it includes of the author's."""
    texts = [*([_HIP] if _HIP_NAME.search(text) else []), *headers, text]
    if not any("#" in each and "define" in each for each in texts):
        return Expanded(text)
    known = definitions("\n".join(texts), given)
    writer = _Writer(text, known)
    tokens = list(tokenize(text))
    pieces: list[str] = []
    position = 0
    heads = _heads(tokens, entry)
    uses = [*writer.calls(tokens, reached_spans(tokens, entry)), *_Writer(text, known).calls(tokens, heads)]
    for start, end, written in sorted(uses):
        pieces += [text[position:start], _apart(text[start - 1 : start], written), _space(written[-1:], text[end : end + 1])]
        position = end
    return Expanded(_PRAGMA.sub(r"\1#pragma \2", "".join([*pieces, text[position:]])), writer.hidden)


class _Writer:
    def __init__(self, text: str, known: Definitions) -> None:
        self._text = text
        self._known = known
        self._told: dict[str, bool] = {}
        self.hidden: str | None = None

    def calls(self, tokens: Sequence[Token], spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
        """Start, end and new text of the outermost uses inside these spans of tokens."""
        index, depth = 0, 0
        for first, last in spans:
            index, depth = max(index, first), 0
            while index < last:
                token = tokens[index]
                depth += (token.text == "[") - (token.text == "]")
                end = self._end(tokens, index, is_index=depth > 0)
                if end is None:
                    index += 1
                    continue
                written = self._written(tokens[index:end], frozenset(), is_index=depth > 0)
                yield token.start, tokens[end - 1].end, written
                index = end

    def _end(self, tokens: Sequence[Token], index: int, *, is_index: bool) -> int | None:
        """One past the use of a macro that is to be written out; None when this is none."""
        token = tokens[index]
        if token.kind is not Kind.WORD or token.text not in self._known.live:
            return None
        macro = self._meant(token.text)
        called = index + 1 < len(tokens) and tokens[index + 1].text == "("
        is_call = called and any(m.parameters is not None for m in ([macro] if macro else self._known.live[token.text]))
        if not (self.is_telling(token.text) or (is_index and is_call)):
            return None
        problem = _problem(macro)
        if problem is None and macro is not None and called and self._takes_more(macro):
            problem = "ends in the name of one that takes arguments"
        end = past_brackets(tokens, index + 1) if is_call else index + 1
        if problem is None and any(t.kind is Kind.DIRECTIVE for t in tokens[index:end]):
            problem = "has directives among its arguments"
        if problem is None and macro is not None and macro.parameters is not None:
            if not called:
                return None  # a name that happens to be a macro's, too
            if len(list(split_commas(tokens[index + 2 : end - 1])) or [""]) != len(macro.parameters):
                problem = "takes any number of arguments"
        if problem is not None:
            if self.is_telling(token.text):
                self.hidden = self.hidden or f"{token.text} {problem}"
            return None
        return end

    def is_telling(self, name: str, depth: int = 0) -> bool:
        """Whether the macro, or one that it is made of, does more than compute."""
        if name not in self._told:
            self._told[name] = False
            texts = [macro.replacement for macro in self._known.live.get(name, ())]
            inner = {token.text for text in texts for token in tokenize(text) if token.kind is Kind.WORD and token.text != name}
            plain = [" ".join(t.text for t in tokenize(text.replace("\\\n", " "))) for text in texts]
            self._told[name] = any(map(_TELLING.search, plain)) or (
                depth < _DEEPEST and any(self.is_telling(other, depth + 1) for other in inner if other in self._known.live)
            )
        return self._told[name]

    def _meant(self, name: str) -> Macro | None:
        """The macro of this name, or the one that it is only another name for: `#define LOOP CUDA_1D_KERNEL_LOOP`."""
        macro = self._known.only(name)
        for _ in range(_DEEPEST):
            other = macro.replacement.strip() if macro is not None and macro.parameters is None else ""
            if other not in self._known.live:
                break
            macro = self._known.only(other)
        return macro

    def _takes_more(self, macro: Macro) -> bool:
        """Whether the brackets after its name are those of a macro in which its text ends."""
        words = [token.text for token in tokenize(macro.replacement)] if macro.parameters is None else []
        return bool(words) and any(m.parameters is not None for m in self._known.live.get(words[-1], ()))

    def _written(self, use: Sequence[Token], inside: frozenset[str], *, is_index: bool) -> str:
        """What a use stands for, with the macros in it that are to be written out."""
        macro = self._meant(use[0].text)
        assert macro is not None, "asked only of what can be written out"
        values: dict[str, str] = {}
        if macro.parameters is not None:
            given = [spaced(part) for part in split_commas(use[2:-1])] if len(use) > 3 else [""]
            values = dict(zip(macro.parameters, given, strict=False))
        body = list(tokenize(macro.replacement.replace("\\\n", " ")))
        text = ""
        for before, token in zip((None, *body), body, strict=False):
            piece = values.get(token.text, token.text) if token.kind is Kind.WORD else token.text
            is_one = before is not None and before.end == token.start and not {before.text, token.text} & values.keys()
            gap = " " if before is not None and before.end < token.start else ""
            text = text + piece if is_one else _apart(text + gap, piece, whole=True)  # the halves of `>>` stay together
        return self._again(text, inside | {macro.name}, is_index=is_index)

    def _again(self, text: str, inside: frozenset[str], *, is_index: bool) -> str:
        """The text of a macro may use others."""
        tokens, pieces, position, index = list(tokenize(text)), list[str](), 0, 0
        while index < len(tokens):
            end = None if tokens[index].text in inside else self._end(tokens, index, is_index=is_index)
            if end is None or len(inside) > _DEEPEST:
                index += 1
                continue
            written = self._written(tokens[index:end], inside, is_index=is_index)
            pieces += [text[position : tokens[index].start], written]
            position, index = tokens[end - 1].end, end
        return "".join([*pieces, text[position:]])


def _problem(macro: Macro | None) -> str | None:
    """Why a macro cannot be written out."""
    if macro is None:
        return "is defined in several ways, or undefined somewhere"
    if "#" in macro.replacement:
        return "puts tokens together"
    if "__VA_ARGS__" in macro.replacement:
        return "takes any number of arguments"
    return None


def _heads(tokens: Sequence[Token], entry: str) -> list[tuple[int, int]]:
    """What stands between `__global__` and a kernel's name: what cannot be written out there hides no statement."""
    name = _plain_name(entry)
    found = []
    for end, token in enumerate(tokens):
        if token.text == name and tokens[end + 1 : end + 2] and tokens[end + 1].text in {"(", "<"}:
            start = end
            while start and tokens[start].text not in {";", "{", "}", "__global__"} and tokens[start].kind is not Kind.DIRECTIVE:
                start -= 1
            if tokens[start].text == "__global__":
                found.append((start + 1, end))
    return found


def _plain_name(entry: str) -> str:
    return entry.partition("<")[0].strip().rpartition("::")[2]


def reached_spans(tokens: Sequence[Token], entry: str) -> list[tuple[int, int]]:
    """Where the bodies of the kernel and of the functions that it names lie, in order; one inside another is left out."""
    waiting, seen, found = [_plain_name(entry)], set[str](), list[tuple[int, int]]()
    bodies: dict[str, list[tuple[int, int]]] = {}
    for name, span in _bodies(tokens):
        bodies.setdefault(name, []).append(span)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for first, last in bodies.get(name, ()):
            found.append((first, last))
            waiting += [token.text for token in tokens[first:last] if token.kind is Kind.WORD and token.text in bodies]
    return [span for span in sorted(found) if not any(o != span and o[0] <= span[0] and span[1] <= o[1] for o in found)]


def _bodies(tokens: Sequence[Token]) -> Iterator[tuple[str, tuple[int, int]]]:
    """What looks like `name(…) … {…}`, with the place of the braces."""
    for index, token in enumerate(tokens[:-1]):
        if token.kind is not Kind.WORD or tokens[index + 1].text not in {"(", "<"}:
            continue
        place = index + 1
        if tokens[place].text == "<":
            place = past_angles(tokens, place)
        if place >= len(tokens) or tokens[place].text != "(":
            continue
        place = past_brackets(tokens, place)
        while place < len(tokens) and (tokens[place].kind is Kind.WORD or tokens[place].text in {"->", "::", "*", "&"}):
            place += 1
        if place < len(tokens) and tokens[place].text == "{":
            yield token.text, (place, past_brackets(tokens, place))


def spaced(tokens: Sequence[Token]) -> str:
    """The tokens on one line, apart where they were."""
    text = ""
    for number, token in enumerate(tokens):
        text += (" " if number and tokens[number - 1].end < token.start else "") + token.text
    return text


def _apart(before: str, after: str, *, whole: bool = False) -> str:
    """`after`, or both of them, with a blank between where their tokens would become one."""
    joined = _space(before[-1:], after[:1]) + after
    return before + joined if whole else joined


def _space(left: str, right: str) -> str:
    both_words = bool(re.match(r"\w", left)) and bool(re.match(r"\w", right))
    return " " if both_words or (left in _OPERATORS and right in _OPERATORS) else ""
