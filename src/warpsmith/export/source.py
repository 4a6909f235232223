"""The format `source`: the winner as plain source, one file for each configuration that ships, with the headers it includes."""

from __future__ import annotations

import re
from pathlib import Path

from warpsmith.export.base import Build, Shipment
from warpsmith.export.layout import Layout
from warpsmith.export.parts import Part, defines_of, file_stem, heading, parts_of
from warpsmith.spec.kernel import Kernel


class SourceExporter:
    name = "source"
    summary = "standalone source, its launch and a table of which configuration is for which workload"

    def write(self, shipment: Shipment, folder: Path) -> tuple[Build, ...]:
        kernel, parts = shipment.kernel, parts_of(shipment)
        layout = Layout(kernel, folder)
        # All names before any header can take one of them.
        files = [layout.free(_file_name(kernel, part)) for part in parts]
        for part, file in zip(parts, files, strict=True):
            text = layout.standing_alone(part.origin, part.text, file)
            file.write_text(f"{heading(shipment, part.pick)}\n{defines_of(kernel)}{text}", encoding="utf-8")
        return tuple(part.build(file) for part, file in zip(parts, files, strict=True))


def _file_name(kernel: Kernel, part: Part) -> str:
    own = "" if part.is_general else "." + re.sub(r"[^A-Za-z0-9_-]+", "-", part.workloads[0])
    return f"{file_stem(kernel)}{own}{kernel.source.suffix}"
