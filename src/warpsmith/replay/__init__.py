"""Search over recorded measurements, as if they were live: how good is a strategy, after how many evaluations?"""

from warpsmith.replay.plan import ReplayTrial, Warm
from warpsmith.replay.result import Figure, ReplayResult
from warpsmith.replay.run import Progress, replay

__all__ = ["Figure", "Progress", "ReplayResult", "ReplayTrial", "Warm", "replay"]
