"""The format `source`: the winner as plain source, one file for each configuration that ships, with the headers it includes."""

from __future__ import annotations

from pathlib import Path

from warpsmith.export.base import Build, Shipment
from warpsmith.export.layout import Layout
from warpsmith.export.parts import Part, file_stem, heading, parts_of, plain_name, with_defines
from warpsmith.spec.kernel import Kernel


class SourceExporter:
    name = "source"
    summary = "standalone source, its launch and a table that maps workloads to configurations"

    def write(self, shipment: Shipment, folder: Path) -> tuple[Build, ...]:
        kernel, parts = shipment.kernel, parts_of(shipment)
        layout = Layout(kernel, folder)
        # All names before any header can take one of them.
        files = [file for part in parts for file in layout.free(_stem(kernel, part), kernel.source.suffix)]
        for part, file in zip(parts, files, strict=True):
            text = layout.standing_alone(part.alone.origin, part.alone.text, file)
            file.write_text(f"{heading(shipment, part)}\n{with_defines(text, kernel)}", encoding="utf-8")
        return tuple(part.build(file) for part, file in zip(parts, files, strict=True))


def _stem(kernel: Kernel, part: Part) -> str:
    return file_stem(kernel) + ("" if part.is_general else f".{plain_name(part.workloads[0])}")
