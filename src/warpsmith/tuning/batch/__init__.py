"""Several kernels under one budget: a run for each, visited in stages, and what is left goes where the most may be gained.

`options` is what is asked for · `shares` is the rule, pure · `work` visits the runs and keeps the record · `visit` goes on with
one run · `result` is the object of `--json`.
"""
