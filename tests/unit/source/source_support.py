"""Parsed kernels for the tests of `warpsmith.source`."""

from warpsmith.core.hardware import Language
from warpsmith.source import KernelSource, Names, parse_kernel
from warpsmith.source.tree import of_kind, text_of


def cuda(body: str, *, signature: str = "float* out, const float* in, int n", before: str = "", entry: str = "k") -> KernelSource:
    head = "template <typename T> " if "<" in entry else ""
    return parse_kernel(f"{before}\n{head}__global__ void k({signature}) {{\n{body}\n}}\n", Language.CUDA, entry)


def initialiser(source: KernelSource, name: str):
    """The expression that a declaration in the kernel gives a variable."""
    for node in of_kind(source.body, "init_declarator"):
        declarator = node.child_by_field_name("declarator")
        if text_of(declarator) == name:
            return node.child_by_field_name("value")
    raise LookupError(name)


def value_of(source: KernelSource, name: str) -> int | None:
    return Names(source).value(initialiser(source, name))
