"""Language models as agents, through pydantic-ai (extra `llm`). Nothing of it is imported before a model is asked for."""

from warpsmith.agents.llm.agent import LlmAgent

__all__ = ["LlmAgent"]
