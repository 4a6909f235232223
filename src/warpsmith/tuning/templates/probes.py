"""Tries configurations of a draft on the device: is the default still the original, and does another one compile and verify?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import InputError, Location, WarpsmithError
from warpsmith.core.outcome import TimedOut, Verdict, WrongResult
from warpsmith.devices.base import CompileRequest, DeviceInfo
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.candidates import BuildOutcome
from warpsmith.measure.watching import is_watched_on, watch
from warpsmith.refactor.drafting.combine import Refactored
from warpsmith.refactor.drafting.emit import template_path, template_text
from warpsmith.refactor.drafting.values import space_of_refactored
from warpsmith.refactor.untouched import untouched
from warpsmith.space import Space
from warpsmith.spec.comments import used_identifiers
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.template import Template, first_difference, template_of
from warpsmith.tuning.evaluation.adversaries import Adversaries
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.cores import all_cores
from warpsmith.tuning.evaluation.odd_shapes import odd_shapes, odd_values
from warpsmith.tuning.evaluation.original import establish_original, require_right
from warpsmith.verify.inputs import nbytes_of
from warpsmith.verify.prepared import PreparedWorkload, prepare_all
from warpsmith.verify.seeds import fresh_seed

_WRONG = "wrong result"
_PROBE_DEADLINE_S = 20.0  # to compile: what takes longer is of no use to a search


@dataclass(frozen=True, slots=True)
class Lab:
    """A device made ready for one kernel. Workloads that are launched must have their expected outputs."""

    pool: CompilePool
    info: DeviceInfo
    bench: Bench
    prepared: Mapping[str, PreparedWorkload]
    adversaries: tuple[Workload, ...] = ()  # what is verified too; the bench has them
    _compared: list[tuple[CompileRequest, list[str]]] = field(default_factory=list, repr=False)

    def original_tokens(self, request: CompileRequest) -> list[str]:
        """Template after template is compared with the same original: it is preprocessed once."""
        if not self._compared or self._compared[0][0] != request:
            self._compared[:] = [(request, self.pool.preprocess(request))]
        return self._compared[0][1]


def probe_workloads(kernel: Kernel) -> tuple[Workload, ...]:
    """The tuning workload with the least memory, and the smallest of all: a probe asks what is right, not what is fast.

    That the second may be held out does not matter: nothing is chosen by it, only what is wrong there is left out.
    """
    nbytes = partial(nbytes_of, kernel)
    found = {w.name: w for w in (min(kernel.tuning_workloads, key=nbytes), min(kernel.workloads, key=nbytes))}
    return tuple(found.values())


@contextmanager
def laboratory(kernel: Kernel, device: str, *, binary_cache: Path) -> Iterator[Lab]:
    """A lab of its own, with the smallest workloads and odd shapes.

    Raises InputError or BaselineError when the original does not work.
    """
    plain = untouched(kernel)
    with ExitStack() as stack:
        # Nothing is timed here, so nobody needs a core to itself.
        pool = stack.enter_context(
            CompilePool(device, workers=all_cores(), cache_dir=binary_cache, deadline_s=_PROBE_DEADLINE_S, folders=kernel.folders)
        )
        info = pool.describe()
        require_language(kernel, info)
        builder = Builder(Binder(plain, info.limits), template_of(plain), pool)
        seed = fresh_seed()
        prepared = prepare_all(builder.binder, probe_workloads(plain), seed, stack)
        drawn = np.random.default_rng([seed, *b"odd shapes"])
        values = [
            w for w in odd_values(plain, drawn) if not w.name.startswith("sparse-")
        ]  # one sparse one; the others in the end
        tested = Adversaries((*odd_shapes(plain, drawn), *values), (), builder, seed, stack)
        bench = stack.enter_context(Bench(device, [*prepared.values(), *tested.ready.values()]))
        original = establish_original(builder, bench, prepared)
        for ready in prepared.values():
            require_right(builder, original, bench, ready)
        yield Lab(pool, info, bench, prepared, tested.settle(bench))


def require_language(kernel: Kernel, info: DeviceInfo) -> None:
    if kernel.language not in info.languages:
        raise InputError(
            f"device {info.name!r} does not run {kernel.language} kernels, only {', '.join(sorted(info.languages))}",
            location=Location(kernel.path),
            hint="`warpsmith devices` lists what runs here",
        )


@dataclass(frozen=True, slots=True)
class ProbeProblem:
    """What keeps a configuration from being right; as a string, its first line."""

    text: str
    is_slow: bool = False  # to compile: nothing is known of its results
    is_wrong: bool = False  # it compiled and ran

    def __str__(self) -> str:
        return self.text.strip().split("\n")[0]


class Probe:
    """One draft's template, compiled and launched without being written anywhere.

    With `form`, that text is compiled in place of the template's: what is said about it then has its own line numbers.
    """

    def __init__(self, found: Refactored, lab: Lab, form: str | None = None) -> None:
        self.found = found
        self.space: Space = space_of_refactored(found)
        self._lab = lab
        kernel = _kernel_of(found)
        self._workloads = [workload for workload in probe_workloads(kernel) if workload.name in lab.prepared]
        self._builder = Builder(Binder(kernel, lab.info.limits), _template_of(found, kernel, form), lab.pool)

    def difference(self) -> str | None:
        """Where the template at its defaults is not the original, token by token; None when it is."""
        original = self._lab.original_tokens(self._builder.requests.original(self._workloads[0]))
        try:
            return first_difference(original, self.tokens())
        except WarpsmithError as error:
            return error.message

    def tokens(self) -> list[str]:
        """What the preprocessor makes of it at its defaults."""
        return self._lab.pool.preprocess(self._builder.requests.templated(self.space.default, self._workloads[0]))

    def prefetch(self, configurations: Iterable[Configuration]) -> None:
        for configuration in configurations:
            self._builder.prefetch(configuration, self._tried_on(configuration))

    def _tried_on(self, configuration: Configuration) -> list[Workload]:
        names = self._builder.binder.names
        return [*self._workloads, *(w for w in self._lab.adversaries if self.space.allows(names(configuration, w)))]

    def problem(self, configuration: Configuration) -> ProbeProblem | None:
        """Why this configuration is not right; None when it compiled and its outputs were."""
        workloads = self._tried_on(configuration)
        built = self._builder.build(configuration, workloads)
        found = problem_with(built, workloads, self._lab.bench)
        return None if found is None else ProbeProblem(found, isinstance(built, TimedOut), found.startswith(_WRONG))

    def build(self, configuration: Configuration, workloads: Iterable[Workload]) -> BuildOutcome:
        return self._builder.build(configuration, workloads)

    def instructions(self, configuration: Configuration) -> list[str] | str:
        """The machine code on the first workload; or why it cannot be shown."""
        return self._lab.pool.instructions(self._builder.requests.templated(configuration, self._workloads[0]))

    def unseen_problem(self, configuration: Configuration) -> str | None:
        """What checkers find here and not in the original, which no output shows; None if there is nothing, or nobody to look."""
        if not is_watched_on(self._lab.pool.device):
            return None
        found = self._watched(configuration)
        accepted = self._watched(self.space.default) if found else {}
        return next((problem for check, problem in found.items() if check not in accepted), None)

    def _watched(self, configuration: Configuration) -> dict[str, str]:
        """By check, in words."""
        workloads = [self._lab.prepared[workload.name] for workload in self._workloads]
        reports = watch(self._lab.info.name, self._builder.build_watched(configuration, self._workloads), workloads)
        return {check: f"{check}: {report.problems[0]}" for check, report in reports.items() if report.problems}

    def explain(self, values: Mapping[str, Value]) -> list[str]:
        """What a configuration with these values breaks, the rest at their defaults."""
        return [str(violation) for violation in self.space.explain(Configuration.of({**self.space.default, **values}))]

    def same_launch(self, left: Configuration, right: Configuration) -> bool:
        """Whether two configurations are the same code, launched the same way."""
        first, second = self._built(left), self._built(right)
        return first is not None and second is not None and first.identity == second.identity

    def _built(self, configuration: Configuration) -> Candidate | None:
        built = self._builder.build_templated(configuration, self._workloads)
        return built if isinstance(built, Candidate) else None


def problem_with(built: BuildOutcome, workloads: Iterable[Workload], bench: Bench) -> str | None:
    """Why it is not right on one of the workloads; None when it is right on all of them."""
    if not isinstance(built, Candidate):
        return f"does not compile: {built.reason.strip()}"
    for workload in workloads:
        verdict = bench.verify(built, workload.name)
        if not isinstance(verdict, Verdict):
            return f"does not run on {workload.name}: {verdict.reason.strip()}"
        if not verdict.passed:
            sizes = ", ".join(f"{name} = {size}" for name, size in workload.sizes.items())
            return f"{_WRONG}: {WrongResult(verdict).reason.strip()} ({workload.name}: {sizes})"
    return None


def _kernel_of(found: Refactored) -> Kernel:
    kernel = found.draft.kernel
    return replace(
        kernel,
        launch=found.launch,
        parameters=found.spec_parameters,
        constraints=found.constraints,
        likely=found.likely,
        template_source=template_path(kernel.source.parent, kernel),
        template_entry=found.entry,
        template_foreign=found.draft.is_foreign,
    )


def _template_of(found: Refactored, kernel: Kernel, form: str | None) -> Template:
    text = form if form is not None else template_text(found)
    names = used_identifiers(text) | used_identifiers(found.entry)
    path = template_path(kernel.source.parent, kernel)
    return Template(
        source=text,
        path=path if form is None else path.with_name(f"form{kernel.source.suffix}"),
        parameters=kernel.parameters,
        constraints=kernel.constraints,
        launch=kernel.launch,
        used=frozenset(parameter.name for parameter in kernel.parameters if parameter.name in names),
        likely=kernel.likely,
    )
