"""What tests of language models share: facts to tell, and a desk whose notes they read."""

from dataclasses import dataclass, field

import pytest

from chat_server import ChatServer
from warpsmith.agents.llm import LlmAgent
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Limits, Resources
from warpsmith.core.outcome import ArgumentCheck, CompileFailed, Evaluation, Measured, Verdict, WorkloadTime
from warpsmith.record.transcript import Message
from warpsmith.refactor.base import Concern, Tunable
from warpsmith.refactor.proposal import Proposal
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.agent.allowance import Allowance, Ledger
from warpsmith.tuning.agent.planning import Desk, Facts, PassReport, ProposalReport, RoundReport

LIMITS = Limits(1024, 1024, 512, 64, 32768, 32, 2)
KERNEL = untouched(load_kernel("silu_and_mul"))
PASSES = (
    PassReport("block_size", "threads in a block", frozenset({Concern.PARALLELISM}), applied_in=1),
    PassReport("map_2d", "two-dimensional blocks", frozenset({Concern.COALESCING})),
    PassReport("fast_math", "approximate functions", frozenset({Concern.BALANCE}), declined="no function to approximate"),
)
FACTS = Facts(
    kernel=KERNEL,
    limits=LIMITS,
    baseline=Resources(registers=40, gathers=3, scatters=1, remarks=("vectorized 8 wide",)),
    best=Resources(registers=32, spill_bytes=16),
    roofline_fraction={"llama-7b": 0.2},
    passes=PASSES,
)
TRIED = ProposalReport(
    Proposal(1, "__global__ void k() {}\n", ("n",), ("64",), tunables=(Tunable("TILE", (1, 2), 1, "tile"),), hypothesis="tiles"),
    problem="/home/somebody/kernel.cu:3:1: error: no",
)
LATER = Facts(
    kernel=KERNEL,
    limits=LIMITS,
    baseline=FACTS.baseline,
    best=FACTS.best,
    roofline_fraction={"llama-7b": 0.45},
    best_configuration={"BLOCK": 256},
    failures={"CompileFailed": 2},
    rounds=(RoundReport(1, ("block_size",), "numbers first", 12, 1.37),),
    passes=PASSES,
    proposals=(TRIED,),
    best_times_us={"llama-7b": 812.5},
    baseline_times_us={"llama-7b": 1112.25},
    failed=(Evaluation(Configuration((("BLOCK", 3),)), CompileFailed("/tmp/build/x.cu:7: error: odd block")),),
)


def measured(score: float) -> Measured:
    verdict = Verdict((ArgumentCheck("llama-7b", "out", True, 0.0),))
    return Measured(verdict, (WorkloadTime("llama-7b", 500.0, score, (score, score), 9),), score)


@dataclass
class Office:
    """An agent that asks a server of the test's, and everything that was noted."""

    server: ChatServer
    name: str = "openai:fake"
    usd: float | None = None
    tokens: int | None = None
    seconds_left: float | None = None
    timeout_s: float = 60.0
    before: list[Message] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ledger = Ledger(Allowance(self.usd, self.tokens))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_BASE_URL", self.server.url)
            patch.setenv("WARPSMITH_MODEL_TIMEOUT", str(self.timeout_s))
            desk = Desk(0, self.ledger, self._note, lambda: self.seconds_left, lambda: self.before)
            self.agent = LlmAgent(self.name, desk, sleep=self.waits.append)

    def _note(self, message: Message) -> None:
        self.notes.append(message)
        self.ledger.charge(message)

    @property
    def kinds(self) -> list[str]:
        return [str(note.kind) for note in self.notes]

    def said(self, kind: str) -> str:
        return "\n".join(note.text for note in self.notes if note.kind == kind)
