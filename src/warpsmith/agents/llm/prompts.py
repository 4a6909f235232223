"""The prompts: files of `agents/prompts`, filled with this kernel and run. Every file states its version."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from warpsmith.agents.llm import facts_text, written_text
from warpsmith.agents.llm.lessons_text import lessons_text
from warpsmith.agents.llm.scrub import presentable
from warpsmith.agents.llm.told import Told
from warpsmith.core.expression.operations import FUNCTIONS
from warpsmith.core.hardware import Language, Limits
from warpsmith.refactor.base import Concern
from warpsmith.refactor.proposal import FORM, Proposal
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.planning import EVALUATIONS_PER_TRIAL, MOST_USES, Attempt, Facts, Finding, Plan
from warpsmith.tuning.evaluation.adversaries import MOST
from warpsmith.tuning.rounds.writing import MOST_FORMS

MOST_PROBLEM = 6_000  # characters of a compiler's or a verifier's words


@dataclass(frozen=True, slots=True)
class Tool:
    """What a model may call; `arguments` is their JSON schema."""

    name: str
    description: str
    arguments: dict[str, Any]


_AS_BEFORE = "And the plan, as before: `passes`, `write`, `reason`, `share`, `stop`."
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


def system(facts: Facts) -> str:
    """What never changes in a run: who the model is, and the user's kernel on its device."""
    return _filled("system", kernel=facts_text.kernel_text(facts), device=_device(facts))


def guide(facts: Facts, *, plans: bool, writes: bool, fixed: bool = False) -> str:
    """What follows that for these roles: how to plan and how to write, which every turn of theirs would have to tell again."""
    planning = [_findings_how(), _template("planning").template] if plans else []
    planning += [_filled("writing", most_forms=MOST_FORMS)] if plans and writes else []
    parts = ["\n".join(["# How to plan a round", *planning])] if planning else []
    parts += [f"# How to write a form\n{how_to_write(facts.kernel, facts.limits, fixed=fixed)}"] if writes else []
    parts += [f"# Looking and trying\n{_trying(facts)}"] if writes and not fixed and facts.tools is not None else []
    return "".join(f"\n\n{part}" for part in parts)


def _device(facts: Facts) -> str:
    """What a programmer of it must know."""
    limits = facts.limits
    common = {"compute_units": limits.compute_units, "registers": limits.registers_per_thread}
    if limits.has_banked_scratchpad:
        sheet = _filled(
            "device_gpu",
            **common,
            warp=limits.warp_size,
            max_threads=limits.max_threads_per_block,
            shared=limits.shared_bytes_per_block,
            banks=limits.shared_banks,
        )
    else:
        sheet = _filled("device_cpu", **common, caches=facts_text.caches_text())
    named = f"Device: {facts.device}. " if facts.device else ""
    return f"{named}{sheet.strip()}\n\n{facts_text.limits_text(facts)}"


# ── turns, which tell what was not told before ──


def tester(facts: Facts, told: Told) -> str:  # noqa: ARG001 - as the others
    return _filled("tester", sizes=", ".join(_sizes(facts.kernel)), most=MOST - 1)


def round_(facts: Facts, told: Told, *, writes: bool) -> str:
    """Analyst and planner in one; `writes`: and templater, who may give the form at once."""
    fields = "`findings`, `passes`, `write`, `reason`, `share`, `stop`" + (", `form`, `notes`" if writes else "")
    return _tidy(
        _filled(
            "round",
            **_common(facts, told),
            passes=told.news(facts_text.passes_text(facts.passes, why=facts.tools is None or not writes)),
            fields=fields,
            forms=_forms(facts, told) if writes else "",
        )
        + f"\n\n{facts_text.budget_text(facts)}"
    )


def analyst(facts: Facts, told: Told) -> str:
    return _tidy(_filled("analyst", **_common(facts, told), findings_how=_findings_how()))


def planner(facts: Facts, findings: Sequence[Finding], told: Told) -> str:
    return _tidy(
        _filled(
            "planner",
            **_common(facts, told),
            planning=told.news(_template("planning").template, _AS_BEFORE),
            findings=told.news(facts_text.findings_text(findings)),
            passes=told.news(facts_text.passes_text(facts.passes)),
            budget=facts_text.budget_text(facts),
        )
    )


def templater(facts: Facts, plan: Plan, told: Told) -> str:
    words = (
        f"{plan.reason}\nPasses of the round: {', '.join(plan.passes) or 'none'}."
        " Without `@` and its number they leave your form alone: make its numbers parameters of yours."
    )
    return _tidy(
        _filled(
            "templater",
            **_common(facts, told),
            most_forms=MOST_FORMS,
            findings=told.news(facts_text.findings_text(plan.findings)),
            plan=words,
            budget=facts_text.budget_text(facts),
            forms=_forms(facts, told),
        )
    )


def repair(facts: Facts, proposal: Proposal, problem: str, told: Told) -> str:  # noqa: ARG001 - as the others
    source = f"The form:\n\n{written_text.form_text(proposal)}" if told.is_new(written_text.fenced(proposal)) else ""
    return _tidy(
        _filled(
            "repair",
            number=proposal.number,
            problem=presentable(problem, MOST_PROBLEM),
            source=source,
        )
    )


def author(facts: Facts, attempts: Sequence[Attempt], told: Told) -> str:
    return _tidy(
        _filled(
            "author",
            measured=told.news(facts_text.measured_text(facts)),
            attempts=told.news(written_text.attempts_text(attempts)),
            budget=facts_text.budget_text(facts),
        )
    )


def how_to_answer(schema: dict[str, Any], tools: Sequence[Tool]) -> str:
    """For servers without tool calls: the schema, and what may be looked at or tried, in words of the prompt."""
    listed = "\n".join(f"- {tool.name} {json.dumps(tool.arguments)}: {tool.description}" for tool in tools)
    return _filled("answer", schema=json.dumps(schema), calls=f"\n{_filled('calls', listed=listed)}\n" if tools else "")


def _forms(facts: Facts, told: Told) -> str:
    kept = [report for report in facts.proposals if report.problem is None]
    best = sorted(kept, key=lambda r: -(r.speedup or 0.0))[: 2 if facts.tools is None else 1]  # others can be looked at
    shown = [written_text.form_text(r.proposal) for r in best if told.is_new(written_text.fenced(r.proposal))]
    return "\n\n".join(shown)


def _trying(facts: Facts) -> str:
    return "" if facts.tools is None else _filled("trying", price=f"{EVALUATIONS_PER_TRIAL:g}", most=MOST_USES)


def _findings_how() -> str:
    listed = "; ".join(f"`{concern}` ({meaning})" for concern, meaning in _CONCERNS.items())
    return _filled("findings", concerns=listed)


def _tidy(text: str) -> str:
    """Without the gaps that sections with nothing new leave."""
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def how_to_write(kernel: Kernel, limits: Limits, *, fixed: bool = False) -> str:
    """`fixed`: for a whole rewrite, which has no parameters."""
    sizes, known = ", ".join(_sizes(kernel)), ", ".join(sorted(Limits.known_names()))
    reserved = ", ".join(["", FORM, *sorted(kernel.defines)])
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


def _common(facts: Facts, told: Told) -> dict[str, str]:
    return {
        "round": str(facts.round),
        "measured": told.news(facts_text.measured_text(facts)),
        "history": told.news("\n\n".join(filter(None, (facts_text.history_text(facts), lessons_text(facts.known))))),
    }


def _sizes(kernel: Kernel) -> list[str]:
    return list(dict.fromkeys(name for workload in kernel.workloads for name in workload.sizes))
