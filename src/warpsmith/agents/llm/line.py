"""Requests to a model, with back-off and retries for temporary errors.

Every failed attempt is told to `on_fault` with its reason. When the model cannot be asked any more, `AgentStopped` says why, and
it stays said: nobody waits a second time for a server that is gone. A fault that may pass costs its question; only where the next
question meets one at once is the model given up. The client's own retries are off, so that each one is seen.
"""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    ModelRequestTimeout,
    ModelTimeoutError,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from warpsmith.agents.llm.faults import about_length, about_tools, is_lasting, is_too_long, may_pass, reason_of
from warpsmith.agents.llm.models import address_of
from warpsmith.record.transcript import Role
from warpsmith.settings import model_timeout_s
from warpsmith.tuning.agent.planning import AgentStopped, Unanswered

T = TypeVar("T")

ATTEMPTS = 4
_ATTEMPTS_IN_SILENCE = 2  # a server that says nothing for two minutes will hardly say more in the next two
_FIRST_WAIT_S = 1.0
_WAIT_GROWS = 4.0
LONGEST_WAIT_S = 60.0
MODEST_ANSWER = 4_000  # tokens, for servers that have no room for a longer one
_SHORTEST_TIME_S = 1.0
_SHARE_OF_TIME = 0.5  # one question may not take all the time that the search has left


class ToolsRefused(Exception):  # noqa: N818 - reads as the fact it states
    """The server does not take tool calls: the same may be asked in plain words."""


class TooLong(Exception):  # noqa: N818 - as above
    """The model does not hold so much: a shorter conversation may be asked."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A question about to be asked. `answered` counts its answers that are on record already, from before an interruption."""

    role: Role
    round: int
    question: str
    instructions: str
    answered: int


class Asked(Protocol):
    """Who answers: a model at the end of a line, or a recording of one."""

    def begin(self, asking: Asking) -> str | None:
        """A new question; a recording wants to know, a model does not. What it has to say to it, for the lab book."""
        ...

    def request(
        self,
        messages: Sequence[ModelMessage],
        parameters: ModelRequestParameters,
        longest_answer: int | None,
        on_fault: Callable[[str], None],
    ) -> ModelResponse:
        """Raises AgentStopped, TooLong, or ToolsRefused when the request had tools and the server has none."""
        ...


@dataclass(slots=True)
class Line:
    """`sleep` and `timeout_s` are given by tests; `seconds_left` is the run's."""

    model: Model
    seconds_left: Callable[[], float | None]
    sleep: Callable[[float], None]
    timeout_s: float = field(default_factory=model_timeout_s)
    _stopped: str | None = None
    _is_ailing: bool = False  # the last question was given up over faults that may pass
    _has_answered: bool = False
    _takes_tools: bool = False  # it called one

    def begin(self, asking: Asking) -> str | None:  # noqa: ARG002
        """As in `Asked`."""
        return None

    def request(
        self,
        messages: Sequence[ModelMessage],
        parameters: ModelRequestParameters,
        longest_answer: int | None,
        on_fault: Callable[[str], None],
    ) -> ModelResponse:
        """As in `Asked`."""
        silent = 0
        attempts = 1 if self._is_ailing else ATTEMPTS
        for attempt in range(1, attempts + 1):
            try:
                response = self._once(messages, parameters, longest_answer)
            except AgentStopped:
                raise
            except Exception as error:  # noqa: BLE001 - `choices: []` is an IndexError; what else a server's answer may cause, who knows
                reason = reason_of(error)
                on_fault(reason)
                if longest_answer is not None and longest_answer > MODEST_ANSWER and about_length(error) and attempt < attempts:
                    longest_answer = MODEST_ANSWER
                    continue
                if is_too_long(error):
                    raise TooLong(reason) from None
                if parameters.function_tools and not self._takes_tools and about_tools(error):
                    raise ToolsRefused(reason) from None
                silent += isinstance(error, ModelRequestTimeout | ModelTimeoutError)
                is_last = attempt == attempts or silent >= _ATTEMPTS_IN_SILENCE
                self._go_on(error, reason, attempt, is_last=is_last)
            else:
                self._is_ailing, self._has_answered = False, True
                self._takes_tools |= bool(response.tool_calls)
                return response
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

    def _go_on(self, error: Exception, reason: str, attempt: int, *, is_last: bool) -> None:
        """Waits for another attempt. Raises AgentStopped, or Unanswered where the question alone is lost."""
        if not may_pass(error) and (is_lasting(error) or not self._has_answered):
            self._stop(reason, attempt)
        if is_last or not may_pass(error):  # the latter refuses this question: a filter, a field that it does not like
            self._give_up(reason, attempt)
        self._wait(error, attempt)

    def _wait(self, error: Exception, attempt: int) -> None:
        asked = getattr(error, "retry_after", None) or 0.0
        seconds = max(asked, _FIRST_WAIT_S * _WAIT_GROWS ** (attempt - 1))
        left = self.seconds_left()
        most = LONGEST_WAIT_S if left is None else min(LONGEST_WAIT_S, _SHARE_OF_TIME * left)
        if asked > most:
            self._stop(f"{reason_of(error)}; it asks to wait {asked:g} s, and {most:.0f} s are the most", attempt)
        self.sleep(min(seconds, most))

    def _give_up(self, reason: str, attempts: int) -> None:
        """The question; and the model where the question before was given up, too."""
        if self._is_ailing:
            self._stop(reason, attempts)
        self._is_ailing = True
        tried = f" (asked {attempts} times)" if attempts > 1 else ""
        raise Unanswered(f"{self.model.model_name} did not answer: {reason}{tried}")

    def _stop(self, reason: str, attempts: int) -> None:
        tried = f" (asked {attempts} times)" if attempts > 1 else ""
        url = address_of(self.model)
        if "HTTP 404" in reason and url is not None and not urlsplit(url).path.strip("/"):
            reason += "; its address has no path, where most servers want http://HOST:PORT/v1"
        self._stopped = f"{self.model.model_name} cannot be asked: {reason}{tried}"
        raise AgentStopped(self._stopped)


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
