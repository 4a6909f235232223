"""One configuration → one outcome: compiled (`builder`), verified and timed against the best so far (`evaluate`).

`round` is what is searched: a template, its space and its builder. `original` makes sure that the kernel itself can be the
baseline; `odd_shapes` and `adversaries` are the workloads that nobody declared.
"""
