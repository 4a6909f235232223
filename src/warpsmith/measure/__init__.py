"""Launches and times candidates in worker processes.

`bench` is the tuner's side, `worker` the other, `jobs` their protocol. `paired` times a candidate interleaved with the best so
far, `statistics` turns times into figures, `roofline` measures the machine's limits; `watching` and `checks` run launches under
checkers.
"""
