"""Semantics-preserving passes, one per file under `passes/`; each adds parameters whose default leaves the kernel as it was.

`base` says what a pass is, `draft` applies passes one after the other, `merge` writes the resulting forms of the kernel as one
ordinary source with `#if` branches.
"""
