"""A run: from a kernel to claims that may be made, with all that happens in between.

* here: `order` (what is asked for) → `run` → `searching` → `rounds` or `direct` → `search` → `evaluate`, `builder` → `result`
* `templates/` makes a kernel's template and proves that it is the original
* `agent/` is what an agent is told, and what becomes of its answers
* `claims/` is what may be said of the best
* `afterwards/` verifies and explains what was found
* `comparison/` compares two ways to tune

`events` is what a run says meanwhile; `workshop` what all parts of one run work with.
"""
