"""Searching by hand: ask for configurations, tell what came of them."""

from warpsmith.study.kernel_study import KernelStudy
from warpsmith.study.study import Best, Study

__all__ = ["Best", "KernelStudy", "Study"]
