"""Cheating, broken and hostile candidates, and honest ones that look like it: what catches each, as one Markdown table.

`python -m benchmarks cheats` takes every candidate through its real door to the end, each in a process of its own, in about half
an hour; CHEATS="kept" takes those only whose family or name has that in it, JOBS=2 two at a time. WRITE=1 puts the table into docs/concepts/cheats.md.

`candidate` is what one is, `suite` all of them: `kept`, `known`, `launches`, `memory`, `less`, `host`, `hostile`, `published`, and
`honest`. `victims` are the kernels that they are written for; `judge` says what became of one, `run` and `table` of all.
"""

from benchmarks.cheats.run import main

__all__ = ["main"]
