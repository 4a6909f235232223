"""The benches of a run's search: one for its device, and one for each additional device."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.scrub import make_scrubber
from warpsmith.spec.kernel import Workload
from warpsmith.tuning.cluster.machines import Place
from warpsmith.tuning.cluster.parcel import pack
from warpsmith.tuning.cluster.shipping import Shipper
from warpsmith.tuning.cluster.station import Duty, environment_of_run, place_of, toolchain_of
from warpsmith.tuning.context import RunContext
from warpsmith.tuning.evaluation.cores import divide_cores
from warpsmith.tuning.evaluation.judge import Trial
from warpsmith.tuning.evaluation.profile import Profiler
from warpsmith.tuning.evaluation.seats import Seat
from warpsmith.tuning.events import PreparationStarted, Warned
from warpsmith.verify.prepared import PreparedWorkload


@dataclass(frozen=True, slots=True)
class Benches:
    first: Bench
    profiler: Profiler
    more: tuple[Bench, ...] = ()
    adversaries: tuple[Workload, ...] = ()  # workloads that were added to verification
    seats: tuple[Seat, ...] = ()  # devices of other machines


def open_bench(context: RunContext, workloads: Sequence[PreparedWorkload], stack: ExitStack) -> Bench:
    return stack.enter_context(_bench(context, context.order.device, workloads))


def open_more(context: RunContext, first: Bench, workloads: Sequence[PreparedWorkload], stack: ExitStack) -> tuple[Bench, ...]:
    """One for each further device, with memory of its own."""
    benches: list[Bench] = []
    for device in context.order.more_devices:
        twins = [stack.enter_context(workload.twin()) for workload in workloads]
        bench = stack.enter_context(_bench(context, device, twins))
        bench.launch_deadline_s = first.launch_deadline_s
        bench.start()  # whether it can be had is known before anything is searched
        benches.append(bench)
    return tuple(benches)


def open_seats(
    context: RunContext, first: Bench, original: Candidate, workloads: Sequence[PreparedWorkload], stack: ExitStack
) -> tuple[Seat, ...]:
    """Those of the cluster, if the run has one: sent what is searched on, and found to run the original."""
    cluster, order, kernel = context.cluster, context.order, context.kernel
    if cluster is None:
        return ()
    device = order.device.partition(":")[0] if order.device.startswith(("cuda", "hip")) else order.device

    def duty(place: Place, shipper: Shipper) -> Duty:
        of_original = Trial(kernel.default_configuration, original, tuple(w.name for w in kernel.tuning_workloads), original)
        return Duty(
            device=device,
            info=context.info,
            toolchain=toolchain_of(context.pool, context.info),
            place=place_of(order.device),
            weights={w.name: w.weight for w in kernel.tuning_workloads},
            launch_deadline_s=first.launch_deadline_s,
            of_original=shipper.ship(of_original),
            environment=environment_of_run(),
            shares_machine=place.shares_machine,
        )

    context.emit(PreparationStarted("devices of the cluster"))
    stations = cluster.stations(cluster.places(order.device), duty, pack(workloads), context.emit)
    stack.callback(stations.close)
    for name, problem in stations.left_out.items():
        context.emit(Warned(f"{name} does not take part: {problem}"))
    for name, times in stations.slow().items():
        context.emit(Warned(f"on {name} the original takes {times:.2f} times as long as on others; ratios there still count"))
    if not stations.seats:
        context.emit(Warned("no device of the cluster takes part: the run continues on its own device"))
    return tuple(stations.seats)


def _bench(context: RunContext, device: str, workloads: Sequence[PreparedWorkload]) -> Bench:
    cores = divide_cores()
    return Bench(
        device,
        workloads,
        compute_units=cores.measuring_units,
        cores=cores.measuring,
        scrubber=make_scrubber(context.pool, context.info, cores.measuring_units),
    )
