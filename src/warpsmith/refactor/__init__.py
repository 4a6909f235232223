"""Semantics-preserving passes, one per file under `passes/`; each adds parameters whose default leaves the kernel as it was.

`base` says what a pass is. `drafting/` applies them to the forms of a kernel, holds their answers to their promises and writes
all forms as one ordinary source with `#if` branches. Forms that others write come in as a `proposal`, and `allowed/` says what
they may be. What several passes read and write: `lifting/` (numbers), `loops/`, `mapping/`, `rows/`, `tiles/`.
"""
