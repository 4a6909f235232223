"""The record of runs: an evaluation is durable before it is reported, so a killed run resumes where it stopped."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from warpsmith.core.errors import InputError, Location, UnavailableError
from warpsmith.core.file_names import as_argument
from warpsmith.core.outcome import Evaluation
from warpsmith.record.codec import encode_outcome
from warpsmith.record.lessons import FormLesson, Lesson, PassLesson
from warpsmith.record.rows import adversary, evaluation, lesson, message, round_record, run_record
from warpsmith.record.run import RoundRecord, RunHeader, RunRecord, Status, new_run_name
from warpsmith.record.schema import open_database
from warpsmith.record.source import Source, SourceSummary
from warpsmith.record.transcript import Message
from warpsmith.spec.kernel import Workload


class Store:
    """All runs of one `$WARPSMITH_HOME`. Safe to use from several processes at once.

    Opened for `reading`, it needs no place that can be written.
    """

    def __init__(self, path: Path, *, reading: bool = False) -> None:
        self.path = path
        self._connection = open_database(path, reading=reading)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ── runs ──

    def begin(self, header: RunHeader, sources: Sequence[Source] = (), *, run: str | None = None) -> str:
        """A new run, durable together with all that it starts from; by the name that was made for it, or by one of its own."""
        run = run or new_run_name(header.kernel)
        with self._transaction():
            self._connection.execute(
                "INSERT INTO runs (run, kernel, kernel_path, fingerprint, device, agent, strategy, seed, created_at, settings,"
                " device_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    run,
                    header.kernel,
                    header.kernel_path,
                    header.fingerprint,
                    header.device,
                    header.agent,
                    header.strategy,
                    header.seed,
                    time.time(),
                    json.dumps(header.settings),
                    json.dumps(header.device_info),
                ),
            )
            for place, source in enumerate(sources):
                self._connection.execute(
                    "INSERT INTO sources (run, place, source, kernel, device, found) VALUES (?, ?, ?, ?, ?, ?)",
                    (run, place, source.name, source.kernel, source.device, source.found),
                )
                self._connection.executemany(
                    "INSERT INTO source_evaluations (run, place, number, configuration, kind, outcome, seconds, started_at)"
                    " VALUES (:run, :place, :number, :configuration, :kind, :outcome, :seconds, :started_at)",
                    (
                        {"run": run, "place": place, "number": number, **_columns(known)}
                        for number, known in enumerate(source.evaluations)
                    ),
                )
        return run

    def runs(self) -> list[RunRecord]:
        """The latest first. One that is damaged is there as `unreadable`, and the others are as they are."""
        rows = self._connection.execute("SELECT * FROM runs ORDER BY created_at DESC")
        return [run_record(row) for row in rows]

    def find(self, name: str) -> RunRecord:
        """A run by its name, an unambiguous beginning of it, or `last`."""
        matches = self.meant_by(name)
        if len(matches) == 1 and matches[0].status is Status.UNREADABLE:
            raise UnavailableError(
                f"what the record has of run {matches[0].run} is damaged",
                location=Location(self.path),
                hint="`warpsmith show` lists the others",
            )
        if len(matches) == 1:
            return matches[0]
        if matches:
            listed = ", ".join(r.run for r in matches[:5])
            raise InputError(f"run {name!r} is ambiguous: {listed}", hint=f"give more of its name{_or_kernel(name)}")
        hint = "`warpsmith show` lists the runs" if self.runs() else "there are no runs yet: `warpsmith tune KERNEL` makes one"
        raise InputError(f"no run {name!r} in {self.path}", hint=hint + _or_kernel(name))

    def meant_by(self, name: str) -> list[RunRecord]:
        """The runs that a name may mean: its own, else all that begin with it."""
        runs = self.runs()
        if name == "last":
            return [self._last(runs)] if runs else []
        return [r for r in runs if r.run == name] or [r for r in runs if r.run.startswith(name)]

    def _last(self, runs: Sequence[RunRecord]) -> RunRecord:
        """The latest that there is something to say of: one that failed before it evaluated anything only if all did."""
        evaluated = {row["run"] for row in self._connection.execute("SELECT DISTINCT run FROM evaluations")}
        empty = {Status.FAILED, Status.UNREADABLE}
        return next((r for r in runs if r.status not in empty or (r.status is Status.FAILED and r.run in evaluated)), runs[0])

    def finish(
        self,
        run: str,
        status: Status,
        result: Mapping[str, Any] | None = None,
        *,
        error: Mapping[str, Any] | None = None,
        seconds: float = 0.0,
    ) -> None:
        """All at once: a run is never marked without what goes with it. `seconds` are added to those it had."""
        self._connection.execute(
            "UPDATE runs SET status = ?, result = ?, error = ?, seconds = seconds + ? WHERE run = ?",
            (status, _json(result), _json(error), seconds, run),
        )

    def allow(self, run: str, evaluations: int | None, seconds: float | None) -> None:
        """From now on its budget is this one, in all."""
        self._connection.execute(
            "UPDATE runs SET settings = json_set(settings, '$.evaluations', ?, '$.seconds', ?) WHERE run = ?",
            (evaluations, seconds, run),
        )

    # ── rounds ──

    def begin_round(self, run: str, about: RoundRecord) -> None:
        """Durable when this returns: a resumed run does not plan a round twice."""
        self._connection.execute(
            "INSERT INTO rounds (run, number, plan, kernel_path, fingerprint, report) VALUES (?, ?, ?, ?, ?, ?)",
            (run, about.number, json.dumps(about.plan), about.kernel_path, about.fingerprint, json.dumps(about.report)),
        )

    def rounds(self, run: str) -> list[RoundRecord]:
        """In order; none for a run that searched the kernel's own template."""
        rows = self._connection.execute("SELECT * FROM rounds WHERE run = ? ORDER BY number", (run,))
        return [round_record(row) for row in rows]

    # ── what was said ──

    def say(self, run: str, message: Message) -> None:
        """Durable when this returns: what a model cost is counted also when the run is killed right after."""
        self._connection.execute(
            "INSERT INTO messages"
            " (run, number, round, role, kind, text, model, input_tokens, output_tokens, usd, seconds, said_at)"
            " SELECT :run, coalesce(max(number) + 1, 0), :round, :role, :kind, :text, :model, :input_tokens, :output_tokens,"
            " :usd, :seconds, :said_at FROM messages WHERE run = :run",
            {"run": run, "said_at": time.time(), **asdict(message)},
        )

    def messages(self, run: str) -> list[Message]:
        """In the order they were said; none for a run without a model."""
        rows = self._connection.execute("SELECT * FROM messages WHERE run = ? ORDER BY number", (run,))
        return [message(row) for row in rows]

    # ── what a tester added ──

    def add_adversaries(self, run: str, workloads: Sequence[Workload]) -> None:
        with self._transaction():
            self._connection.executemany(
                "INSERT INTO adversaries (run, name, sizes, scale) VALUES (?, ?, ?, ?)",
                ((run, w.name, json.dumps(dict(w.sizes)), w.scale) for w in workloads),
            )

    def adversaries(self, run: str) -> list[Workload]:
        rows = self._connection.execute("SELECT * FROM adversaries WHERE run = ? ORDER BY rowid", (run,))
        return [adversary(row) for row in rows]

    # ── what was learnt ──

    def offer(self, run: str, features: frozenset[str], offered: Mapping[str, float]) -> None:
        """What kind of kernel a run has, and of which runs it is told, by how similar theirs are."""
        self._connection.execute(
            "INSERT INTO lessons (run, features, offered) VALUES (?, ?, ?)",
            (run, json.dumps(sorted(features)), json.dumps(dict(offered))),
        )

    def offered(self, run: str) -> dict[str, float] | None:
        """None where nobody asked yet."""
        row = self._connection.execute("SELECT offered FROM lessons WHERE run = ?", (run,)).fetchone()
        return None if row is None else dict(json.loads(row["offered"]))

    def learn(self, run: str, forms: Sequence[FormLesson], passes: Sequence[PassLesson]) -> None:
        content = {"forms": [asdict(form) for form in forms], "passes": [asdict(known) for known in passes]}
        self._connection.execute("UPDATE lessons SET learnt = ? WHERE run = ?", (json.dumps(content), run))

    def lessons(self) -> list[Lesson]:
        """Of finished runs, the latest first; what is damaged teaches nothing."""
        rows = self._connection.execute(
            "SELECT lessons.*, kernel, device, device_info, result FROM lessons JOIN runs USING (run)"
            " WHERE learnt IS NOT NULL AND result IS NOT NULL ORDER BY created_at DESC"
        )
        return [found for found in map(lesson, rows) if found is not None]

    # ── inputs ──

    def add_input_seed(self, run: str, seed: int) -> None:
        self._connection.execute(
            "INSERT INTO input_seeds (run, number, seed)"
            " SELECT :run, coalesce(max(number) + 1, 0), :seed FROM input_seeds WHERE run = :run",
            {"run": run, "seed": seed},
        )

    def input_seeds(self, run: str) -> list[int]:
        """Of each process that worked on it, in order; none in runs of earlier versions, whose inputs had the run's own seed."""
        rows = self._connection.execute("SELECT seed FROM input_seeds WHERE run = ? ORDER BY number", (run,))
        return [row["seed"] for row in rows]

    # ── evaluations ──

    def append(self, run: str, evaluation: Evaluation, number: int = 1) -> None:
        """Of round `number`. Durable when this returns. The same configuration twice in a run is a bug, and refused."""
        self._connection.execute(
            "INSERT INTO evaluations (run, number, configuration, kind, outcome, seconds, started_at, round)"
            " SELECT :run, coalesce(max(number) + 1, 0), :configuration, :kind, :outcome, :seconds, :started_at, :round"
            " FROM evaluations WHERE run = :run",
            {"run": run, "round": number, **_columns(evaluation)},
        )

    def evaluations(self, run: str, number: int | None = None) -> list[Evaluation]:
        """In order; all, or those of round `number`."""
        rows = self._connection.execute(
            "SELECT * FROM evaluations WHERE run = :run AND round = coalesce(:round, round) ORDER BY number",
            {"run": run, "round": number},
        )
        return [evaluation(row) for row in rows]

    def outcome_counts(self, run: str) -> dict[str, int]:
        rows = self._connection.execute("SELECT kind, count(*) AS n FROM evaluations WHERE run = ? GROUP BY kind", (run,))
        return {row["kind"]: row["n"] for row in rows}

    # ── what a run started from ──

    def sources(self, run: str) -> tuple[Source, ...]:
        """In the order they were given; none for a cold start."""
        rows = self._connection.execute(
            "SELECT * FROM source_evaluations WHERE run = ? ORDER BY place, number", (run,)
        ).fetchall()
        return tuple(
            Source(
                about["source"],
                about["kernel"],
                about["device"],
                tuple(evaluation(row) for row in rows if row["place"] == about["place"]),
                about["found"],
            )
            for about in self._connection.execute("SELECT * FROM sources WHERE run = ? ORDER BY place", (run,)).fetchall()
        )

    def source_summaries(self, run: str) -> list[SourceSummary]:
        """As `sources`, without reading the evaluations."""
        rows = self._connection.execute(
            "SELECT s.*, count(e.number) AS evaluations, count(CASE WHEN e.kind = 'Measured' THEN 1 END) AS measured"
            " FROM sources s LEFT JOIN source_evaluations e USING (run, place) WHERE s.run = ? GROUP BY s.place ORDER BY s.place",
            (run,),
        )
        return [
            SourceSummary(row["source"], row["kernel"], row["device"], row["evaluations"], row["measured"], row["found"])
            for row in rows
        ]

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing of what is written within."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


def _or_kernel(name: str) -> str:
    if not Path(name, "kernel.toml").is_file():
        return ""
    return f"; for the kernel in the folder of that name, `warpsmith verify {as_argument(name.rstrip('/') + '/')}`"


def _columns(evaluation: Evaluation) -> dict[str, Any]:
    kind, outcome = encode_outcome(evaluation.outcome)
    return {
        "configuration": evaluation.configuration.key,
        "kind": kind,
        "outcome": outcome,
        "seconds": evaluation.seconds,
        "started_at": evaluation.started_at,
    }


def _json(data: Mapping[str, Any] | None) -> str | None:
    return json.dumps(data) if data is not None else None
