"""An agent's part in a run, whoever it is (`warpsmith.agents`): what it is told and answers, and what becomes of its answers.

`planning` is the protocol, `agents` finds one by name, `agenda` carries out its plans, `writing` has it write forms,
`adversaries` are workloads that it adds; `secretary`, `allowance` and `relief` are for models that cost, fail or fall silent.
"""
