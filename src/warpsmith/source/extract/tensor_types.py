"""PyTorch's names in device code: a kernel that is written for `c10::BFloat16` needs no PyTorch, only the name.

16-bit floats are the toolkit's, which have the same bits, and which device code converts them to anyway; the rest: `tensor_text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from warpsmith.source.extract.declarations import Declaration
from warpsmith.source.extract.tensor_text import MARKS, MARKS_OF_NVRTC, complex_number, limits, small_float
from warpsmith.source.tokens.syntax import past_angles
from warpsmith.source.tokens.uses import Use

# The type and the header that declares it.
_TYPES = {
    "Half": ("__half", "<cuda_fp16.h>"),
    "BFloat16": ("__nv_bfloat16", "<cuda_bf16.h>"),
    "Float8_e4m3fn": ("__nv_fp8_e4m3", "<cuda_fp8.h>"),
    "Float8_e5m2": ("__nv_fp8_e5m2", "<cuda_fp8.h>"),
}
_SMALL = frozenset({"Float8_e4m3fn", "Float8_e5m2"})
_COMPLEX = "complex"
_OWN = "pytorch"
# AMD's, which code for both makers asks about.
_NAMES_ALONE = frozenset({"Float8_e4m3fnuz", "Float8_e5m2fnuz"})
# The word before `::Half`, and the namespaces it stands in.
_NAMESPACES = {"c10": "c10", "at": "at", "headeronly": "torch::headeronly"}

_SAME = {"half": "__half", "nv_half": "__half", "nv_bfloat16": "__nv_bfloat16"}


class TensorTypes:
    """Of the names that a kernel's text mentions, those that are such types."""

    def __init__(self, uses: Iterable[Use], declared: Iterable[str]) -> None:
        known = set(declared)
        all_uses = list(uses)
        self._words = {use.name for use in all_uses}
        self._uses = [use for use in all_uses if use.qualifier and use.qualifier not in known]
        self.found = sorted({(use.qualifier, use.name) for use in self._uses if use.qualifier and _is_type(use)})

    @property
    def includes(self) -> list[str]:
        wanted = [name for _, name in self.found if name in _TYPES]
        halves = ["<cuda_fp16.h>"] if _SMALL & set(wanted) else []  # by which they are converted
        return sorted({*halves, *(_TYPES[name][1] for name in wanted)})

    def covered(self, namespaces: Iterable[str]) -> Iterator[str]:
        """Those of these namespaces of which nothing but such types is asked."""
        for namespace in namespaces:
            asked = [use for use in self._uses if use.qualifier == namespace]
            inner = {use.name for use in asked if use.name in _NAMESPACES}
            if asked and all(_is_type(use) or use.name in inner for use in asked) and inner <= set(self.covered(inner)):
                yield namespace

    def declarations(self) -> Iterator[str]:
        """In PyTorch all these namespaces have the same types: what is more than a name has a namespace of its own."""
        names = list(dict.fromkeys(name for _, name in self.found))
        if texts := [line for name in names for line in _own_text(name)]:
            yield from (f"namespace {_OWN} {{  // stand-ins for PyTorch's types", *texts, "}", "")
        for place in dict.fromkeys(place for place, _ in self.found):
            yield f"namespace {_NAMESPACES[place]} {{  // PyTorch's names for the toolkit's types"
            yield from (_alias(name) for home, name in self.found if home == place)
            yield "}"
            yield ""
        if "numeric_limits" in self._words:
            for name in (name for name in names if name in _TYPES):
                yield from (*limits(name, f"{_OWN}::{name}" if name in _SMALL else _TYPES[name][0]), "")

    def marks(self, defined: Iterable[str]) -> Iterator[str]:
        """Of PyTorch's marks and helpers those in use, unless the code base has its own."""
        own = set(defined)
        for mark, meaning in MARKS.items():
            name = mark.partition("(")[0]
            if name in self._words and name not in own:
                other = MARKS_OF_NVRTC.get(mark)
                define = f"#define {mark} {meaning}"
                yield from ["#ifdef __CUDACC_RTC__", f"#define {mark} {other}", "#else", define, "#endif"] if other else [define]

    def left_out(self, declarations: Iterable[Declaration]) -> Iterator[Declaration]:
        """Specialisations that would be the same twice, since there is one for the toolkit's type; those for AMD's types."""
        by_arguments: dict[tuple[frozenset[str], str], list[Declaration]] = {}
        for declaration in declarations:
            if not self.found or not declaration.is_specialisation:
                continue
            if _NAMES_ALONE & {token.text for token in declaration.item.head}:
                yield declaration
            else:
                by_arguments.setdefault((declaration.names, _arguments(declaration)), []).append(declaration)
        for same in by_arguments.values():
            theirs = [d for d in same if _NAMESPACES.keys() & {token.text for token in d.item.head}]
            yield from theirs if len(theirs) < len(same) else theirs[1:]


def of_toolkit(name: str) -> str:
    """The toolkit's name for a type of PyTorch's; any other name as it is."""
    return _TYPES.get(name, (name, ""))[0]


def _arguments(declaration: Declaration) -> str:
    """What it is a specialisation for, in the toolkit's words."""
    tokens = declaration.item.head
    opening = next(i for i in range(1, len(tokens)) if tokens[i].text == "<" and tokens[i - 1].text in declaration.names)
    words = [
        token.text for token in tokens[opening : past_angles(tokens, opening)] if token.text not in {"::", "torch", *_NAMESPACES}
    ]
    return " ".join(word if word in _SMALL else _SAME.get(word, of_toolkit(word)) for word in words)


def _own_text(name: str) -> Iterator[str]:
    if name in _SMALL:
        yield from small_float(name)
    elif name == _COMPLEX:
        yield from complex_number()


def _alias(name: str) -> str:
    if name == _COMPLEX:
        return f"template <typename T> using {name} = {_OWN}::{name}<T>;"
    if name in _NAMES_ALONE:
        return f"struct {name};"
    return f"using {name} = {f'{_OWN}::{name}' if name in _SMALL else _TYPES[name][0]};"


def _is_type(use: Use) -> bool:
    return use.qualifier in _NAMESPACES and (use.name in _TYPES or use.name in _NAMES_ALONE or use.name == _COMPLEX)
