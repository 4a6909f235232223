"""What a text declares that outlives a launch, or that a host would run.

A kernel that keeps something from launch to launch can answer later launches from memory: right whenever it is verified, and
timed doing nothing. And what a source has for the host is never run by our workers; in a shipped file it would be, on the user's
machine and outside of every fence: a global object's constructor runs before anybody's `main`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from warpsmith.core.hardware import Language
from warpsmith.devices._clang.tokens import spliced, tokenize
from warpsmith.refactor.allowed.calls import CALLS, call_facts, clock_in_assembly
from warpsmith.refactor.allowed.fact import Fact
from warpsmith.refactor.allowed.view import MAIN, Node, View

_VARIABLES = frozenset({"VarDecl", "DecompositionDecl", "VarTemplateSpecializationDecl", "VarTemplatePartialSpecializationDecl"})
_FUNCTIONS = frozenset({"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl", "CXXConversionDecl"})
_TEMPORARIES = frozenset({"MaterializeTemporaryExpr", "CompoundLiteralExpr"})
_FOR_DEVICE = frozenset({"CUDADeviceAttr", "CUDAGlobalAttr", "CUDAConstantAttr", "HIPManagedAttr"})
# About programs, not kernels: what runs when one is loaded, what goes by another's name, where it lies.
_OF_PROGRAMS = frozenset(
    {"ConstructorAttr", "DestructorAttr", "InitPriorityAttr", "IFuncAttr", "AliasAttr", "WeakRefAttr", "AsmLabelAttr"}
    | {"SectionAttr", "CodeSegAttr", "CleanupAttr", "ThreadAttr", "TLSModelAttr"}
)
# Expressions of numbers: nothing has to run for them.
_PLAIN = frozenset(
    {
        "InitListExpr",
        "IntegerLiteral",
        "FloatingLiteral",
        "CharacterLiteral",
        "StringLiteral",
        "CXXBoolLiteralExpr",
        "DeclRefExpr",
    }
    | {"ImplicitCastExpr", "CStyleCastExpr", "CXXStaticCastExpr", "CXXFunctionalCastExpr", "UnaryOperator", "BinaryOperator"}
    | {"ParenExpr", "ConditionalOperator", "ConstantExpr", "ImplicitValueInitExpr", "UnaryExprOrTypeTraitExpr", "array_filler"}
    | {"CXXNullPtrLiteralExpr", "SubstNonTypeTemplateParmExpr", "CXXScalarValueInitExpr", "SizeOfPackExpr"}
)
_NUMBER = re.compile(
    r"(?:const|volatile|__constant|static|unsigned|signed|long|short|char|int|float|double|bool|_Bool|half|__half|_Float16|size_t"
    r"|(?:u?int(?:8|16|32|64)?_t)|u(?:char|int|short|long)|[\s*&]|\[[^\]]*\]|\(|\))+"
)
_NAMES_OF_ALL = re.compile(r"_Z(?:n[wa]|d[la]|St|N[rVK]*St)\w*")  # operators new and delete, and the standard's own names
_ASSEMBLY = re.compile(r'(?:asm|__asm__|__asm)(?: \w+)* \( ((?:"(?:[^"\\]|\\.)*" ?)+)(?:[:)]|$)')
_DIRECTIVE = re.compile(r"(?<![\w%\])}])\.([a-z]\w*)")
_IN_PTX = frozenset(
    {"reg", "pred"} | {f"{kind}{bits}" for kind in "bufs" for bits in (8, 16, 32, 64, 128)} | {"f16x2", "bf16", "bf16x2"}
)
_UNNAMED = re.compile(r"\((?:unnamed|anonymous|lambda)[^()]*(?:\([^()]*\)[^()]*)*\)")
_HINT_HOST = "this is code for the host"
_OUTLIVES = (
    "would outlive the launch, and the original has no such state: a kernel uses its arguments, shared memory and registers only"
)


def declaration_facts(view: View) -> Iterator[Fact]:
    unit = view.unit.encode()
    is_opencl = view.language is Language.OPENCL
    declared: dict[str, Fact] = {}
    defined: set[str] = set()
    for node, around, file in view.nodes():
        kind = node["kind"]
        if kind in _VARIABLES or kind in _TEMPORARIES or (kind == "FieldDecl" and node.get("mutable")):
            yield from _of_variable(_Place(node, around, file, unit), is_opencl=is_opencl)
        elif kind in _FUNCTIONS and not is_opencl and not node.get("isImplicit"):
            yield from _of_function(_Place(node, around, file, unit))
        elif kind == "FunctionDecl" and not node.get("isImplicit"):
            if any(child.get("kind") == "CompoundStmt" for child in node.get("inner", ())):
                defined.add(node["name"])
            # A runtime that compiles for its own process finds there what others have: anything of C libraries.
            declared[node["name"]] = Fact(f"{node['name']} is declared but not defined", f"{node['name']} without a body")
        elif kind in _OF_PROGRAMS:
            what = kind.removesuffix("Attr").lower()
            yield Fact(f"a form may not contain {what!r}: it concerns programs, not kernels", f"{what} {_path((*around, node))}")
        elif kind == "FileScopeAsmDecl":
            text = _Place(node, around, file, unit).text
            yield Fact(f"assembly outside of functions: {_short(text)!r}", text)
        elif kind in CALLS:
            yield from call_facts(node)
        elif kind in {"GCCAsmStmt", "MSAsmStmt"}:
            yield from _of_assembly(_Place(node, around, file, unit))
    yield from (fact for name, fact in declared.items() if name not in defined)


class _Place:
    """A node where it stands."""

    def __init__(self, node: Node, around: Sequence[Node], file: str, unit: bytes) -> None:
        self.node = node
        self.around = around
        self._file = file
        self._unit = unit
        self.marks = frozenset(child["kind"] for child in node.get("inner", ()) if child.get("kind", "").endswith("Attr"))
        self.function = next((each for each in reversed(around) if each["kind"] in _FUNCTIONS), None)

    @property
    def name(self) -> str:
        return _path((*self.around, self.node))

    @property
    def text(self) -> str:
        """Its tokens; of another file's, where it stands there: that is nobody's but the user's."""
        if self._file != MAIN:
            return f"{self._file} {self.node.get('loc', {}).get('line', '')} {self.name}"
        begin, end = self._span
        return " ".join(token.text for token in tokenize(spliced(self._unit[begin:end].decode(errors="replace"))))

    @property
    def _span(self) -> tuple[int, int]:
        first, last = (place.get("expansionLoc", place) for place in self.node["range"].values())
        return first.get("offset", 0), last.get("offset", -1) + last.get("tokLen", 0)


def _of_variable(at: _Place, *, is_opencl: bool) -> Iterator[Fact]:
    node, type_ = at.node, _type_of(at.node)
    if node["kind"] == "FieldDecl":
        yield Fact(f"{node.get('name')} is mutable, so it {_OUTLIVES}", at.name)
        return
    if not _is_static(at) or "CUDASharedAttr" in at.marks or type_.startswith("__local"):
        return
    is_hosts = not is_opencl and at.function is None and node["kind"] in _VARIABLES and not at.marks & _FOR_DEVICE
    lasts = _can_change(type_) or bool(node.get("tls"))
    if lasts and not is_hosts:
        what = node.get("name") or "unnamed declaration"
        yield Fact(f"{what} {_OUTLIVES}", f"{at.name}: {node.get('type', {}).get('qualType')}")
    elif lasts or (_has_to_be_set_up(at, is_opencl=is_opencl) and (is_hosts or at.function is not None)):
        yield Fact(f"{_HINT_HOST}: {_short(at.text)!r}", at.text)


def _has_to_be_set_up(at: _Place, *, is_opencl: bool) -> bool:
    """Of a __device__ variable outside of functions clang itself takes no value that has to be worked out."""
    return at.node["kind"] in _VARIABLES and not is_opencl and not at.node.get("constexpr") and not _is_table(at)


def _is_static(at: _Place) -> bool:
    node = at.node
    if node["kind"] == "MaterializeTemporaryExpr":
        return str(node.get("storageDuration", "")) in {"static", "thread"}
    if node["kind"] == "CompoundLiteralExpr":
        return at.function is None
    is_member = at.around[-1]["kind"].endswith("RecordDecl") or at.around[-1]["kind"] == "VarTemplateDecl"
    marked = bool(at.marks & _FOR_DEVICE) or bool(node.get("tls"))
    return at.function is None or is_member or marked or node.get("storageClass") in {"static", "extern"}


def _of_function(at: _Place) -> Iterator[Fact]:
    node = at.node
    is_for_device = bool(at.marks & _FOR_DEVICE)
    if not is_for_device:
        inside = at.function is not None  # a lambda's, or of a class of a function's own
        if not inside and not node.get("constexpr") and not {"explicitlyDefaulted", "explicitlyDeleted"} & node.keys():
            yield Fact(f"{_HINT_HOST}: {_short(at.text)!r}", at.text)
        return
    symbol = node.get("mangledName", "")
    is_for_host = "CUDAHostAttr" in at.marks and "CUDAGlobalAttr" not in at.marks
    if is_for_host and symbol and (not symbol.startswith("_Z") or _NAMES_OF_ALL.fullmatch(symbol) or at.name == "main"):
        yield Fact(f"{_HINT_HOST}, under a name reserved for programs: {_short(at.text)!r}", at.text)


def _of_assembly(at: _Place) -> Iterator[Fact]:
    """The syntax tree does not have its text: that must stand there as it is. A host's assembler fills any section."""
    text = at.text
    written = _ASSEMBLY.match(text)
    outermost = next((each for each in at.around if each["kind"] in _FUNCTIONS), at.node)
    if any(child.get("kind") == "CUDAHostAttr" for child in outermost.get("inner", ())):
        yield Fact(f"assembly in a function that is also compiled for the host: {_short(text)!r}", text)
    elif written is None:
        yield Fact(f"a macro hides the assembly text: {_short(text)!r}", text)
    elif set(_DIRECTIVE.findall(re.sub(r"\\[a-z]", " ", re.sub(r'" "', "", written[1])))) - _IN_PTX:
        yield Fact(f"assembly with declarations: {_short(text)!r}", text)
    elif clock := clock_in_assembly(written[1]):
        yield Fact(f"a form may not read {clock}: the result of a launch must not depend on when it runs", clock)


def _is_table(at: _Place) -> bool:
    """Whether nothing has to run to set it up or to take it down: numbers made of numbers."""
    if not _NUMBER.fullmatch(_UNNAMED.sub("?", _type_of(at.node))):
        return False
    waiting = [child for child in at.node.get("inner", ()) if not child.get("kind", "").endswith("Attr")]
    while waiting:
        node = waiting.pop()
        if node.get("kind", "array_filler") not in _PLAIN:
            return False
        waiting += node.get("inner", ())
    return True


def _can_change(type_: str) -> bool:
    """Whether an object of the type can be written to; a reference's is what it refers to."""
    plain = _UNNAMED.sub("?", type_)
    while (shorter := re.sub(r"<[^<>]*>", "", plain)) != plain:  # what a template's arguments are does not matter
        plain = shorter
    plain = re.sub(r"(?:\s*\[[^\[\]]*\])+$", "", plain.strip()).rstrip("& ")
    if "__constant" in plain.split():
        return False
    inner = re.search(r"\(([^()]*[*&^][^()]*)\)", plain)  # `void (*const)(int)`, `int (&)[4]`
    declarator = inner[1] if inner else plain
    if inner and "&" in inner[1] and "*" not in inner[1]:
        return "const" not in plain.split("(")[0].split()
    behind = declarator.rpartition("*")[2] if "*" in declarator else declarator
    return "const" not in re.findall(r"\w+", behind)


def _type_of(node: Node) -> str:
    type_ = node.get("type", {})
    return str(type_.get("desugaredQualType") or type_.get("qualType", ""))


def _path(nodes: Sequence[Node]) -> str:
    return "::".join(str(node["name"]) for node in nodes if node.get("name"))


def _short(text: str, longest: int = 80) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"
