"""Answers of the tools: small, typed, with paths to details. The fields are the protocol: clients are shown their schema."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from warpsmith.core.configuration import Value


class Device(BaseModel):
    device: str
    available: bool
    description: str | None = None
    languages: list[str] = []
    limits: dict[str, int] = {}
    problem: str | None = None


class Devices(BaseModel):
    devices: list[Device]


class Place(BaseModel):
    line: int
    what: str


class WorkloadFacts(BaseModel):
    name: str
    sizes: dict[str, int]
    weight: float
    heldout: bool
    bytes_moved: float = Field(description="A lower bound, from the arguments' sizes or [traffic].")
    flops: float | None = Field(description="None where kernel.toml does not say.")


class Draft(BaseModel):
    kernel_toml: str = Field(description="The text; save it next to the source.")
    next: str = Field(default="", description="The next step.")


class Inspection(BaseModel):
    kernel: str
    path: str
    language: str
    entry: str
    source_path: str
    source: str | None = Field(description="The whole text; None if it is long: read source_path instead.")
    arguments: dict[str, str]
    grid: list[str]
    block: list[str]
    shared: str
    workloads: list[WorkloadFacts]
    tolerance: str
    oracle: str
    parameters: dict[str, list[Value]] = Field(description="Of the kernel's own template; empty for a plain kernel.")
    loops: list[Place]
    accesses: list[Place]
    barriers: list[Place]
    shared_arrays: list[Place]
    findings: list[str] = Field(description="Static findings of the rules; nothing was measured yet.")


class Check(BaseModel):
    kernel: str
    path: str
    feasible: int = Field(description="Configurations of the kernel's own template that the device allows.")
    all: int
    verified_on: list[str] = Field(description="Workloads on which the original was launched and agreed with the oracle.")
    findings: list[str] = Field(default=[], description="Unfinished or suspicious entries of kernel.toml.")
    next: str = Field(default="", description="The tool to call next.")


class PassFacts(BaseModel):
    name: str
    summary: str
    concerns: list[str]
    applies: bool
    reason: str | None = Field(default=None, description="Why not.")


class Passes(BaseModel):
    kernel: str
    passes: list[PassFacts]


class ParameterFacts(BaseModel):
    name: str
    values: list[Value]
    default: Value
    meaning: str = ""
    assumes: str = Field(default="", description="Assumptions about its other values that were tested, not proved.")


class Template(BaseModel):
    kernel: str = Field(description="The path to give to start_tuning, explain and the other tools.")
    source_path: str
    diff_path: str | None
    parameters: list[ParameterFacts]
    constraints: list[str]
    certificate: str = Field(description="How equality of the default template and the original was established.")
    feasible: int
    all: int
    applied: list[str]
    not_applied: dict[str, str] = Field(description="By pass: the reason.")
    notes: list[str] = Field(description="Excluded values and forms, with the reason.")
    next: str = Field(default="", description="The tool to call next.")


class Submission(BaseModel):
    accepted: bool
    form: str | None = Field(default=None, description="Pass it to make_template; None if it was rejected.")
    template: Template | None = None
    problem: str | None = Field(default=None, description="The compiler's or the comparison's error message.")
    left_out: dict[str, str] = Field(default={}, description="Parameter values that failed, with the reason.")
    verified_on: list[str] = []
    trial: Trial | None = Field(default=None, description="Of an accepted form, at its defaults.")
    next: str = Field(default="", description="The tool to call next.")


class Trial(BaseModel):
    """In a few launches, each beside one of the original: it says which of two ideas is faster, and is no claim."""

    config: str
    speedup: float | None = Field(description="The original's time over the form's; None if not timed.")
    ci95: tuple[float, float] | None
    times_us: dict[str, float]
    compiler: dict[str, int] = Field(description="Resources that the compiler reports; unknown ones are absent.")
    remarks: list[str] = []


class Job(BaseModel):
    job: str
    kernel: str
    state: Literal["starting", "running", "finished", "stopped", "failed"]
    run: str | None = Field(description="Pass it to get_result, explain, profile and export_result.")
    evaluations: dict[str, int] = {}
    evaluations_allowed: int | None = None
    seconds: float = 0.0
    seconds_left: float | None = Field(default=None, description="Estimated search time; claims take up to a minute more.")
    best_so_far: BestSoFar | None = None
    stage: str = Field(default="", description="The last line of the log.")
    log_path: str = ""
    next: str = Field(default="", description="The tool to call next.")


class BestSoFar(BaseModel):
    config: dict[str, Value]
    speedup: float = Field(description="As searched: not a claim, biased upwards. Report get_result's figure instead.")
    ci95: tuple[float, float] | None = None


class Jobs(BaseModel):
    jobs: list[Job]
    next: str = Field(default="", description="The tool to call if there are none.")


class Reason(BaseModel):
    outcome: str
    reason: str
    count: int
    example: dict[str, Value]


class Removed(BaseModel):
    constraint: str
    reason: str
    removes: int


class Explanation(BaseModel):
    kernel: str
    run: str | None
    feasible: int
    all: int
    configuration: dict[str, Value] | None = None
    is_feasible: bool | None = None
    violations: list[str] = Field(default=[], description="Violated constraints, each with its two values.")
    outcome: str | None = Field(default=None, description="Its outcome in this run; None if it was not evaluated.")
    failures: list[Reason] = Field(default=[], description="The most frequent failure reasons of the run.")
    removed: list[Removed] = Field(
        default=[], description="Configurations of the Cartesian product that each constraint alone removes."
    )


class Influence(BaseModel):
    parameter: str
    share: float
    best: Value
    worst: Value
    slowdown: float = Field(description="Time of the worst value over the best.")


class Profile(BaseModel):
    run: str
    kernel: str
    state: str
    best: dict[str, Value]
    resources: dict[str, int] = Field(
        description="Resources of the best, as the compiler reported them; unknown ones are absent."
    )
    baseline_resources: dict[str, int]
    median_us: dict[str, float]
    baseline_us: dict[str, float]
    roofline_fraction: dict[str, float] = Field(description="Measured together with the claims; empty before a run is finished.")
    influences: list[Influence] = Field(description="Empty with too few results.")
    findings: list[str]


class Claim(BaseModel):
    config: dict[str, Value]
    speedup: float
    ci95: tuple[float, float]
    median_us: float
    roofline_fraction: float | None
    verified: bool


class Outcome(BaseModel):
    run: str
    kernel: str
    device: str
    state: str
    summary: str = Field(description="A sentence to quote.")
    general: Claim | None
    uncertain: Claim | None = Field(
        None, description="The best found if its gain is not significant; general is then the original."
    )
    per_workload: dict[str, Claim] = {}
    heldout: dict[str, Claim] = {}
    evaluations: dict[str, int]
    seconds: float
    certificate: str | None = None
    template_path: str | None = None
    report_path: str | None = Field(None, description="The HTML report: result, plots, template, method, every evaluation.")
    next: str = Field(default="", description="The tool to call next.")


class Export(BaseModel):
    folder: str
    files: list[str]
    manifest_path: str
    speedup: float
    ci95: tuple[float, float]
    launch: dict[str, Any]
    requires: list[str]  # of the sizes it is launched with, and of the device
    verified_as_written: bool
    warnings: list[str]
    next: str = Field(default="", description="The tool to call next.")
