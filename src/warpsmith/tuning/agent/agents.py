"""Agents by name, found by entry point; the built-in ones live in `warpsmith.agents`.

`rules` is one; `PROVIDER:MODEL` (`openai:gpt-5`, `ollama:qwen3-coder`) is a language model. Roles can be mixed:
`rules,templater=openai:gpt-5` has the rules do everything but write forms of the kernel. Where a model cannot go on the rules do
(`tuning.agent.fallback`), or whom `fallback=AGENT` names; `fallback=none` forbids it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias, cast

from warpsmith.core.errors import InputError
from warpsmith.core.plugins import plugins
from warpsmith.record.run import NO_AGENT
from warpsmith.record.transcript import Role
from warpsmith.refactor.proposal import Proposal
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.tuning.agent.fallback import LeavesUndone, WithFallback
from warpsmith.tuning.agent.planning import Agent, Attempt, Desk, Facts, Finding, Plan

RULES = "rules"
_GROUP = "warpsmith.agents"
_FALLBACK = "fallback"  # not a role, but written like one
_LANGUAGE_MODEL = "llm"  # the entry point behind every PROVIDER:MODEL

MakeAgent: TypeAlias = Callable[[str, Desk], Agent]


def default_agent(kernel: Kernel) -> str:
    """`none` for a kernel with its own template, which is then searched; else `rules`, which makes one."""
    return NO_AGENT if kernel.parameters else RULES


def load_agent(text: str, desk: Desk, *, alone: bool = False) -> Agent:
    """The agent, or the crew, that the text names. `alone`: without a fallback, even if the text names one.

    Raises InputError for a name that is not there.
    """
    leader, *others = [part.strip() for part in text.split(",")]
    if "=" in leader:
        leader, others = RULES, [leader, *others]
    names: dict[Role, str] = {}
    fallback = RULES
    for part in others:
        role, _, name = part.partition("=")
        if role == _FALLBACK and name:
            fallback = name
            continue
        if role not in set(Role) or not name:
            known = ", ".join([*Role, _FALLBACK])
            raise InputError(f"{part!r} assigns no role to an agent", hint=f"write ROLE=AGENT; roles are {known}")
        names[Role(role)] = name
    by_name = {name: frozenset(role for role in Role if names.get(role, leader) == name) for name in (leader, *names.values())}
    found = {name: _load(name, replace(desk, roles=roles)) for name, roles in by_name.items()}
    roles = {role: found[name] for role, name in names.items()}
    agent = Crew(text, found[leader], roles) if roles else found[leader]
    if found.keys() == {RULES}:
        return agent  # never at a loss
    return WithFallback(agent, _fallback(NO_AGENT if alone else fallback, desk), desk)


def _fallback(name: str, desk: Desk) -> Agent:
    if name in {NO_AGENT, RULES}:
        return LeavesUndone() if name == NO_AGENT else _load(RULES, desk)
    return WithFallback(_load(name, desk), LeavesUndone(), desk)


def _load(name: str, desk: Desk) -> Agent:
    known = plugins(_GROUP)
    entry = known.get(_LANGUAGE_MODEL if ":" in name else name)
    if entry is None or name == _LANGUAGE_MODEL:
        listed = ", ".join([*sorted(known.keys() - {_LANGUAGE_MODEL}), NO_AGENT])
        raise InputError(f"unknown agent {name!r}", hint=f"there are {listed}, and language models as PROVIDER:MODEL")
    return cast("MakeAgent", entry.load())(name, desk)


class Crew:
    """Several agents as one: a leader, and others in some of the roles."""

    def __init__(self, name: str, leader: Agent, roles: dict[Role, Agent]) -> None:
        self.name = name
        self._leader = leader
        self._roles = roles

    def _in(self, role: Role) -> Agent:
        return self._roles.get(role, self._leader)

    def analyse(self, facts: Facts) -> tuple[Finding, ...]:
        return self._in(Role.ANALYST).analyse(facts)

    def plan(self, facts: Facts, findings: Sequence[Finding]) -> Plan | None:
        plan = self._in(Role.PLANNER).plan(facts, findings)
        # Who names a templater wants forms of it; a planner that does not know of it asks for none.
        return replace(plan, write=True) if plan is not None and Role.TEMPLATER in self._roles else plan

    def propose(self, facts: Facts, plan: Plan) -> Sequence[Proposal]:
        return self._in(Role.TEMPLATER).propose(facts, plan)

    def repair(self, facts: Facts, proposal: Proposal, problem: str) -> Proposal | None:
        return self._in(Role.TEMPLATER).repair(facts, proposal, problem)

    def adversaries(self, facts: Facts) -> tuple[Workload, ...]:
        return self._in(Role.TESTER).adversaries(facts)

    def rewrite(self, facts: Facts, attempts: Sequence[Attempt]) -> Proposal | None:
        return self._in(Role.AUTHOR).rewrite(facts, attempts)
