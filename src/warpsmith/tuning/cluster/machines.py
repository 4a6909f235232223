"""A run's other machines, on Ray: which devices of the cluster take part, each behind a `RaySeat`.

Ray places the processes, carries what is sent, and says who is lost; a process that was lost it starts anew, where there is room
for it. What runs in them is `station.Station`.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from warpsmith.core.errors import InputError, UnavailableError
from warpsmith.tuning.cluster.parcel import Parcel
from warpsmith.tuning.cluster.shipping import Shipped, Shipper
from warpsmith.tuning.cluster.station import Duty, Stand, Station
from warpsmith.tuning.evaluation.judge import Judgement, Trial
from warpsmith.tuning.evaluation.seats import SeatLost
from warpsmith.tuning.events import Emit, EvaluationAdvanced, Step

SHARED = "warpsmith"
"""The resource of nodes that say themselves how many devices without a GPU's number they offer."""

_GPUS = frozenset({"cuda", "hip"})
_READY_S = 300.0  # until a device is open, with its inputs there
_ALIVE_S = 60.0
_SLOW = 1.25  # times as long as on half of the others
_FEWEST_TO_COMPARE = 3
_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Place:
    """Where a station may be: options for Ray, and how it is called."""

    name: str
    options: Mapping[str, Any]
    shares_machine: bool


class RayCluster:
    """Joined for as long as it is open. Without an address, the cluster that there is, or one of this machine alone."""

    def __init__(self, address: str | None) -> None:
        try:
            import ray  # noqa: PLC0415 - an extra
        except ImportError:
            raise UnavailableError("Ray is not installed", hint="pip install 'warpsmith[ray]'") from None
        self._ray = ray
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            self._join(address)

    def places(self, device: str) -> list[Place]:
        """One for each device of that kind; whether it is like the run's is seen when it is there."""
        base = device.partition(":")[0]
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        found = []
        for node in nodes:
            there, name = node["Resources"], node["NodeManagerHostname"]
            pinned = self._pinned(node["NodeID"])
            if base in _GPUS:
                gpus = range(int(there.get("GPU", 0)))
                # Not pinned: one that is lost may come back wherever a GPU is free.
                found += [Place(f"{name} GPU {gpu}", {"num_gpus": 1, "num_cpus": 1}, shares_machine=False) for gpu in gpus]
            elif SHARED in there:
                each = {"resources": {SHARED: 1}, "num_cpus": 0, **pinned}
                found += [Place(f"{name} device {k}", each, shares_machine=True) for k in range(int(there[SHARED]))]
            else:
                whole = {"num_cpus": max(1, int(there.get("CPU", 1))), **pinned}
                found.append(Place(name, whole, shares_machine=False))
        return found

    def close(self) -> None:
        if self._is_ours:
            self._ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stations(self, places: Sequence[Place], duty: Callable[[Place, Shipper], Duty], parcel: Parcel, emit: Emit) -> Stations:
        return Stations(self._ray, places, duty, parcel, emit)

    def _join(self, address: str | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anybody
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            self._ray.init(address=address or "auto", **quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:
            if address is not None:
                hint = "`ray start --head` has to run there, with the same version of Ray and the same token (RAY_AUTH_TOKEN)"
                raise UnavailableError(f"no Ray cluster at {address}: {str(error).splitlines()[0]}", hint=hint) from None
            self._ray.init("local", include_dashboard=False, **quiet)

    def _pinned(self, node: str) -> dict[str, Any]:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415 - an extra

        return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False)}


def parse_cluster(text: str) -> str:
    """`ray` or `ray://HOST:PORT`, as it is recorded."""
    if text == "ray" or (text.startswith("ray://") and text.rpartition(":")[2].isdecimal()):
        return text
    raise InputError(f"invalid --workers {text!r}", hint="a number of compile processes, ray, or ray://HOST:PORT")


def join(cluster: str) -> RayCluster:
    return RayCluster(None if cluster == "ray" else cluster)


class Stations:
    """Processes on the cluster, and the seats that could be had of them."""

    def __init__(
        self,
        ray: Any,
        places: Sequence[Place],
        duty: Callable[[Place, Shipper], Duty],
        parcel: Parcel,
        emit: Emit,
    ) -> None:
        self._ray = ray
        self._shipper = Shipper(ray.put)
        self._stopped = False
        sent = ray.put(parcel)
        actor = ray.remote(Station)
        self._actors = {}
        for number, place in enumerate(places):
            options = {**place.options, "max_restarts": -1, "max_task_retries": 0}
            name = place.name
            self._actors[number, name] = actor.options(**options).remote(duty(place, self._shipper), sent, ray.get)
        self._emit = emit
        self.seats, self.left_out = self._ready()

    def close(self) -> None:
        for actor in self._actors.values():
            self._ray.kill(actor)

    def _ready(self) -> tuple[list[RaySeat], dict[str, str]]:
        """Those that can take part, and why the others cannot."""
        asked = {key: actor.stand.remote() for key, actor in self._actors.items()}
        self._ray.wait(list(asked.values()), num_returns=len(asked), timeout=_READY_S) if asked else None
        seats, left_out = [], {}
        for (number, name), ref in asked.items():
            actor = self._actors[number, name]
            try:
                stand: Stand = self._ray.get(ref, timeout=0.1)
            except (self._ray.exceptions.RayError, TimeoutError) as error:
                stand = Stand("", problem=f"not ready: {_first_line(error)}")
            if stand.problem is None:
                seats.append(RaySeat(self._ray, actor, name, self._shipper, stand, self._emit))
            else:
                left_out[name] = stand.problem
        return seats, left_out

    def slow(self) -> dict[str, float]:
        """Seats on which the original takes longer than on others, and how many times as long."""
        sums = {seat.name: sum((seat.stand.baseline_us or {}).values()) for seat in self.seats}
        if len(sums) < _FEWEST_TO_COMPARE:
            return {}
        middle = statistics.median(sums.values())
        return {name: taken / middle for name, taken in sums.items() if taken > _SLOW * middle}


class RaySeat:
    """Implements `tuning.evaluation.seats.Seat`."""

    def __init__(self, ray: Any, actor: Any, name: str, shipper: Shipper, stand: Stand, emit: Emit) -> None:
        self.name = name
        self.stand = stand
        self.longest_s = 0.0
        self._ray = ray
        self._actor = actor
        self._shipper = shipper
        self._emit = emit
        self._is_abandoned = False

    def judge(self, trial: Trial) -> Judgement:
        self._alive()
        self._emit(EvaluationAdvanced(trial.configuration, Step.VERIFYING, self.name))
        limit_s = max(_READY_S, 20 * self.longest_s)
        shipped: Shipped = self._shipper.ship(trial)
        began = time.monotonic()
        try:
            judgement: Judgement = self._ray.get(self._actor.judge.remote(shipped), timeout=limit_s)
        except self._ray.exceptions.GetTimeoutError:
            self._ray.kill(self._actor, no_restart=False)
            raise SeatLost(f"no answer within {limit_s:.0f} s") from None
        except self._ray.exceptions.RayTaskError:
            raise  # a mistake of ours
        except self._ray.exceptions.RayError as error:
            raise SeatLost(_first_line(error)) from None
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        return judgement

    def regain(self) -> bool:
        """Ray starts it anew, on another machine where this one is gone and it may be; only that of a node of its own cannot."""
        while not self._is_abandoned:
            try:
                stand: Stand = self._ray.get(self._actor.stand.remote(), timeout=_READY_S)
            except self._ray.exceptions.ActorUnavailableError:
                time.sleep(_POLL_S)
            except self._ray.exceptions.GetTimeoutError:
                continue  # it waits for room
            except self._ray.exceptions.RayError:
                return False
            else:
                self.stand = stand
                return stand.problem is None
        return False

    def abandon(self) -> None:
        self._is_abandoned = True
        self._ray.kill(self._actor)

    def _alive(self) -> None:
        """A device that was lost while it was idle costs nothing."""
        try:
            self._ray.get(self._actor.alive.remote(), timeout=_ALIVE_S)
        except self._ray.exceptions.RayError as error:
            raise SeatLost(_first_line(error), begun=False) from None


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
