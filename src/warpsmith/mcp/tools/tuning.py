"""Tools for tuning jobs: start, follow, stop, resume."""

from __future__ import annotations

import time
from typing import Annotated, Literal

from pydantic import Field

from warpsmith.core.errors import InputError
from warpsmith.core.outcome import Measured
from warpsmith.isolation.confinement import require_confinement
from warpsmith.mcp import replies
from warpsmith.mcp.jobs import JobEntry, JobRegister
from warpsmith.mcp.tools.kernels import DeviceName, KernelName, ProvedOnly
from warpsmith.mcp.workspace import Workspace
from warpsmith.record.run import Status
from warpsmith.record.store import Store
from warpsmith.search.registry import load_strategy
from warpsmith.settings import Settings
from warpsmith.tuning.agent.agents import default_agent
from warpsmith.tuning.budget import Budget

JobName = Annotated[str, Field(description="The job name that start_tuning returned.")]
_NEXT = {
    "starting": "job_status with job={job!r} in 5 to 10 seconds",
    "running": "job_status with job={job!r} in 5 to 10 seconds; run nothing else on the machine meanwhile",
    "finished": "get_result with run={run!r}",
    "stopped": "resume_tuning with run={run!r} continues it",
    "failed": "read `stage`, fix the problem, and start_tuning again",
}
_AFTER_THE_SEARCH = ("finalists", "checks", "claims")  # how lines of the log begin
_STATES: dict[Status, Literal["finished", "stopped"]] = {Status.FINISHED: "finished", Status.INTERRUPTED: "stopped"}


class TuningTools:
    def __init__(self, workspace: Workspace, settings: Settings, register: JobRegister) -> None:
        self._workspace = workspace
        self._settings = settings
        self._register = register

    def start_tuning(
        self,
        kernel: KernelName,
        evaluations: Annotated[int | None, Field(ge=1, description="Maximum configurations to evaluate.")] = 60,
        seconds: Annotated[float | None, Field(gt=0, description="Maximum search time; claims take up to a minute more.")] = None,
        device: DeviceName = "cpu",
        agent: Annotated[
            Literal["rules", "none"] | None,
            Field(description="none: search the kernel's own template; rules: refactor the untouched original in rounds."),
        ] = None,
        rounds: Annotated[int, Field(ge=1, le=20, description="Maximum rounds of the agent `rules`.")] = 3,
        strategy: str = "gp",
        seed: Annotated[int, Field(ge=0, description="Random seed of the strategy and of the inputs.")] = 0,
        warm: Annotated[tuple[str, ...], Field(description="Names of runs for a warm start.")] = (),
        proved_only: ProvedOnly = False,
    ) -> replies.Job:
        """Search for the best configuration, in a separate process. Answers at once: poll job_status, not more than every 5 s.

        Give it the `kernel` of make_template to search your template (the default agent is then none), or a plain kernel to have
        Warpsmith refactor and search it alone (rules). One job runs at a time. On the CPU 20 evaluations take half a minute.
        """
        loaded = self._workspace.kernel(kernel)
        if self._workspace.owns(loaded):
            require_confinement()
        load_strategy(strategy)
        if evaluations is None and seconds is None:
            raise InputError("the search has no limit", hint="give evaluations, seconds or both")
        Budget(evaluations, seconds)  # says what is wrong with them now, not in a log
        with Store(self._settings.database, reading=True) as store:
            sources = [store.find(name).run for name in warm]
        arguments = ["tune", str(loaded.path), "--device", device, "--agent", agent or default_agent(loaded), "--json"]
        arguments += ["--rounds", str(rounds), "--strategy", strategy, "--seed", str(seed)]
        arguments += [] if evaluations is None else ["--evaluations", str(evaluations)]
        arguments += [] if seconds is None else ["--time", f"{seconds:g}s"]
        arguments += ["--proved-only"] if proved_only else []
        arguments += [word for run in sources for word in ("--warm", run)]
        return self._status(self._register.start(str(loaded.path), arguments, evaluations=evaluations, seconds=seconds))

    def resume_tuning(self, run: Annotated[str, Field(description="A run that was stopped or killed.")]) -> replies.Job:
        """Resume a stopped run in a new job, given a stopped job's `run`; finished evaluations are not repeated."""
        with Store(self._settings.database, reading=True) as store:
            record = store.find(run)
        if record.status is Status.FINISHED:
            raise InputError(f"run {record.run} is finished", hint="get_result returns its result")
        limits = record.header.settings
        return self._status(
            self._register.start(
                record.header.kernel_path,
                ["resume", record.run, "--json"],
                evaluations=limits["evaluations"],
                seconds=limits["seconds"],
            )
        )

    def job_status(self, job: JobName) -> replies.Job:
        """The progress of a job: state, evaluations by outcome, the best so far (which is not a claim), seconds left.

        `finished`: call get_result. `failed`: `stage` has the error. `stopped`: resume_tuning continues it.
        """
        return self._status(self._register.find(job))

    def list_jobs(self) -> replies.Jobs:
        """All known jobs, the latest first, including those of an earlier server. Use it if you lost a job's name."""
        jobs = [self._status(entry) for entry in self._register.all()]
        return replies.Jobs(jobs=jobs, next="" if jobs else "there are no jobs yet: start_tuning starts one")

    def stop_job(self, job: JobName) -> replies.Job:
        """Stop a job as Ctrl-C does. Everything measured is kept, but a stopped run makes no claim: resume_tuning finishes it."""
        entry = self._register.find(job)
        self._register.stop(entry)
        return self._status(entry)

    def _status(self, entry: JobEntry) -> replies.Job:
        found = self._looked_up(entry)
        return found.model_copy(update={"next": _NEXT[found.state].format(job=found.job, run=found.run)})

    def _looked_up(self, entry: JobEntry) -> replies.Job:
        alive = self._register.is_alive(entry)  # before the record is read: what ends in between is then seen as ended
        run, lines = self._register.run_of(entry), self._register.log(entry).strip().splitlines()
        reply = replies.Job(
            job=entry.job,
            kernel=entry.kernel,
            state="starting" if alive else "failed",
            run=run,
            evaluations_allowed=entry.evaluations,
            stage=_last_words(lines, alive=alive),
            log_path=str(self._register.log_path(entry)),
        )
        stopped = not alive and self._register.is_stopped(entry)
        if run is None:
            began = "it was stopped before its run began: start_tuning starts another"
            return reply.model_copy(update={"state": "stopped", "stage": began}) if stopped else reply
        with Store(self._settings.database, reading=True) as store:
            record, known = store.find(run), store.evaluations(run)
            counts = store.outcome_counts(run)
        spent = time.time() - entry.started_at if alive else record.seconds
        searching = alive and not any(line.startswith(_AFTER_THE_SEARCH) for line in lines)
        left = Budget(entry.evaluations, entry.seconds).seconds_left(len(known), spent) if searching else None
        best = min((e for e in known if isinstance(e.outcome, Measured)), key=lambda e: e.score or 0.0, default=None)
        outcome = best.outcome if best is not None else None
        ended = "stopped" if stopped and record.status is not Status.FINISHED else _STATES.get(record.status, "failed")
        return reply.model_copy(
            update={
                "state": "running" if alive else ended,
                "evaluations": counts,
                "seconds": round(spent, 1),
                "seconds_left": None if left is None else round(left, 1),
                "best_so_far": replies.BestSoFar(
                    config=dict(best.configuration.pairs), speedup=round(1 / outcome.score, 4), ci95=outcome.speedup_ci95
                )
                if best is not None and isinstance(outcome, Measured)
                else None,
            }
        )


def _last_words(lines: list[str], *, alive: bool) -> str:
    """Of a job that ended, its error where it had one: that may be several lines."""
    begins = next((i for i, line in enumerate(lines) if line.startswith("error:")), None)
    if not alive and begins is not None:
        return "\n".join(lines[begins:])[:2000]
    return lines[-1] if lines else ""
