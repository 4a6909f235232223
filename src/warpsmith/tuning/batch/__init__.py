"""Several kernels under one budget: one run each, advanced in stages; the remaining budget goes to the largest expected gain.

`options` is what is asked for · `shares` is the rule, pure · `work` visits the runs and keeps the record · `visit` goes on with
one run · `result` is the object of `--json`.
"""
