"""Writes the template; and a T1, a T4 and a cache for each tuning workload."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from warpsmith.core.errors import InputError
from warpsmith.export.base import Build, Shipment
from warpsmith.export.kernel_tuner.cache import cache_document
from warpsmith.export.kernel_tuner.t1 import t1_document
from warpsmith.export.kernel_tuner.t4 import t4_document
from warpsmith.export.layout import Layout
from warpsmith.export.parts import file_stem, heading, part_for_all, plain_name, with_defines
from warpsmith.export.templated import Templated
from warpsmith.template import render


class KernelTunerExporter:
    name = "kernel-tuner"
    summary = "the space and every result as T1 and T4 files and a cache for Kernel Tuner, with the template"

    def write(self, shipment: Shipment, folder: Path) -> tuple[Build, ...]:
        """The one build is the template itself: compiled without definitions it is the general configuration."""
        kernel, template = shipment.kernel, shipment.template
        if template is None:
            raise InputError(
                f"run {shipment.run} rewrote whole kernels, so it has no parameter space to export",
                hint="--format source, header or torch exports the winner",
            )
        if not shipment.evaluations:
            raise InputError(f"run {shipment.run} has no evaluations to export")
        general = shipment.general.configuration
        layout = Layout(kernel, folder)
        (file,) = layout.free(file_stem(kernel), kernel.source.suffix)
        text = layout.standing_alone(template.path, render(template, general), file)
        whole = part_for_all(shipment, Templated(kernel, template).standalone(general, from_template=True))
        file.write_text(f"{heading(shipment, whole)}\n{with_defines(text, kernel)}", encoding="utf-8")
        for workload in kernel.tuning_workloads:
            t1, t4, cache = layout.free(f"{file_stem(kernel)}.{plain_name(workload.name)}", ".T1.json", ".T4.json", ".cache.json")
            _write(t1, t1_document(shipment, template, workload, file.name))
            _write(t4, t4_document(shipment, workload))
            _write(cache, cache_document(shipment, workload))
        return (whole.build(file),)


def _write(file: Path, document: dict[str, Any]) -> None:
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
