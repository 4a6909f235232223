"""The prompts: files of `agents/prompts`, filled with what this kernel and this run are. Every file states its version."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from warpsmith.agents.llm import facts_text, written_text
from warpsmith.agents.llm.scrub import presentable
from warpsmith.core.expression.operations import FUNCTIONS
from warpsmith.core.hardware import Language, Limits
from warpsmith.refactor.base import Concern
from warpsmith.refactor.proposal import FORM, Proposal
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.adversaries import MOST
from warpsmith.tuning.agent.planning import Attempt, Facts, Finding, Plan

MOST_PROBLEM = 6_000  # characters of a compiler's or a verifier's words

_CONCERNS = {
    Concern.PARALLELISM: "occupancy, waiting at barriers, blocks too large or too small",
    Concern.LOCALITY: "reuse in registers and shared memory",
    Concern.TRAFFIC: "more global memory is moved than must be",
    Concern.DIVERGENCE: "threads of a warp do different things, or are masked",
    Concern.COALESCING: "neighbouring threads do not touch neighbouring elements",
    Concern.BALANCE: "arithmetic holds up memory",
}
_DEVICE_CODE = (
    "- Device code only: every function has `__device__` or `__global__`; no host functions, no global objects, no `##`, no `#if`"
    " on what a compiler defines (`__CUDA_ARCH__`), unless the original has it."
)
_NOTES = {
    Language.CUDA: "- CUDA C++17: no inline PTX, no textures, no cooperative launch.\n" + _DEVICE_CODE,
    Language.HIP: "- HIP C++17: no inline assembly, no textures, no cooperative launch.\n" + _DEVICE_CODE,
    Language.OPENCL: "- OpenCL C 3.0: no C++, no images, no pipes.",
}


@cache
def _template(name: str) -> Template:
    return Template((files("warpsmith.agents") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip())


def _filled(name: str, **values: object) -> str:
    """Raises KeyError for a name that the file has and the code does not know: a test fills every file."""
    return _template(name).substitute({key: str(value) for key, value in values.items()})


def system() -> str:
    return _filled("system")


def analyst(facts: Facts) -> str:
    listed = "; ".join(f"`{concern}` ({meaning})" for concern, meaning in _CONCERNS.items())
    return _filled("analyst", **_common(facts), concerns=listed)


def planner(facts: Facts, findings: Sequence[Finding]) -> str:
    return _filled(
        "planner",
        **_common(facts),
        findings=facts_text.findings_text(findings),
        passes=facts_text.passes_text(facts.passes),
        budget=facts_text.budget_text(facts),
    )


def templater(facts: Facts, plan: Plan) -> str:
    words = (
        f"{plan.reason}\nThe round also applies these passes, to your form as well where they find something to do in it:"
        f" {', '.join(plan.passes) or 'none'}. Do not count on them for the numbers of your form: make those parameters of yours."
    )
    return _filled(
        "templater",
        **_common(facts),
        findings=facts_text.findings_text(plan.findings),
        plan=words,
        budget=facts_text.budget_text(facts),
        forms=written_text.forms_text(facts),
        form=how_to_write(facts.kernel, facts.limits),
    )


def repair(facts: Facts, proposal: Proposal, problem: str) -> str:
    return _filled(
        "repair",
        problem=presentable(problem, MOST_PROBLEM),
        hypothesis=proposal.hypothesis or "none was given",
        source=proposal.source.rstrip(),
        declared=written_text.declared_text(proposal),
        kernel=facts_text.kernel_text(facts),
        form=how_to_write(facts.kernel, facts.limits),
    )


def author(facts: Facts, attempts: Sequence[Attempt]) -> str:
    return _filled(
        "author",
        kernel=facts_text.kernel_text(facts),
        measured=facts_text.measured_text(facts),
        attempts=written_text.attempts_text(attempts),
        budget=facts_text.budget_text(facts),
        form=how_to_write(facts.kernel, facts.limits, fixed=True),
    )


def tester(facts: Facts) -> str:
    kernel = facts_text.kernel_text(facts)
    return _filled("tester", kernel=kernel, sizes=", ".join(_sizes(facts.kernel)), most=MOST - 1)


def how_to_answer(schema: dict[str, Any]) -> str:
    """For servers without tool calls: the schema in words of the prompt."""
    return _filled("answer", schema=json.dumps(schema, indent=1))


def how_to_write(kernel: Kernel, limits: Limits, *, fixed: bool = False) -> str:
    """`fixed`: for a whole rewrite, which has no parameters."""
    sizes, known = ", ".join(_sizes(kernel)), ", ".join(sorted(Limits.known_names()))
    reserved = ", ".join([FORM, *_sizes(kernel), *sorted(Limits.known_names()), *sorted(kernel.defines)])
    return _filled(
        "form",
        entry=kernel.entry,
        parameters="" if fixed else _filled("parameters", reserved=reserved) + "\n",
        constraints="" if fixed else _filled("constraints") + "\n",
        names=f"{'' if fixed else 'your parameters, '}the workload's sizes ({sizes}) and the device limits ({known})",
        functions=", ".join(f"`{name}`" for name in FUNCTIONS),
        max_threads=limits.max_threads_per_block,
        max_x=limits.max_block_x,
        max_y=limits.max_block_y,
        max_z=limits.max_block_z,
        shared_limit=limits.shared_bytes_per_block,
        warp=limits.warp_size,
        language_notes=_NOTES[kernel.language],
    )


def _common(facts: Facts) -> dict[str, str]:
    return {
        "round": str(facts.round),
        "kernel": facts_text.kernel_text(facts),
        "measured": facts_text.measured_text(facts),
        "history": facts_text.history_text(facts),
    }


def _sizes(kernel: Kernel) -> list[str]:
    return list(dict.fromkeys(name for workload in kernel.workloads for name in workload.sizes))
