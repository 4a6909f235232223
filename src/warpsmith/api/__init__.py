"""The Python API of Warpsmith: the operations of the command line as functions.

import warpsmith

kernel = warpsmith.load_kernel("fused_add_rmsnorm")
result = warpsmith.tune(kernel, budget=warpsmith.Budget(evaluations=40))
print(result["general"]["speedup"], result["general"]["ci95"])

Names are loaded when they are first used: to list the runs nobody waits for what refactors a kernel.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warpsmith.api.batches import is_batch as is_batch
    from warpsmith.api.batches import list_batches as list_batches
    from warpsmith.api.batches import report_batch as report_batch
    from warpsmith.api.batches import resume_batch as resume_batch
    from warpsmith.api.batches import show_batch as show_batch
    from warpsmith.api.batches import tune_batch as tune_batch
    from warpsmith.api.checking import check_kernel as check_kernel
    from warpsmith.api.devices import list_devices as list_devices
    from warpsmith.api.gating import gate_winners as gate_winners
    from warpsmith.api.runs import compare_runs as compare_runs
    from warpsmith.api.runs import is_run as is_run
    from warpsmith.api.runs import list_runs as list_runs
    from warpsmith.api.runs import report_run as report_run
    from warpsmith.api.runs import run_conversation as run_conversation
    from warpsmith.api.runs import show_run as show_run
    from warpsmith.api.schemas import json_schema as json_schema
    from warpsmith.api.shipping import export_run as export_run
    from warpsmith.api.templates import templatize as templatize
    from warpsmith.api.tuning import compare as compare
    from warpsmith.api.tuning import resume as resume
    from warpsmith.api.tuning import tune as tune
    from warpsmith.api.verification import verify_kernel as verify_kernel
    from warpsmith.api.verification import verify_run as verify_run
    from warpsmith.compile.pool import describe_device as describe_device
    from warpsmith.doctor.examination import examine as examine
    from warpsmith.replay import ReplayResult as ReplayResult
    from warpsmith.replay import replay as replay
    from warpsmith.spec.load import load_kernel as load_kernel
    from warpsmith.study import KernelStudy as KernelStudy
    from warpsmith.study import Study as Study
    from warpsmith.tuning.agent.allowance import Allowance as Allowance
    from warpsmith.tuning.budget import Budget as Budget

_MODULES = {
    "Allowance": "warpsmith.tuning.agent.allowance",
    "Budget": "warpsmith.tuning.budget",
    "KernelStudy": "warpsmith.study",
    "ReplayResult": "warpsmith.replay",
    "Study": "warpsmith.study",
    "check_kernel": "warpsmith.api.checking",
    "compare": "warpsmith.api.tuning",
    "compare_runs": "warpsmith.api.runs",
    "describe_device": "warpsmith.compile.pool",
    "examine": "warpsmith.doctor.examination",
    "export_run": "warpsmith.api.shipping",
    "gate_winners": "warpsmith.api.gating",
    "is_batch": "warpsmith.api.batches",
    "is_run": "warpsmith.api.runs",
    "json_schema": "warpsmith.api.schemas",
    "list_batches": "warpsmith.api.batches",
    "list_devices": "warpsmith.api.devices",
    "list_runs": "warpsmith.api.runs",
    "load_kernel": "warpsmith.spec.load",
    "replay": "warpsmith.replay",
    "report_batch": "warpsmith.api.batches",
    "report_run": "warpsmith.api.runs",
    "resume": "warpsmith.api.tuning",
    "resume_batch": "warpsmith.api.batches",
    "run_conversation": "warpsmith.api.runs",
    "show_batch": "warpsmith.api.batches",
    "show_run": "warpsmith.api.runs",
    "templatize": "warpsmith.api.templates",
    "tune": "warpsmith.api.tuning",
    "tune_batch": "warpsmith.api.batches",
    "verify_kernel": "warpsmith.api.verification",
    "verify_run": "warpsmith.api.verification",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'warpsmith.api' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
