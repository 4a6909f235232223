"""A model's tools: try a form, inspect earlier ones, query a pass. Bounded and recorded.

Where the server has tool calls they are its tools; where it has none, the same is asked for in the JSON of an answer.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from warpsmith.agents.llm.forms import proposal_of
from warpsmith.agents.llm.problem import Problem
from warpsmith.agents.llm.prompts import Tool
from warpsmith.agents.llm.reading import explained
from warpsmith.agents.llm.replies import FormReply
from warpsmith.agents.llm.schemas import compact
from warpsmith.agents.llm.scrub import cut, presentable
from warpsmith.record.transcript import Kind
from warpsmith.tuning.agent.planning import EVALUATIONS_PER_TRIAL, MOST_USES, Facts, Tools

if TYPE_CHECKING:
    from warpsmith.agents.llm.calls import Call
    from warpsmith.agents.llm.conversation import Notes

_MOST_RESULT = 6_000  # characters
_MOST_IDEA = 120
_FEW = 3
_TRY, _LOOK, _PASS, _LOOP = "try_form", "look_at", "ask_pass", "hot_loop"
_FORM_NUMBER = {"type": "integer", "description": "a kept form's number; 0: the original; negative: a trial (-2: trial 2)"}


@dataclass(slots=True)
class Toolbox:
    """Of one answer. `tried` are the run's trials by number, for an answer that takes one of them as its form."""

    facts: Facts | None = None
    tried: dict[int, FormReply] = field(default_factory=dict)
    _uses: int = 0
    _seen: list[str] = field(default_factory=list)
    _trials: list[str] = field(default_factory=list)  # in a few words each

    @property
    def _tools(self) -> Tools | None:
        return self.facts.tools if self.facts is not None else None

    @property
    def names(self) -> tuple[str, ...]:
        return (_TRY, _LOOP, _LOOK, _PASS) if self._tools is not None else ()

    @property
    def left(self) -> bool:
        return self._uses < MOST_USES

    @property
    def summary(self) -> str:
        """What came of this answer's trials, for a conversation that had to be shortened."""
        return "\n\n".join(["Already tried for this answer:", *self._seen]) if self._seen else ""

    @property
    def gist(self) -> str:
        """What of it is remembered once the turn is shortened: nobody tries twice what he knows to have lost."""
        return f" You tried {'; '.join(self._trials)}." if self._trials else ""

    @property
    def rest(self) -> str:
        """How much is left, said where it is little."""
        left = MOST_USES - self._uses
        return f"({max(left, 0)} of {MOST_USES} looks and trials left for this answer.)" if left <= _FEW else ""

    def definitions(self) -> list[Tool]:
        if self._tools is None:
            return []
        number: dict[str, Any] = {"type": "object", "properties": {"form": _FORM_NUMBER}, "required": ["form"]}
        asked = {"pass": {"type": "string"}, "form": _FORM_NUMBER}
        return [
            Tool(_TRY, "Compile, verify, watch for races and time a form beside the best so far; " + _PRICE, compact(FormReply)),
            Tool(
                _LOOP,
                "The machine code of a form's hottest loops at its defaults: counts of each, and one in full. Free.",
                {**number, "properties": {**number["properties"], "loop": {"type": "integer", "description": "1: the hottest"}}},
            ),
            Tool(_LOOK, "A form's source, launch and every configuration of it that was measured. Free.", number),
            Tool(
                _PASS,
                "What a refactoring pass would do to a form: its parameters, or why it declines. Free.",
                {"type": "object", "properties": asked, "required": ["pass"]},
            ),
        ]

    def use(self, call: Call, said: Notes) -> str:
        """The result in words; what is wrong with the call is one, too."""
        self._uses += 1
        try:
            result = self._result(call)
        except Problem as problem:
            result = f"Not done: {problem}"
        result = presentable(result, _MOST_RESULT)
        if call.name != _TRY or result.startswith("Not done"):  # trials are noted by who makes them
            said.note(Kind.TOOL, f"{call.name} {_shown(call.arguments)}\n{result}".strip())
        if call.name == _TRY:
            self._seen.append(result)
        return result

    def _result(self, call: Call) -> str:
        if self._uses > MOST_USES:
            raise Problem(f"{MOST_USES} looks and trials are the most for one answer")
        if call.name not in self.names:
            near = difflib.get_close_matches(call.name, self.names, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise Problem(f"there is no tool {call.name!r}{meant} There are {', '.join(self.names)}, and answer")
        if call.arguments is None:
            raise Problem("the arguments are not a JSON object")
        does: Mapping[str, Callable[[dict[str, Any]], str]] = {
            _TRY: self._try_form,
            _LOOP: lambda arguments: self._lab.hot_loop(self._number(arguments), self._number(arguments, "loop", 1)),
            _LOOK: lambda arguments: self._lab.look_at(self._number(arguments)),
            _PASS: lambda arguments: self._lab.ask_pass(str(arguments.get("pass", "")), self._number(arguments)),
        }
        return does[call.name](call.arguments)

    @property
    def _lab(self) -> Tools:
        assert self._tools is not None, "without it there are no names to call"
        return self._tools

    def _try_form(self, arguments: dict[str, Any]) -> str:
        assert self.facts is not None
        try:
            reply = FormReply.model_validate(_unwrapped(arguments))
        except ValidationError as error:
            raise Problem(explained(error)) from None
        reply = self.completed(reply)
        proposal = proposal_of(reply, self.facts.kernel, self.facts.limits, self.facts.next_form)
        trial = self._lab.try_form(proposal)
        if trial.number:
            self.tried[trial.number] = reply
            self._trials.append(f"trial {trial.number} ({cut(reply.hypothesis, _MOST_IDEA) or 'no hypothesis'}): {trial.brief}")
        return trial.text

    def completed(self, reply: FormReply) -> FormReply:
        """With what it leaves out of the trial that it refers to. Raises Problem."""
        if reply.tried is None:
            return reply
        if reply.tried not in self.tried:
            known = ", ".join(map(str, self.tried)) or "none"
            raise Problem(f"there is no trial {reply.tried}; trials so far: {known}")
        before = self.tried[reply.tried]
        given = {name for name in reply.model_fields_set if getattr(reply, name) not in (None, "", [], False)}
        return before.model_copy(update={name: getattr(reply, name) for name in given - {"tried"}})

    @staticmethod
    def _number(arguments: Mapping[str, Any], name: str = "form", default: int = 0) -> int:
        found = arguments.get(name, default)
        if isinstance(found, bool) or not isinstance(found, int | str | float):
            raise Problem(f"{name} is a whole number")
        try:
            return int(found)
        except (ValueError, OverflowError):
            raise Problem(f"{name} is a whole number; found {found!r}") from None


_PRICE = f"about a second, and {EVALUATIONS_PER_TRIAL:g} of an evaluation. Several calls at once are welcome."


def _unwrapped(arguments: dict[str, Any]) -> dict[str, Any]:
    """`{"form": {…}}`, as an answer has it."""
    inner = arguments.get("form")
    [inner] = inner if isinstance(inner, list) and len(inner) == 1 else [inner]
    return {**arguments, **inner} if isinstance(inner, dict) else arguments


def _shown(arguments: Mapping[str, Any] | None) -> str:
    return json.dumps(arguments)[:200] if arguments else ""
