"""The interface of agents (`warpsmith.agents`): their inputs and answers.

`planning` is the protocol, `agents` finds one by name, `facts` and `form_facts` are what was measured, `prospects` what passes
could do; `allowance` and `fallback` are for models that cost, fail or fall silent. `tuning.rounds` carries out the plans.
"""
