"""Exports: a run's winner as files that do not need Warpsmith. Formats are found by entry point (`warpsmith.exporters`).

`shipment` says what may ship, a format writes it, `manifest` says beside it what it is and how it was shown to be right, and
`delivery` puts it where it was asked for. That what was written still is what was measured is the business of
`tuning.afterwards.recheck`.
"""

from warpsmith.export.base import Build, Choices, Exporter, Pick, Shipment, Standalone
from warpsmith.export.registry import exporter_names, load_exporter

__all__ = ["Build", "Choices", "Exporter", "Pick", "Shipment", "Standalone", "exporter_names", "load_exporter"]
