"""A run: from a kernel to claims that may be made, with all that happens in between.

* the run: `order` (what is asked for) → `run` → `searching` → `rounds` or `direct` → `search` → `evaluate`, `builder`
* what is claimed: `finalists`, `beside`, `claims`, `endurance`, `scrutiny`, `simplicity` → `result`
* templates: `templating`, `trial`, `probes`, `combinations`, `workbench` make one; `certify` shows that it is the original
* the agent: `planning` is its protocol, `agents` finds it by name, `agenda` carries out its plans, `writing` has it write forms;
  `secretary`, `allowance` and `relief` are for models that cost, fail or fall silent
* afterwards: `verification`, `recheck` verify again, `account` gathers what a report says, `comparison` compares two ways to tune

`events` is what a run says meanwhile; `workshop` what all parts of one run work with.
"""
