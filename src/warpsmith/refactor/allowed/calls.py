"""Calls of what a kernel's result may not depend on, and of what is there after a launch: by the function that is meant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from warpsmith.refactor.allowed.fact import Fact
from warpsmith.refactor.allowed.view import Node

_CLOCKS = re.compile(
    r"_*clock(?:64|_hi)?|wall_clock64|__builtin_read(?:cyclecounter|steadycounter)|__nvvm_read_ptx_sreg_(?:clock|globaltimer)\w*"
    r"|__builtin_amdgcn_s_(?:memtime|memrealtime|sendmsg_rtn\w*|getreg)|__globaltimer\w*"
)
_CLOCKS_OF_ASSEMBLERS = re.compile(r"%+(?:clock|globaltimer|pm\d)\w*|\bs_(?:mem(?:real)?time|getreg|sendmsg)\w*")
_HEAP = re.compile(r"_*(?:malloc|calloc|realloc|free|aligned_alloc|alloc)|__nv_(?:aligned_device_malloc)")
_PRINTERS = re.compile(r"(?:__\w+_)?v?f?printf(?:_\w+)?|puts|putchar|fputs")
_REFUSED = (
    (_CLOCKS, "the result of a launch must not depend on when it runs"),
    (_HEAP, "allocated memory would outlive the launch"),
    (_PRINTERS, "printed output would outlive the launch"),
)
_NAMING = frozenset({"DeclRefExpr", "UnresolvedLookupExpr"})
CALLS = _NAMING | {"CXXNewExpr"}


def call_facts(node: Node) -> Iterator[Fact]:
    """Of an expression of one of the kinds that are `CALLS`."""
    if node["kind"] == "CXXNewExpr":
        if not node.get("isPlacement"):
            yield Fact("a form may not use new: allocated memory would outlive the launch", "new")
        return
    meant = node.get("referencedDecl", node)
    name = str(meant.get("name", ""))
    if meant.get("kind") not in {"FunctionDecl", "UnresolvedLookupExpr"}:
        return
    for names, why in _REFUSED:
        if names.fullmatch(name):
            yield Fact(f"a form may not call {name}: {why}", name)


def clock_in_assembly(text: str) -> str | None:
    found = _CLOCKS_OF_ASSEMBLERS.search(text)
    return found and found[0]
