"""Semantics-preserving passes, one per file under `passes/`; each adds parameters whose default leaves the kernel as it was.

`base` says what a pass is, `application` applies one to a `draft`, `checks` holds its answer to its promises. `combine` and
`merge` write the resulting forms of the kernel as one ordinary source with `#if` branches, `emit` puts it into a folder. Forms
that others write come in as a `proposal`, and `allowed` says what they may be. `lifting` makes parameters of numbers. The other
modules read or write code for one pass or several, and say for which.
"""
