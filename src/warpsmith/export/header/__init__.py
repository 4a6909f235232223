"""The format `header`: the tuned kernels in one C++ header, with a host function that selects one and returns its launch."""

from warpsmith.export.header.exporter import HeaderExporter

__all__ = ["HeaderExporter"]
