"""Regression gate: stored winners against the originals, and against accepted figures.

`winners` finds them · `accepted` is the file of accepted figures · `timing` measures in fresh processes · `judging` is the
statistics, pure · `compiled` what compilers say for GPUs that need not be there · `gate` goes through it all · `result` what came
of it.
"""
