"""Converts rows of the record to objects. Damaged rows are detected and affect only their run."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import UnavailableError
from warpsmith.core.outcome import Evaluation
from warpsmith.record.codec import decode_outcome
from warpsmith.record.lessons import Lesson, forms_of, interval, passes_of
from warpsmith.record.run import RoundRecord, RunHeader, RunRecord, Status
from warpsmith.record.shape import require_claims
from warpsmith.record.transcript import Kind, Message, Role
from warpsmith.spec.kernel import Workload

_NO_UTF_8 = re.compile("[\ud800-\udfff]")  # as the database's text factory has bytes that are none
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
_TEXTS = ("run", "kernel", "kernel_path", "fingerprint", "device", "agent", "strategy")


def run_record(row: sqlite3.Row) -> RunRecord:
    """As `unreadable` where anything in it is damaged."""
    try:
        return _run_record(row)
    except _DAMAGE:
        # What can be shown of it: whoever looks for the run finds it by its name.
        texts = (str(row[name]).encode(errors="replace").decode() for name in _TEXTS)
        run, kernel, kernel_path, fingerprint, device, agent, strategy = texts
        header = RunHeader(kernel, kernel_path, fingerprint, device, agent, strategy, 0, {}, {})
        created_at = row["created_at"] if isinstance(row["created_at"], float) else 0.0
        return RunRecord(run, header, created_at, 0.0, Status.UNREADABLE, None)


def _run_record(row: sqlite3.Row) -> RunRecord:
    run, kernel, kernel_path, fingerprint, device, agent, strategy = (_text(row[name]) for name in _TEXTS)
    settings, info = _object(row["settings"]), _object(row["device_info"])
    header = RunHeader(kernel, kernel_path, fingerprint, device, agent, strategy, _whole(row["seed"]), settings, info)
    result, error = (_object(row[name]) if row[name] is not None else None for name in ("result", "error"))
    if result is not None:
        require_claims(result)
    if error is not None:
        _text(error["message"])
    status, seconds = Status(_text(row["status"])), _number(row["seconds"])
    return RunRecord(run, header, _number(row["created_at"]), seconds, status, result, error)


def lesson(row: sqlite3.Row) -> Lesson | None:
    """None where anything in it is damaged, or its run claims nothing."""
    with contextlib.suppress(*_DAMAGE):
        learnt, info, claims = (_object(row[name]) for name in ("learnt", "device_info", "result"))
        claim = claims["general"] or claims["uncertain"]
        kind, about = _text(row["device"]).partition(":")[0], _text(info["description"])
        run, kernel, features = _text(row["run"]), _text(row["kernel"]), frozenset(map(_text, json.loads(row["features"])))
        forms, passes = forms_of(learnt), passes_of(learnt)
        return Lesson(run, kernel, kind, about, features, forms, passes, float(claim["speedup"]), interval(claim["ci95"]))
    return None


def evaluation(row: sqlite3.Row) -> Evaluation:
    with _damage(row, f"evaluation {row['number']}"):
        configuration = Configuration.from_key(_text(row["configuration"]))
        if not all(isinstance(value, bool | int | float | str) for value in configuration.values()):
            raise ValueError(f"not values of parameters: {row['configuration']}")
        outcome = decode_outcome(_text(row["kind"]), _text(row["outcome"]))
        return Evaluation(configuration, outcome, _number(row["seconds"]), _number(row["started_at"]))


def round_record(row: sqlite3.Row) -> RoundRecord:
    with _damage(row, f"round {row['number']}"):
        plan, report = _object(row["plan"]), _object(row["report"])
        if not plan:
            raise ValueError("a plan without passes")
        return RoundRecord(_whole(row["number"]), plan, _text(row["kernel_path"]), _text(row["fingerprint"]), report)


def message(row: sqlite3.Row) -> Message:
    with _damage(row, f"message {row['number']}"):
        return Message(
            Role(row["role"]),
            Kind(row["kind"]),
            _text(row["text"]),
            _whole(row["round"]),
            None if row["model"] is None else _text(row["model"]),
            _whole(row["input_tokens"]),
            _whole(row["output_tokens"]),
            None if row["usd"] is None else _number(row["usd"]),
            _number(row["seconds"]),
        )


def adversary(row: sqlite3.Row) -> Workload:
    with _damage(row, f"workload {row['name']!a}"):
        sizes = {name: _whole(size) for name, size in _object(row["sizes"]).items()}
        return Workload(_text(row["name"]), sizes, heldout=True, scale=_number(row["scale"]))


@contextlib.contextmanager
def _damage(row: sqlite3.Row, what: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise UnavailableError(
            f"{what} of run {row['run']!s} is damaged in the record", hint="`warpsmith show` lists the runs"
        ) from error


def _object(text: Any) -> dict[str, Any]:
    found: Mapping[str, Any] = json.loads(_text(text))
    if not isinstance(found, dict):
        raise ValueError(f"an object was expected, not {text[:40]!r}")  # noqa: TRY004 - like what is no JSON at all
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str) or _NO_UTF_8.search(value):
        raise ValueError(f"a text was expected, not {value!a:.40}")
    return value


def _number(value: Any) -> float:
    if not isinstance(value, float | int) or value != value:  # noqa: PLR0124 - which only NaN does
        raise ValueError(f"a number was expected, not {value!a:.40}")
    return float(value)


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError(f"a whole number was expected, not {value!a:.40}")  # noqa: TRY004 - like what is no JSON at all
    return value
