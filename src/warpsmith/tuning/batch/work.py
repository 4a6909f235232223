"""Runs a batch, stage by stage. Decisions are recorded before they are carried out, so a killed batch continues the same way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from warpsmith.core.configuration import Value
from warpsmith.core.errors import BaselineError, InputError, Stopped, UnavailableError, WarpsmithError
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.measure.statistics import weighted_mean
from warpsmith.record.batches import Batches, BatchRecord, BatchShare, Member
from warpsmith.record.faults import explained
from warpsmith.record.lock import run_lock
from warpsmith.record.run import Status
from warpsmith.record.store import Store
from warpsmith.settings import Settings
from warpsmith.tuning.batch.options import BatchOptions
from warpsmith.tuning.batch.shares import LAST, STAGES, Standing, equal_shares, in_proportion, shares_by_gain
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.events import BatchAdvanced, Emit, Warned
from warpsmith.tuning.result import spent_s

_FEWEST = 2  # evaluations of a kernel: the original, and something else


class Visit(Protocol):
    def __call__(self, member: Member, budget: Budget, *, claims: bool) -> Mapping[str, Any]:
        """Go on with the member's run up to a budget in all, and then claim, or leave it searched.

        Returns what is known by now beside the evaluations: `roof_us` by workload, and their `weights`. Raises what a run raises.
        """
        ...


def require_budget(options: BatchOptions, kernels: int) -> None:
    if options.evaluations is not None and options.evaluations < _FEWEST * kernels:
        raise InputError(
            f"{options.evaluations} evaluations are too few for {kernels} kernels",
            hint=f"at least {_FEWEST * kernels}: the original and one candidate per kernel",
        )


def work(batch: str, settings: Settings, visit: Visit, emit: Emit) -> None:
    """To the end; a finished batch is left as it is. Raises what kept every kernel alike from being tuned."""
    with Batches(settings.database) as batches, Store(settings.database) as store, run_lock(settings.batch_folder(batch)):
        if batches.find(batch).status is Status.FINISHED:
            return
        batches.mark(batch, Status.RUNNING)
        try:
            _Work(batch, settings, batches, store, visit, emit).work()
        except (KeyboardInterrupt, BrokenPipeError) as cause:
            batches.mark(batch, Status.INTERRUPTED)
            raise Stopped.by(cause, batch) from cause
        except BaseException:
            batches.mark(batch, Status.FAILED)
            raise
        batches.mark(batch, Status.FINISHED)


@dataclass(frozen=True, slots=True)
class _Work:
    batch: str
    settings: Settings
    batches: Batches
    store: Store
    visit: Visit
    emit: Emit

    def work(self) -> None:
        for member in self._record.members:
            if member.error is not None and member.error["exit_code"] == UnavailableError.exit_code:
                self.batches.leave(self.batch, member.place, None)  # what was missing may be there by now
        for stage in range(1, LAST + 1):
            shares = [s for s in self._record.shares if s.stage == stage]
            if not shares:
                shares = self._share_out(stage)
                self.batches.share_out(self.batch, shares)
            for share in shares:
                if share.found is None:
                    self._spend(share)
        self._require_some()

    # ── one share ──

    def _spend(self, share: BatchShare) -> None:
        record = self._record
        member = record.members[share.place]
        if member.error is not None:
            return
        claims = share.stage == LAST
        if not claims and share.stage > 1 and not self._has_more(share):
            self.batches.spent(self.batch, share, self._found(share.place) or {})
            return
        self.emit(BatchAdvanced(member.kernel, share.place + 1, len(record.members), share.stage, LAST, share.reason))
        try:
            found = self.visit(member, Budget(share.evaluations, share.seconds), claims=claims)
        except Exception as error:  # noqa: BLE001 - one kernel that fails costs only itself
            known = explained(error, self.settings.database) or WarpsmithError(f"{type(error).__name__}: {error}")
            self.batches.leave(self.batch, share.place, known.as_dict())
            self.emit(Warned(f"{member.kernel} is left out: {known.message}"))
            return
        self.batches.spent(self.batch, share, {**(self._found(share.place) or {}), **found})

    def _has_more(self, share: BatchShare) -> bool:
        """Than in the stage before."""
        before = max((s for s in self._record.shares if s.place == share.place and s.stage < share.stage), key=lambda s: s.stage)
        return (share.evaluations, share.seconds) != (before.evaluations, before.seconds)

    def _found(self, place: int) -> Mapping[str, Any] | None:
        """By the latest share that was spent."""
        return next((s.found for s in reversed(self._record.shares) if s.place == place and s.found is not None), None)

    def _require_some(self) -> None:
        """What is wrong for all alike (a device that is not there, an agent of no such name) is no result of theirs."""
        errors = [member.error for member in self._record.members]
        first = errors[0]
        if first is None or any(error is None or error["message"] != first["message"] for error in errors):
            return
        kinds = {kind.exit_code: kind for kind in (BaselineError, InputError, UnavailableError)}
        raise kinds[first["exit_code"]](first["message"], hint=first["hint"])

    # ── what each gets ──

    def _share_out(self, stage: int) -> list[BatchShare]:
        options = BatchOptions.of(self._record.settings)
        members = [m for m in self._record.members if m.error is None]
        is_counted = options.evaluations is not None
        standings = {m.place: self._standing(m, is_counted=is_counted) for m in members}
        part = STAGES[stage - 1]
        evaluations = self._left(options.evaluations, lambda m: len(self.store.evaluations(m.run)))
        seconds = self._left(options.seconds, self._seconds)
        budget = evaluations if evaluations is not None else seconds
        assert budget is not None, "a batch needs at least one limit"
        if stage == 1:
            fewest = _FEWEST * len(members) if is_counted else 0.0
            shares = equal_shares(list(standings), max(fewest, part * budget), whole=is_counted)
        else:
            shares = shares_by_gain(list(standings.values()), part * budget, whole=is_counted)
        times = in_proportion(shares, part * seconds) if is_counted and seconds is not None else shares
        return [self._share(stage, member, shares, times, standings[member.place], options) for member in members]

    def _share(
        self,
        stage: int,
        member: Member,
        shares: Mapping[int, float],
        times: Mapping[int, float],
        standing: Standing,
        options: BatchOptions,
    ) -> BatchShare:
        """As a limit of the whole run; one that gets nothing more stays with the limit that it had."""
        place = member.place
        before = next((s for s in reversed(self._record.shares) if s.place == place), None)
        share = BatchShare(
            stage,
            place,
            None if options.evaluations is None else round(shares[place]),
            None if options.seconds is None else times[place],
            standing.reason if before is not None else "an equal share",
        )
        if before is None:
            return share
        if not shares[place]:
            return replace(share, evaluations=before.evaluations, seconds=before.seconds)
        return replace(
            share,
            evaluations=None if share.evaluations is None else len(self.store.evaluations(member.run)) + share.evaluations,
            seconds=None if share.seconds is None else self._seconds(member) + share.seconds,
        )

    def _left(self, limit: float | None, spent: Any) -> float | None:
        return None if limit is None else max(0.0, limit - sum(spent(m) for m in self._record.members))

    def _standing(self, member: Member, *, is_counted: bool) -> Standing:
        evaluations = self.store.evaluations(member.run)
        seconds = self._seconds(member)
        before = next((s for s in reversed(self._record.shares) if s.place == member.place), None)
        return Standing(
            member.place,
            len(evaluations) if is_counted else seconds,
            [math.inf if e.score is None else e.score for e in evaluations],
            self._fraction(member.place, evaluations),
            before is not None and not Budget(before.evaluations, before.seconds).spent(len(evaluations), seconds),
        )

    def _fraction(self, place: int, evaluations: Sequence[Evaluation]) -> float | None:
        """Of the best, over the workloads, as the search measured it."""
        found = self._found(place) or {}
        roof, weights = found.get("roof_us") or {}, found.get("weights") or {}
        measured = [e.outcome for e in evaluations if isinstance(e.outcome, Measured)]
        best = min(measured, key=lambda outcome: outcome.score, default=None)
        if best is None or not weights or not all(w in roof for w in weights):
            return None
        times: dict[Value, float] = {t.workload: t.median_us for t in best.times}
        return weighted_mean({w: roof[w] / times[w] for w in weights}, weights) if all(times.get(w) for w in weights) else None

    def _seconds(self, member: Member) -> float:
        record = next((r for r in self.store.meant_by(member.run) if r.run == member.run), None)
        return spent_s(record, self.store.evaluations(member.run)) if record is not None else 0.0

    @property
    def _record(self) -> BatchRecord:
        """As it is now."""
        return self.batches.find(self.batch)
