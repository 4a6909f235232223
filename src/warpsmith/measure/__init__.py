"""Launching and timing, in worker processes: `bench` is the tuner's side, `worker` the other, `jobs` what they tell each other.

`paired` times a candidate beside the best so far, `statistics` makes figures of times, `roofline` measures the machine's own
roof; `watching` and `checks` have launches watched.
"""
