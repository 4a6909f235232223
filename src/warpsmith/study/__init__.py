"""The ask-and-tell search for user programs."""

from warpsmith.study.kernel_study import KernelStudy
from warpsmith.study.study import Best, Study

__all__ = ["Best", "KernelStudy", "Study"]
