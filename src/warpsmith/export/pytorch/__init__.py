"""The format `torch`: a Python package with the tuned kernels' machine code, for PyTorch and what is built on it."""

from warpsmith.export.pytorch.exporter import PyTorchExporter

__all__ = ["PyTorchExporter"]
