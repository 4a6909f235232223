"""The `#if`s in a kernel's body, and in the functions that it reaches, settled as a preprocessor settles them for one target.

Which branches count is asked of the preprocessor itself: `marked` has a word in each, and those that come out are taken. Lines
keep their numbers. Where more than the file decided, a guard at its end refuses a target that would decide otherwise:

    #if __CUDA_ARCH__ >= 800        (a blank line)
      use(tile);               →      use(tile);        …   #if defined(__CUDA_ARCH__) && !(__CUDA_ARCH__ >= 800)
    #endif                          (a blank line)          #error "made for a target with __CUDA_ARCH__ >= 800"
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from warpsmith.core.configuration import Value
from warpsmith.devices._clang.tokens import Kind, Token, tokenize
from warpsmith.source.conditionals import truth_of
from warpsmith.source.macro_calls import reached_spans, spaced

_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b(.*)", re.DOTALL)
_MARK = "WARPSMITH_BRANCH_"
_ON_DEVICE = "__CUDA_ARCH__"  # nvcc reads the file a second time for the host, where it is not defined


@dataclass(frozen=True, slots=True)
class _Branch:
    """From its directive to the next of its group. `condition` is None for `#else`."""

    opening: Token
    closing: Token
    condition: str | None
    mark: str


@dataclass(slots=True)
class _Open:
    branches: list[tuple[Token, str | None]] = field(default_factory=list)


class DecidedBranches:
    """Of one kernel's text. `given` are the macros that kernel.toml defines."""

    def __init__(self, text: str, entry: str, given: Mapping[str, Value] | None = None) -> None:
        self._text = text
        self._given = given
        self._groups = list(_groups(text, entry)) if "#" in text else []

    def __bool__(self) -> bool:
        return bool(self._groups)

    @cached_property
    def marked(self) -> str:
        """To be preprocessed for the target."""
        opened = sorted((branch for group in self._groups for branch in group), key=lambda branch: branch.opening.start)
        pieces, position = list[str](), 0
        for branch in opened:
            pieces += [self._text[position : branch.opening.end], f"\n{branch.mark}\n"]
            position = branch.opening.end
        return "".join([*pieces, self._text[position:]])

    def settled(self, tokens: Collection[str]) -> str:
        """The text without the branches whose marks are not among these, which the preprocessor made of `marked`."""
        seen = frozenset(tokens)
        taken = [next((branch for branch in group if branch.mark in seen), None) for group in self._groups]
        blank: list[tuple[int, int]] = []
        for group, chosen in zip(self._groups, taken, strict=True):
            for branch in group:
                end = branch.opening.end if branch is chosen else branch.closing.start
                blank.append((branch.opening.start, end))
            blank.append((group[-1].closing.start, group[-1].closing.end))
        guards = dict.fromkeys(
            guard
            for group, chosen in zip(self._groups, taken, strict=True)
            if not any(start < group[0].opening.start and group[-1].closing.end <= end for start, end in blank)
            if (guard := self._guard(group, chosen)) is not None
        )
        return self._without(blank).rstrip("\n") + "\n" + "".join(guards)

    def _without(self, blank: Sequence[tuple[int, int]]) -> str:
        pieces, position = list[str](), 0
        for start, end in sorted(blank):
            if start >= position:
                pieces += [self._text[position:start], "\n" * self._text.count("\n", start, end)]
            elif end > position:
                pieces.append("\n" * self._text.count("\n", position, end))
            position = max(position, end)
        return "".join([*pieces, self._text[position:]])

    def _guard(self, group: Sequence[_Branch], chosen: _Branch | None) -> str | None:
        """What refuses another target; None where the file itself decided."""
        last = len(group) if chosen is None else group.index(chosen)
        asked = [branch.condition for branch in group[: last + 1] if branch.condition is not None]
        if all(truth_of(condition, self._text, self._given) is not None for condition in asked):
            return None
        met = [f"!({condition})" for condition in asked[:last]] + [f"({condition})" for condition in asked[last:]]
        wanted = " && ".join(met)
        device = f"defined({_ON_DEVICE}) && " if _ON_DEVICE in wanted else ""
        said = wanted.replace("\\", "").replace('"', "'")
        return f'#if {device}!({wanted})\n#error "made for a target with {said}"\n#endif\n'


def _groups(text: str, entry: str) -> Iterator[list[_Branch]]:
    """Those that lie altogether inside one body."""
    tokens = list(tokenize(text))
    number = 0
    for first, last in reached_spans(tokens, entry):
        stack: list[_Open] = []
        for token in tokens[first:last]:
            found = _DIRECTIVE.fullmatch(token.text) if token.kind is Kind.DIRECTIVE else None
            if found is None:
                continue
            word, rest = found[1], _condition(found[1], found[2])
            if word.startswith("if"):
                stack.append(_Open([(token, rest)]))
            elif word != "endif" and stack:
                stack[-1].branches.append((token, rest))
            elif stack:
                opened = stack.pop().branches
                ends = [*(opening for opening, _ in opened[1:]), token]
                group = []
                for (opening, condition), closing in zip(opened, ends, strict=True):
                    number += 1
                    group.append(_Branch(opening, closing, condition, f"{_MARK}{number}_"))
                yield group


def _condition(word: str, rest: str) -> str | None:
    plain = spaced(list(tokenize(rest.replace("\\\n", " "))))
    match word:
        case "ifdef" | "elifdef":
            return f"defined({plain})"
        case "ifndef" | "elifndef":
            return f"!defined({plain})"
        case "if" | "elif":
            return plain
        case _:
            return None
