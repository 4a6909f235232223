"""The format `kernel-tuner`: T1 and T4, the files that auto-tuners of several groups exchange."""

from warpsmith.export.kernel_tuner.exporter import KernelTunerExporter

__all__ = ["KernelTunerExporter"]
