"""Assembles the header: comment, host part, and every configuration's kernel in its own namespace."""

from __future__ import annotations

from pathlib import Path

from warpsmith.core.errors import InputError, Location
from warpsmith.core.hardware import Language
from warpsmith.export.base import Build, Shipment
from warpsmith.export.header.cpp_text import HELPERS, identifier
from warpsmith.export.header.enclosing import enclosed
from warpsmith.export.header.geometry import NamedPart, chosen_scalars, geometry_text, launch_arguments
from warpsmith.export.header.naming import qualified
from warpsmith.export.parts import Part, heading, parts_of, with_defines
from warpsmith.spec.kernel import Kernel


class HeaderExporter:
    name = "header"
    summary = "one C++ header for CUDA or HIP: every tuned kernel, and a host function that selects one and returns its launch"

    def write(self, shipment: Shipment, folder: Path) -> tuple[Build, ...]:
        kernel = shipment.kernel
        _check(kernel)
        outer = f"{identifier(kernel.name)}_tuned"
        named = _named(parts_of(shipment))
        file = folder / f"{identifier(kernel.name)}.tuned.h"
        texts = [_kernel_text(shipment, entry, outer) for entry in named]
        entries = [qualified(e.part.alone.entry, text, (outer, e.name)) for e, text in zip(named, texts, strict=True)]
        kernels = "\n".join(texts)
        host = f"namespace {outer} {{\n\n{HELPERS}\n{geometry_text(shipment, named)}\n}}  // namespace {outer}\n"
        device = f"// A compiler for the host alone sees no kernels.\n#if {_DEVICE_COMPILER}\n\n{kernels}\n#endif\n"
        guard = f"{outer.upper()}_H"
        body = f"#ifndef {guard}\n#define {guard}\n\n{host}\n{device}\n#endif  // {guard}\n"
        file.write_text(f"{_about(shipment, outer, named, entries)}\n{body}", encoding="utf-8")
        return tuple(entry.part.build(file, name) for entry, name in zip(named, entries, strict=True))


_DEVICE_COMPILER = "defined(__CUDACC__) || defined(__CUDA__) || defined(__HIPCC__) || defined(__HIP__)"


def _check(kernel: Kernel) -> None:
    where = Location(kernel.path)
    if kernel.language is Language.OPENCL:
        raise InputError("a C++ header is for CUDA and HIP kernels", location=where, hint="--format source")
    if kernel.constants:
        raise InputError(
            f"the kernel reads the symbol {kernel.constants[0].name!r}, which is set by its name: every configuration in a header"
            " would have one of its own",
            location=where,
            hint="--format source",
        )


# What Warpsmith's own launches do.
_OPT_IN = (
    f"  // Beyond {48 << 10} launch.shared_bytes, for NVIDIA GPUs and each of the kernels, once:",
    "  // cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, launch.shared_bytes);",
)


def _named(parts: tuple[Part, ...]) -> list[NamedPart]:
    found: list[NamedPart] = []
    for part in parts:
        name = "general" if part.is_general else identifier(f"for_{part.workloads[0]}", [entry.name for entry in found])
        found.append(NamedPart(name, part))
    return found


def _kernel_text(shipment: Shipment, entry: NamedPart, outer: str) -> str:
    alone = entry.part.alone
    text = with_defines(alone.text, shipment.kernel)
    return f"{heading(shipment, entry.part)}{enclosed(shipment.kernel, alone.origin, text, (outer, entry.name))}"


def _about(shipment: Shipment, outer: str, named: list[NamedPart], entries: list[str]) -> str:
    kernel, scalars = shipment.kernel, chosen_scalars(named)
    given = ", ".join(launch_arguments(shipment, named))
    arguments = ", ".join(f"launch.{a.name}" if a.name in scalars else a.name for a in kernel.arguments)
    grid, block = (", ".join(f"launch.{field}[{axis}]" for axis in range(3)) for field in ("grid", "block"))
    lines = [
        f"{kernel.name}, tuned: exported by Warpsmith from run {shipment.run}. What was verified: export.json beside this file.",
        "To be included by one source file of a program, for the kernels are defined here. On the host:",
        "",
        f"  const auto launch = {outer}::launch_for({given});",
        f"  const dim3 grid({grid}), block({block});",
        *(_OPT_IN if any(entry.part.alone.launch.shared_bytes.text != "0" for entry in named) else ()),
        "  if (launch.allowed) switch (launch.configuration) {",
    ]
    for entry, name in zip(named, entries, strict=True):
        call = f"{name}<<<grid, block, launch.shared_bytes>>>({arguments});"
        lines.append(f"    case {outer}::Configuration::{entry.name}: {call} break;")
    return "".join(f"// {line}".rstrip() + "\n" for line in [*lines, "  }"])
