"""Recorded runs: a list of them, one of them, its report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warpsmith.api.result import Result
from warpsmith.core.errors import InputError
from warpsmith.core.outcome import Evaluation, Measured, WorkloadTime
from warpsmith.core.output_folder import require_output_folder
from warpsmith.record.conversation import written_conversation
from warpsmith.record.faults import system_fault
from warpsmith.record.lock import as_seen
from warpsmith.record.run import RunRecord
from warpsmith.record.store import Store
from warpsmith.settings import Settings, read_settings
from warpsmith.tuning.result import shown_result


def list_runs() -> list[dict[str, Any]]:
    """The latest first; one whose record is damaged is among them, as `unreadable`."""
    settings = read_settings()
    with Store(settings.database, reading=True) as store:
        return [
            {
                "run": record.run,
                "kernel": record.header.kernel,
                "device": record.header.device,
                "status": as_seen(record, settings.run_folder(record.run)).status,
                "created_at": record.created_at,
                "evaluations": sum(store.outcome_counts(record.run).values()),
                "speedup": ((record.result or {}).get("general") or {}).get("speedup"),
            }
            for record in store.runs()
        ]


def show_run(
    run: str = "last",
    *,
    evaluations: bool = False,
    importance: bool = False,
    transcript: bool = False,
    output: Path | None = None,
) -> Result:
    """The object of `tune --json`; of an unfinished run, what is known of it so far.

    `evaluations` adds every one, `importance` which parameters mattered, `transcript` what was said to models and by them, and
    `output` is a folder for the plot of the importance.
    """
    settings = read_settings()
    if output is not None:
        require_output_folder(output)
    with Store(settings.database, reading=True) as store:
        record = found_run(run, store, settings)
        known = store.evaluations(record.run)
        result = Result({**shown_result(record, store).as_json(), "report": _existing(settings.report_file(record.run))})
        if evaluations:
            result["evaluation_list"] = [_evaluation_entry(e) for e in known]
        if transcript:
            from warpsmith.report.lab_book import lab_book  # noqa: PLC0415

            result["transcript"] = lab_book(record, store)
        if importance:
            result["importance"] = _importance(record, store, output)
        return result


def run_conversation(run: str = "last") -> str:
    """What models were asked in a run and what they answered, as the file that `--agent replay:FILE` reads."""
    settings = read_settings()
    with Store(settings.database, reading=True) as store:
        record = found_run(run, store, settings)
        return written_conversation(record, store.messages(record.run))


def report_run(run: str = "last", output: Path | None = None, *, compare: str | None = None) -> dict[str, Any]:
    """Write a run as one HTML file and return the object that `warpsmith report --json` prints.

    Without `output` it is written to the run's folder. `compare` is another run to compare with, in a file of its own by
    default. Runs that are not finished have a report too: of what is known so far.
    """
    from warpsmith.report.html.document import write_page  # noqa: PLC0415 - plotting libraries only when they plot
    from warpsmith.tuning.afterwards.account import account_beside, account_of  # noqa: PLC0415

    settings = read_settings()
    with Store(settings.database, reading=True) as store:
        record = found_run(run, store, settings)
        other = found_run(compare, store, settings) if compare is not None else None
        default = settings.report_file(record.run)
        if other is not None:  # the run's own report stays
            default = default.with_name(f"{default.stem}-beside-{other.run}{default.suffix}")
        file = (output or default).expanduser().absolute()
        if file.is_dir():
            raise InputError(f"{file} is a folder, expected a file", hint=f"for example -o {file / 'report.html'}")
        try:
            write_page(account_of(record, store) if other is None else account_beside(record, other, store), file)
        except (FileExistsError, NotADirectoryError) as error:
            raise InputError(f"the report cannot be written to {file}: {error.strerror or error}") from error
        except OSError as error:
            raise system_fault(error, file) from error
    return {"run": record.run, "report": str(file)}


def compare_runs(first: str, second: str) -> dict[str, Any]:
    """What changed from one run to another, and the object that `warpsmith compare-runs --json` prints."""
    from warpsmith.tuning.afterwards.differences import differences  # noqa: PLC0415

    settings = read_settings()
    with Store(settings.database, reading=True) as store:
        records = [found_run(name, store, settings) for name in (first, second)]
        a, b = ((record, shown_result(record, store)) for record in records)
    return differences(a, b)


def is_run(name: str) -> bool:
    """Whether a name that may also be a kernel's means a run: its own name, the beginning of one, or `last`."""
    with Store(read_settings().database, reading=True) as store:
        return name == "last" or bool(store.meant_by(name))


def found_run(run: str, store: Store, settings: Settings) -> RunRecord:
    """As it is now: a run whose process is gone is not running, whatever the record says."""
    record = store.find(run)
    return as_seen(record, settings.run_folder(record.run))


def _importance(record: RunRecord, store: Store, output: Path | None) -> dict[str, Any]:
    from warpsmith.search.importance import Importance  # noqa: PLC0415 - models only where one is asked for
    from warpsmith.tuning.afterwards.explain import explain, importance_entry  # noqa: PLC0415

    mattered, form = explain(record, store)
    if output is not None and isinstance(mattered, Importance):
        from warpsmith.report.importance import draw_importance  # noqa: PLC0415 - plotting libraries only when they plot

        title = f"{record.header.kernel} on {record.header.device}: which parameters mattered"
        draw_importance(mattered, title, output / "importance")
    return importance_entry(mattered, form)


def _existing(file: Path) -> str | None:
    return str(file) if file.is_file() else None


def _evaluation_entry(evaluation: Evaluation) -> dict[str, Any]:
    outcome = evaluation.outcome
    summary = f"{1 / outcome.score:.3f}x" if isinstance(outcome, Measured) else outcome.reason
    return {
        "config": dict(evaluation.configuration.pairs),
        "outcome": type(outcome).__name__,
        "summary": summary,
        "speedup": 1 / outcome.score if isinstance(outcome, Measured) else None,
        "seconds": evaluation.seconds,
        "times": {t.workload: _time_entry(t) for t in outcome.times} if isinstance(outcome, Measured) else None,
    }


def _time_entry(time: WorkloadTime) -> dict[str, Any]:
    """As searched: `speedup` is beside the baseline, with the interval of its pairs."""
    low, high = time.ci95
    return {
        "median_us": time.median_us,
        "speedup": 1 / time.relative,
        "ci95": [1 / high, 1 / low if low > 0 else None],
        "launches": time.launches,
    }
