"""Classifies errors of model requests: whether to wait and retry, shorten the question, or drop tools."""

from __future__ import annotations

from typing import Any

from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
)

from warpsmith.agents.llm.scrub import presentable

_MOST_WORDS = 400
_TRANSIENT = frozenset({408, 409, 425, 429})
_LASTING = frozenset({401, 402, 403, 404})
_TOO_LARGE = 413
_REFUSES_TOOLS = frozenset({400, 404, 405, 415, 422, 500, 501})
_REFUSES_LENGTH = frozenset({400, 413, 422, 500})
_LENGTH_WORDS = (
    "context length",
    "context_length",
    "context window",
    "context size",
    "prompt is too long",
    "too many tokens",
    "n_ctx",
)
_TOOL_WORDS = ("tool", "function", "response_format", "grammar", "schema")


def may_pass(error: Exception) -> bool:
    """Whether asking again may help."""
    if isinstance(error, ModelHTTPError) and (error.status_code in _TRANSIENT or error.status_code >= 500):
        return not isinstance(error, ModelQuotaExceededError)
    return not isinstance(error, ModelRequestRejectedError | ModelQuotaExceededError | ModelHTTPError)


def is_lasting(error: Exception) -> bool:
    """Whether another question would meet it, too: a key, a quota, a model that is not there."""
    lasting = ModelAuthenticationError | ModelNotFoundError | ModelQuotaExceededError
    return isinstance(error, lasting) or (isinstance(error, ModelHTTPError) and error.status_code in _LASTING)


def about_tools(error: Exception) -> bool:
    """Whether a server without tool calls may be behind it; some say so with a 500."""
    if isinstance(error, ModelAuthenticationError | ModelContextWindowExceededError | ModelQuotaExceededError):
        return False
    if not isinstance(error, ModelHTTPError) or error.status_code not in _REFUSES_TOOLS:
        return False
    says_so = any(word in f"{error.body} {error.message}".lower() for word in _TOOL_WORDS)
    return says_so or (error.status_code in {400, 422} and not isinstance(error, ModelNotFoundError))


def about_length(error: Exception) -> bool:
    """Whether the server refuses because question and longest answer together are more than it holds."""
    return isinstance(error, ModelContextWindowExceededError) or (
        isinstance(error, ModelRequestRejectedError) and "max_tokens" in f"{error.body} {error.message}"
    )


def is_too_long(error: Exception) -> bool:
    """Whether the model does not hold the conversation; many servers only say so in words."""
    if isinstance(error, ModelContextWindowExceededError):
        return True
    if not isinstance(error, ModelHTTPError) or error.status_code not in _REFUSES_LENGTH:
        return False
    said = f"{error.body} {error.message}".lower()
    return error.status_code == _TOO_LARGE or any(words in said for words in _LENGTH_WORDS)


def reason_of(error: Exception) -> str:
    match error:
        case ModelRequestTimeout(timeout=seconds):
            words = f"no answer within {seconds:g} s"
        case ModelHTTPError(status_code=status):
            words = f"HTTP {status}: {_said(error)}"
        case ModelConnectionError():
            words = f"the connection failed: {_cause(error)}"
        case AgentRunError():
            words = error.message
        case _:
            words = f"an answer that cannot be read ({type(error).__name__}: {error})"
    return " ".join(presentable(words, _MOST_WORDS).split())


def _said(error: ModelHTTPError) -> str:
    """The server's own sentence where its body has one."""
    body: Any = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    words = inner.get("message") if isinstance(inner, dict) else inner
    return str(words or error.message)


def _cause(error: ModelAPIError) -> str:
    cause = error.__cause__
    return str((cause.__cause__ if cause is not None else None) or cause or error.message)
