"""Static analysis of kernels for GPUs without the hardware: registers, spills, shared memory, occupancy."""

from warpsmith.analysis.analyze import analyze
from warpsmith.analysis.report import ConfigurationReport, TargetReport
from warpsmith.analysis.targets import Target, parse_target

__all__ = ["ConfigurationReport", "Target", "TargetReport", "analyze", "parse_target"]
