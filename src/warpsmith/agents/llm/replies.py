"""Answer schemas by role, and the deviations that are tolerated when reading them.

Forgiven is what has one meaning only: numbers written as text, one value where a list is meant, another common name of a field.
Everything else is a `ValidationError`, whose text goes back to the model. What a reply means for this kernel is checked by
`forms` and `workloads`.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from warpsmith.core.plain_text import printable
from warpsmith.refactor.base import Concern
from warpsmith.tuning.rounds.writing import MOST_FORMS


def _several(value: Any) -> Any:
    """One value where a list is meant; None is an empty one."""
    return [] if value is None else value if isinstance(value, (list, tuple)) else [value]


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _named(value: Any, key: str) -> Any:
    """`{"BLOCK": [64, 128]}` and `{"BLOCK": {"values": …}}` as entries with a name."""
    if not isinstance(value, dict):
        return _several(value)
    return [{"name": name, **entry} if isinstance(entry, dict) else {"name": name, key: entry} for name, entry in value.items()]


ExpressionText = Annotated[str, BeforeValidator(_text), Field(max_length=400)]
Extents = Annotated[list[ExpressionText], BeforeValidator(_several), Field(min_length=1, max_length=3)]
# Too many words are no reason to ask again.
Words = Annotated[
    str,
    BeforeValidator(lambda value: "" if value is None else value),
    AfterValidator(lambda text: printable(text, also="\n").strip()[:1000]),
]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


def _renamed(data: Any, names: dict[str, str]) -> Any:
    """Fields under the name we use, where a model chose another and not ours."""
    if not isinstance(data, dict):
        return data
    found = dict(data)
    for other, ours in names.items():
        if other in found and ours not in found:
            found[ours] = found.pop(other)
    return found


class FindingReply(_Reply):
    concern: Annotated[Concern, BeforeValidator(_lower)]
    text: Words = Field(min_length=1, description="one sentence: the fact, with its figure, and what it suggests")
    weight: float = Field(0.5, description="0 to 1: how likely acting on it makes the kernel faster")

    @property
    def bounded_weight(self) -> float:
        return 0.0 if math.isnan(self.weight) else min(1.0, max(0.0, self.weight))


class AnalysisReply(_Reply):
    """What keeps the kernel from its roof, the weightiest first; empty when nothing does."""

    findings: Annotated[list[FindingReply], BeforeValidator(_several), Field(max_length=12)]


class PlanReply(_Reply):
    """The next round."""

    passes: Annotated[list[str], BeforeValidator(_several)] = Field(
        default_factory=list, description="names of passes to add, from the list; those of earlier rounds stay anyway"
    )
    write: bool = Field(default=False, description="true: you want to write a form of the kernel yourself for this round")
    reason: Words = Field(min_length=1, description="what you expect of it and why")
    share: float | None = Field(default=None, description="part of the remaining budget for this round, above 0 up to 1")
    stop: bool = Field(default=False, description="true: nothing is left that is worth trying")


class ParameterReply(_Reply):
    name: str
    values: Annotated[list[int], BeforeValidator(_several), Field(min_length=1, max_length=64)]
    default: int | None = Field(default=None, description="one of the values: your best guess")
    meaning: Words = Field(default="", description="what it chooses, for the comment beside its #define")

    @model_validator(mode="before")
    @classmethod
    def _names(cls, data: Any) -> Any:
        return _renamed(data, {"description": "meaning", "choices": "values"})


class ConstraintReply(_Reply):
    expression: ExpressionText
    reason: Words = Field(default="")

    @model_validator(mode="before")
    @classmethod
    def _names(cls, data: Any) -> Any:
        return {"expression": data} if isinstance(data, str) else _renamed(data, {"expr": "expression", "rule": "expression"})


class LaunchReply(_Reply):
    grid: Extents
    block: Extents
    shared: ExpressionText = Field(default="0", description="dynamic shared memory in bytes")

    @model_validator(mode="before")
    @classmethod
    def _names(cls, data: Any) -> Any:
        return _renamed(data, {"shared_bytes": "shared", "shared_memory": "shared"})


class FormReply(_Reply):
    """One form of the kernel: its whole source, its launch, its parameters."""

    hypothesis: Words = Field(default="", description="why this form is faster")
    source: str = Field(default="", max_length=200_000, description="the whole file; parameters stand in it as plain names")
    launch: LaunchReply | None = None
    parameters: Annotated[list[ParameterReply], BeforeValidator(lambda value: _named(value, "values"))] = Field(
        default_factory=list, max_length=12
    )
    constraints: Annotated[list[ConstraintReply], BeforeValidator(_several)] = Field(default_factory=list, max_length=24)
    give_up: bool = Field(default=False, description="true: there is no form worth trying (leave the rest empty)")
    tried: int | None = Field(default=None, description="this trial of yours is the form; what else you give changes it")

    @model_validator(mode="before")
    @classmethod
    def _names(cls, data: Any) -> Any:
        names = {"code": "source", "kernel": "source", "tunables": "parameters", "rules": "constraints", "forms": "form"}
        found = _renamed(data, names)
        if isinstance(found, dict) and "launch" not in found and {"grid", "block"} <= found.keys():
            found["launch"] = {key: found[key] for key in ("grid", "block", "shared") if key in found}
        return found


Forms = Annotated[list[FormReply], BeforeValidator(_several), Field(max_length=MOST_FORMS)]


class FormsReply(FormReply):
    """Several forms, or one without more ado."""

    form: Forms = Field(default_factory=list)

    @property
    def forms(self) -> list[FormReply]:
        return self.form or [self]


class RoundReply(_Reply):
    """What keeps the kernel from its roof, the next round, and its form where one is written."""

    findings: Annotated[list[FindingReply], BeforeValidator(_several), Field(max_length=12)] = Field(default_factory=list)
    passes: Annotated[list[str], BeforeValidator(_several)] = Field(default_factory=list)
    write: bool = False
    reason: Words = ""
    share: float | None = None
    stop: bool = False
    form: Forms = Field(default_factory=list, description="several are welcome: all are tried at their defaults")
    notes: Words = Field(default="", description="what you want to know in later rounds")

    @property
    def plan(self) -> PlanReply | None:
        """None where only the analysis was given."""
        if not (self.passes or self.write or self.stop or self.form):
            return None
        written = any(not form.give_up for form in self.form)
        reason = self.reason or "; ".join(form.hypothesis for form in self.form if form.hypothesis) or "no reason was given"
        return PlanReply(passes=self.passes, write=self.write or written, reason=reason, share=self.share, stop=self.stop)


class WorkloadReply(_Reply):
    name: str = Field(min_length=1, max_length=60)
    sizes: dict[str, int]
    scale: float = Field(default=1.0, description="float inputs are multiplied by it: 1 as usual, 1000 for large values")
    reason: Words = Field(default="", description="which mistake it would uncover")


class TestsReply(_Reply):
    """Small shapes that a subtly wrong version of the kernel would fail on."""

    __test__ = False  # not a test case of pytest's

    workloads: Annotated[list[WorkloadReply], BeforeValidator(lambda value: _named(value, "sizes")), Field(max_length=8)]

    @model_validator(mode="before")
    @classmethod
    def _sizes_beside_names(cls, data: Any) -> Any:
        """`{"name": "odd", "n": 7}`, as kernel.toml writes it."""
        if not isinstance(data, dict) or not isinstance(data.get("workloads"), (list, dict)):
            return data
        return {**data, "workloads": [_gathered(entry) for entry in _named(data["workloads"], "sizes")]}


def _gathered(entry: Any) -> Any:
    if not isinstance(entry, dict) or "sizes" in entry:
        return entry
    known = {"name", "reason", "weight", "heldout", "scale"}
    return {**entry, "sizes": {name: value for name, value in entry.items() if name not in known}}
