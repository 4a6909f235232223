"""A run, from a kernel to its claims. Listed in processing order; each folder imports only the ones before it:

* `budget`, `agent/` (who plans, what it is told and answers), `order` (what is asked for), `events` (what a run says meanwhile)
* `evaluation/`: one configuration → one outcome
* `templates/` makes a kernel's template and proves that it is the original
* `rounds/`: plan → template → search, repeated
* `claims/`: the finalists, measured again in fresh processes
* `run`: prepare → `rounds` → `claims` → record, as a `result`
* `afterwards/` verifies, explains and ships what was found
* `comparison/`, `batch/`, `gate/`: many seeds, many kernels, regression checks
"""
