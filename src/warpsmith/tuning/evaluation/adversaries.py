"""Additional workloads for verification: odd sizes, extreme values. A configuration that fails on one is wrong.

They are never timed and rule nothing out beforehand: a configuration that the constraints forbid on such sizes is not tried on
them. The original must be right on them itself, so a tester can ask for anything. Our own stand beside a tester's, who may be the
author of what is tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack

from warpsmith.core.errors import WarpsmithError
from warpsmith.core.outcome import CompileFailed, Verdict
from warpsmith.measure.bench import Bench
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.odd_shapes import most_bytes
from warpsmith.tuning.evaluation.original import judge_original
from warpsmith.verify.inputs import nbytes_of
from warpsmith.verify.prepared import PreparedWorkload

MOST = 2  # each costs a compilation and a launch in every evaluation


class Adversaries:
    """Our `own` and those that a tester asks for, made ready; `dropped` says why the others do not count."""

    def __init__(
        self, own: Sequence[Workload], asked_for: Iterable[Workload], builder: Builder, seed: int, stack: ExitStack
    ) -> None:
        self._builder = builder
        self._own = [workload.name for workload in own]
        self.ready: dict[str, PreparedWorkload] = {}
        self.dropped: dict[str, str] = {}
        kernel = builder.binder.kernel
        for workload in (*own, *(w for w in asked_for if w not in own)):
            problem = _implausible(workload, kernel, self.ready)
            if problem is None:
                try:
                    geometry = builder.binder.geometry(kernel.default_configuration, workload)
                    self.ready[workload.name] = stack.enter_context(PreparedWorkload.prepare(kernel, workload, seed, geometry))
                except WarpsmithError as error:
                    problem = error.message
            if problem is not None:
                self.dropped[workload.name] = problem

    def settle(self, bench: Bench, most: int = MOST) -> tuple[Workload, ...]:
        """Keeps those on which the original itself is right: odd values; and an odd shape of our own, then the first
        others, `most` of these in all.
        """
        kept: list[Workload] = []
        for prepared in self._by_urgency(kept):
            is_full = sum(not workload.has_odd_values for workload in kept) >= most
            problem = f"there are {most} already" if is_full else _original_problem(prepared, self._builder, bench)
            if problem is None:
                kept.append(prepared.workload)
            else:
                self.dropped[prepared.name] = problem
        return tuple(kept)

    def _by_urgency(self, kept: Sequence[Workload]) -> Iterator[PreparedWorkload]:
        declared = [workload.sizes for workload in self._builder.binder.kernel.workloads]
        own = [self.ready[name] for name in self._own if name in self.ready]
        yield from (prepared for prepared in own if prepared.workload.has_odd_values)
        own = [prepared for prepared in own if not prepared.workload.has_odd_values]
        shapes = [prepared for prepared in own if prepared.workload.sizes not in declared]
        while shapes and all(workload.has_odd_values for workload in kept):
            yield shapes.pop(0)
        yield from (prepared for name, prepared in self.ready.items() if name not in self._own)
        yield from (prepared for prepared in own if prepared.workload.sizes in declared or prepared in shapes)


def _implausible(workload: Workload, kernel: Kernel, others: Mapping[str, object]) -> str | None:
    sizes = kernel.workloads[0].sizes
    if workload.name in others or any(workload.name == declared.name for declared in kernel.workloads):
        return "another workload has this name"
    if set(workload.sizes) != set(sizes):
        return f"its sizes are {', '.join(sorted(workload.sizes))}; the kernel's are {', '.join(sorted(sizes))}"
    if any(size < 1 for size in workload.sizes.values()):
        return "a size is below 1"
    try:
        nbytes, most = nbytes_of(kernel, workload), most_bytes(kernel)
    except WarpsmithError as error:
        return error.message
    is_declared = any(workload.sizes == declared.sizes for declared in kernel.workloads)
    return f"{nbytes:,} bytes, more than {most:,}" if nbytes > most and not is_declared else None


def _original_problem(prepared: PreparedWorkload, builder: Builder, bench: Bench) -> str | None:
    judged = judge_original(builder, bench, prepared)
    if isinstance(judged, CompileFailed):
        return f"the original does not compile: {judged.reason}"
    if not isinstance(judged, Verdict):
        return f"the original fails: {judged.reason}"
    failure = judged.failure
    if failure is not None:
        return f"the original is not right itself: {failure.argument}: {failure.problem}"
    if prepared.kernel.reference.file is None and (nameless := prepared.outputs_with_nan()):
        # What lies beyond a buffer reads as NaN: more likely it was read there than meant.
        return f"the original computes NaN ({', '.join(nameless)}), and no reference says that this is right"
    return None
