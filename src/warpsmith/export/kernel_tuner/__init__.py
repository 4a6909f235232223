"""The format `kernel-tuner`: T1 and T4, the files that auto-tuners exchange, and a cache as Kernel Tuner keeps it."""

from warpsmith.export.kernel_tuner.exporter import KernelTunerExporter

__all__ = ["KernelTunerExporter"]
