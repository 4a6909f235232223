"""The protocol of agents: the facts they receive after each round, and the roles, implemented by `warpsmith.agents`.

The loop (`tuning.rounds.rounds`) measures and searches; an agent only reads `Facts` (the paper's m = M(S, x; h)), turns them into
`Finding`s (g = A(m)), picks the next passes, and may write forms of the kernel itself. All of it is recorded, so that a run can
say why it did what it did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from warpsmith.core.hardware import Counters, Limits, Resources
from warpsmith.core.outcome import Evaluation
from warpsmith.record.lessons import Lesson
from warpsmith.record.transcript import Message, Role
from warpsmith.refactor.base import Concern
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.proposal import Proposal
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.tuning.agent.allowance import Ledger
from warpsmith.tuning.agent.form_facts import FormFacts
from warpsmith.tuning.budget import Budget


@dataclass(frozen=True, slots=True)
class Finding:
    """One suggestion with the fact that supports it. `weight` orders them: 1 is almost certain to matter."""

    concern: Concern
    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class PassReport:
    """The state of a pass in the run: untried, applied (in which round), or declined (why); `unroll@2` is unroll on form 2."""

    name: str
    summary: str
    concerns: frozenset[Concern]
    applied_in: int | None = None
    declined: str | None = None


@dataclass(frozen=True, slots=True)
class ProposalReport:
    """The state of a form that an agent wrote: kept, or dropped for this reason."""

    proposal: Proposal
    problem: str | None = None
    speedup: float | None = None  # of its best configuration, as searched; None when none was measured
    dropped: str | None = None  # why it gets no more evaluations


@dataclass(frozen=True, slots=True)
class Attempt:
    """A rewrite in direct mode and its outcome."""

    proposal: Proposal
    evaluation: Evaluation


@dataclass(frozen=True, slots=True)
class RoundReport:
    """A finished round: its plan and result. `speedup` is the best so far over the original, as searched."""

    number: int
    passes: tuple[str, ...]
    reason: str
    evaluations: int
    speedup: float
    ci95: tuple[float, float] | None = None
    refused: Mapping[str, str] = field(default_factory=dict)  # passes that were asked for in vain, and why


@dataclass(frozen=True, slots=True)
class BudgetLeft:
    """The remaining budget of a run. None: no limit."""

    evaluations: int | None
    seconds: float | None
    rounds: int | None = None  # the one to be planned included; None in direct mode

    @classmethod
    def of(cls, budget: Budget, evaluated: int, elapsed_s: float, rounds: int | None = None) -> BudgetLeft:
        evaluations = None if budget.evaluations is None else max(0, budget.evaluations - evaluated)
        return cls(evaluations, None if budget.seconds is None else max(0.0, budget.seconds - elapsed_s), rounds)


EVALUATIONS_PER_TRIAL = 0.25  # it is timed with fewer launches than an evaluation, and decides nothing
MOST_USES = 8  # looks and trials for one answer
MOST_TRIALS = 24  # of a run
TRIED_SPEED = "the original's speed"  # ends what is told of a trial that went well


@dataclass(frozen=True, slots=True)
class TrialReport:
    """The outcome of trying a form, as text; `number` counts a run's trials, 0 where nothing was tried."""

    number: int
    text: str

    @property
    def brief(self) -> str:
        """Its speed, or the first line of the error."""
        first, *others = self.text.splitlines() or [""]
        return others[-1] if others and others[-1].endswith(TRIED_SPEED) else first.partition("): ")[2]


class Tools(Protocol):
    """Tools that an agent can use before it answers. Forms are named by number: 0 the original, -2 the second trial."""

    def try_form(self, proposal: Proposal) -> TrialReport:
        """Compiled, verified, watched for races, and timed beside the best so far."""
        ...

    def hot_loop(self, form: int, loop: int = 1) -> str:
        """Its hottest loops as machine code: counts of each, the instructions of one."""
        ...

    def look_at(self, form: int) -> str:
        """Its source, and every configuration of it that was measured."""
        ...

    def ask_pass(self, name: str, form: int) -> str:
        """What a pass would do to the form."""
        ...


@dataclass(frozen=True, slots=True)
class Facts:
    """All measurements so far. Figures that the device does not report are None, never guessed."""

    kernel: Kernel  # as the user brought it
    limits: Limits
    baseline: Resources | None
    best: Resources | None
    roofline_fraction: Mapping[str, float]  # of the best so far, by workload; empty where no roof could be measured
    best_configuration: Mapping[str, object] = field(default_factory=dict)
    forms: Sequence[FormFacts] = ()  # what was measured of each, the kernel itself first; empty outside of rounds
    roof_us: Mapping[str, float] = field(default_factory=dict)
    bounds: Mapping[str, str] = field(default_factory=dict)  # what sets the roof: memory or arithmetic
    failures: Mapping[str, int] = field(default_factory=dict)  # by kind of outcome
    rounds: Sequence[RoundReport] = ()
    passes: Sequence[PassReport] = ()
    proposals: Sequence[ProposalReport] = ()
    best_times_us: Mapping[str, float] = field(default_factory=dict)  # of the best so far, by workload
    baseline_times_us: Mapping[str, float] = field(default_factory=dict)
    failed: Sequence[Evaluation] = ()  # the latest of those that were not measured, with their reasons
    moves: Callable[[], Draft] | None = None  # direct mode: all that the passes make of the kernel and the device finds right
    device: str = ""  # what it is, in words
    counters: Mapping[str, Counters] = field(default_factory=dict)  # of the best so far, by workload, where the device counts
    budget: BudgetLeft | None = None  # None outside a run
    in_vain: Sequence[str] = ()  # plans for this round that brought nothing, and why
    known: Sequence[tuple[Lesson, float]] = ()  # what was learnt on similar kernels, and how similar they are
    tools: Tools | None = None  # None where there is no bench to try anything on

    @property
    def next_form(self) -> int:
        """The number of the next form that is written."""
        return max((report.proposal.number for report in self.proposals), default=0) + 1

    @property
    def round(self) -> int:
        """The one to be planned."""
        return len(self.rounds) + 1


@dataclass(frozen=True, slots=True)
class Plan:
    """The next round: the passes to apply to the original (earlier rounds' included), and why.

    `proposals` are the forms that an agent wrote for this round, as they were kept after repairs. A pass's name alone asks for
    it on the kernel itself, `unroll@2` on form 2.
    """

    passes: tuple[str, ...]
    reason: str
    findings: tuple[Finding, ...] = ()
    is_last: bool = False  # nothing would be left to plan after it: it may spend what there is
    share: float | None = None  # of what is left of the budget; None: an equal share of the rounds to come
    write: bool = False  # the templater is asked for a form of its own
    proposals: tuple[Proposal, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)  # what was asked for and cannot be, and why


class AgentStopped(Exception):  # noqa: N818 - reads as the fact it states
    """An agent cannot continue: its allowance is spent, or its model cannot be reached. The run ends with its results so far."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unanswered(AgentStopped):
    """This question got no usable answer; later ones may."""


@dataclass(frozen=True, slots=True)
class Desk:
    """An agent's resources besides the facts."""

    seed: int
    ledger: Ledger
    note: Callable[[Message], None]  # recorded, charged and shown when it returns
    seconds_left: Callable[[], float | None]
    before: Callable[[], Sequence[Message]] = tuple  # what was said before a run was interrupted; known once it goes on
    roles: frozenset[Role] = frozenset(Role)  # those that it has: who has several may answer for them at once


class Agent(Protocol):
    """The roles of a run. Found by entry point (`warpsmith.agents`): a factory that takes the agent's name and its desk.

    Whatever needs a model may raise AgentStopped.
    """

    name: str

    def analyse(self, facts: Facts) -> tuple[Finding, ...]:
        """Analyst: suggestions, the weightiest first."""
        ...

    def plan(self, facts: Facts, findings: Sequence[Finding]) -> Plan | None:
        """Planner: the next round; None if nothing worth trying is left."""
        ...

    def propose(self, facts: Facts, plan: Plan) -> Sequence[Proposal]:
        """Templater: forms of its own for the planned round, all of them searched; none when the passes are all there is."""
        ...

    def repair(self, facts: Facts, proposal: Proposal, problem: str) -> Proposal | None:
        """Templater: the form again without the problem that was found in it; None to give it up."""
        ...

    def adversaries(self, facts: Facts) -> tuple[Workload, ...]:
        """Tester: small workloads that expose wrong configurations. Those on which the original fails are dropped."""
        ...

    def rewrite(self, facts: Facts, attempts: Sequence[Attempt]) -> Proposal | None:
        """Author, in direct mode: a whole kernel with every choice fixed, better than those before; None to stop."""
        ...
