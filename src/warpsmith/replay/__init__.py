"""Simulated searches over recorded measurements, to compare strategies."""

from warpsmith.replay.plan import ReplayTrial, Warm
from warpsmith.replay.result import Figure, ReplayResult
from warpsmith.replay.run import Progress, replay

__all__ = ["Figure", "Progress", "ReplayResult", "ReplayTrial", "Warm", "replay"]
