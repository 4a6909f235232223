"""The built-in agent: no model, no key. `analyst` reads the measurements, `planner` picks passes, both by rules one can read."""

from warpsmith.agents.rules.agent import RulesAgent

__all__ = ["RulesAgent"]
