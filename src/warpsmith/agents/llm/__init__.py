"""Language models as agents, through pydantic-ai (extra `llm`). Imported only when a model is used."""

from warpsmith.agents.llm.agent import LlmAgent

__all__ = ["LlmAgent"]
