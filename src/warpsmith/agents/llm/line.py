"""The line to a model: one request, with back-off where waiting may help, and an end where it does not.

Every failed attempt is told to `on_fault` with its reason. When the model cannot be asked any more, `AgentStopped` says why, and
it stays said: nobody waits a second time for a server that is gone. The client's own retries are off, so that each one is seen.
"""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic_ai.direct import model_request
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
    ModelTimeoutError,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from warpsmith.agents.llm.models import address_of
from warpsmith.agents.llm.scrub import presentable
from warpsmith.settings import model_timeout_s
from warpsmith.tuning.agent.planning import AgentStopped

T = TypeVar("T")

ATTEMPTS = 4
_ATTEMPTS_IN_SILENCE = 2  # a server that says nothing for two minutes will hardly say more in the next two
_FIRST_WAIT_S = 1.0
_WAIT_GROWS = 4.0
LONGEST_WAIT_S = 60.0
MODEST_ANSWER = 4_000  # tokens, for servers that have no room for a longer one
_SHORTEST_TIME_S = 1.0
_SHARE_OF_TIME = 0.5  # one question may not take all the time that the search has left
_MOST_WORDS = 400
_TRANSIENT = frozenset({408, 409, 425, 429})
_REFUSES_TOOLS = frozenset({400, 404, 405, 415, 422, 500, 501})
_TOOL_WORDS = ("tool", "function", "response_format", "grammar", "schema")


class ToolsRefused(Exception):  # noqa: N818 - reads as the fact it states
    """The server does not take tool calls: the same may be asked in plain words."""


@dataclass(slots=True)
class Line:
    """`sleep` and `timeout_s` are given by tests; `seconds_left` is the run's."""

    model: Model
    seconds_left: Callable[[], float | None]
    sleep: Callable[[float], None]
    timeout_s: float = field(default_factory=model_timeout_s)
    _stopped: str | None = None

    def request(
        self,
        messages: Sequence[ModelMessage],
        parameters: ModelRequestParameters,
        longest_answer: int | None,
        on_fault: Callable[[str], None],
    ) -> ModelResponse:
        """Raises AgentStopped, or ToolsRefused when the request had tools and the server has none."""
        silent = 0
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._once(messages, parameters, longest_answer)
            except AgentStopped:
                raise
            except Exception as error:  # noqa: BLE001 - `choices: []` is an IndexError; what else a server's answer may cause, who knows
                reason = _reason(error)
                on_fault(reason)
                if longest_answer is not None and longest_answer > MODEST_ANSWER and _about_length(error) and attempt < ATTEMPTS:
                    longest_answer = MODEST_ANSWER
                    continue
                if parameters.output_tools and _about_tools(error):
                    raise ToolsRefused(reason) from None
                silent += isinstance(error, ModelRequestTimeout | ModelTimeoutError)
                if not _may_pass(error) or attempt == ATTEMPTS or silent >= _ATTEMPTS_IN_SILENCE:
                    self._stop(reason, attempt)
                self._wait(error, attempt)
        raise AssertionError("the last attempt returns or raises")

    def _once(
        self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters, longest_answer: int | None
    ) -> ModelResponse:
        if self._stopped is not None:
            raise AgentStopped(self._stopped)
        seconds = self._deadline_s()
        settings = ModelSettings(max_retries=0, request_timeout=seconds, timeout=seconds)
        if longest_answer is not None:
            settings["max_tokens"] = longest_answer
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a provider does not support of the settings is not the user's business
            return _wait_for(
                model_request(self.model, list(messages), model_settings=settings, model_request_parameters=parameters)
            )

    def _deadline_s(self) -> float:
        left = self.seconds_left()
        if left is None:
            return self.timeout_s
        if left < _SHORTEST_TIME_S:
            raise AgentStopped("no time is left to ask a model")
        return min(self.timeout_s, max(_SHORTEST_TIME_S, _SHARE_OF_TIME * left))

    def _wait(self, error: Exception, attempt: int) -> None:
        asked = getattr(error, "retry_after", None) or 0.0
        seconds = max(asked, _FIRST_WAIT_S * _WAIT_GROWS ** (attempt - 1))
        left = self.seconds_left()
        most = LONGEST_WAIT_S if left is None else min(LONGEST_WAIT_S, _SHARE_OF_TIME * left)
        if asked > most:
            self._stop(f"{_reason(error)}; it asks to wait {asked:g} s, and {most:.0f} s are the most", attempt)
        self.sleep(min(seconds, most))

    def _stop(self, reason: str, attempts: int) -> None:
        tried = f" (asked {attempts} times)" if attempts > 1 else ""
        url = address_of(self.model)
        if "HTTP 404" in reason and url is not None and not urlsplit(url).path.strip("/"):
            reason += "; its address has no path, where most servers want http://HOST:PORT/v1"
        self._stopped = f"{self.model.model_name} cannot be asked: {reason}{tried}"
        raise AgentStopped(self._stopped)


# ── what went wrong ──


def _may_pass(error: Exception) -> bool:
    """Whether asking again may help."""
    if isinstance(error, ModelHTTPError) and (error.status_code in _TRANSIENT or error.status_code >= 500):
        return not isinstance(error, ModelQuotaExceededError)
    return not isinstance(error, ModelRequestRejectedError | ModelQuotaExceededError | ModelHTTPError)


def _about_tools(error: Exception) -> bool:
    """Whether a server without tool calls may be behind it; some say so with a 500."""
    if isinstance(error, ModelAuthenticationError | ModelContextWindowExceededError | ModelQuotaExceededError):
        return False
    if not isinstance(error, ModelHTTPError) or error.status_code not in _REFUSES_TOOLS:
        return False
    says_so = any(word in f"{error.body} {error.message}".lower() for word in _TOOL_WORDS)
    return says_so or (error.status_code in {400, 422} and not isinstance(error, ModelNotFoundError))


def _about_length(error: Exception) -> bool:
    """Whether the server refuses because question and longest answer together are more than it holds."""
    return isinstance(error, ModelContextWindowExceededError) or (
        isinstance(error, ModelRequestRejectedError) and "max_tokens" in f"{error.body} {error.message}"
    )


def _reason(error: Exception) -> str:
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


# ── from here to asyncio and back ──


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One loop for all requests of this process, in a thread of its own.

    Clients keep connections that belong to their loop, and the caller may have a loop running already (a notebook, a server).
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="warpsmith-models", daemon=True).start()
    return loop


def _wait_for(work: Coroutine[Any, Any, T]) -> T:
    future = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()  # Ctrl-C: the request ends with the wait
        raise
