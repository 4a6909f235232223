"""What another machine is sent of a run is what the run has."""

import pickle
from contextlib import ExitStack

import numpy as np
import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Geometry, Resources
from warpsmith.devices.base import Binary
from warpsmith.measure.bench import Candidate
from warpsmith.measure.statistics import Ratio
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.cluster.machines import parse_cluster
from warpsmith.tuning.cluster.parcel import pack, unpack
from warpsmith.tuning.cluster.shipping import Shipper, Unshipper
from warpsmith.tuning.evaluation.judge import Incumbent, Trial
from warpsmith.verify.prepared import PreparedWorkload

ONE = Geometry((1, 1, 1), (32, 1, 1), 0)


@pytest.fixture
def prepared():
    with ExitStack() as stack:
        kernel = load_kernel("softmax")
        workload = min(kernel.workloads, key=lambda w: np.prod(list(w.sizes.values())))
        yield stack.enter_context(PreparedWorkload.prepare(kernel, workload, 7, ONE))


def test_inputs_oracle_and_reference_are_the_same_there(prepared, tmp_path):
    parcel = pickle.loads(pickle.dumps(pack([prepared])))
    [there] = unpack(parcel, tmp_path, np.random.default_rng(1))
    with there:
        assert there.kernel.reference.file.parent == tmp_path
        draw = prepared.pool.fresh_draw()
        for of in (lambda w: w.inputs_of(draw), lambda w: w.expected_of(draw), lambda w: w.expected, lambda w: w.inputs):
            here, got = of(prepared), of(there)
            assert here.keys() == got.keys()
            assert all(np.array_equal(here[name], got[name]) for name in here)
        assert [place.nbytes for place in there.arena.layout] == [place.nbytes for place in prepared.arena.layout]
        for name, array in prepared.expected.items():
            there.arena.array(name)[...] = array
        assert there.verdict_after_launch().passed
        there.arena.array(next(iter(prepared.expected)))[...] = 3
        assert not there.verdict_after_launch().passed


def test_each_machine_draws_inputs_of_its_own(prepared, tmp_path):
    parcel = pack([prepared])
    pair = [unpack(parcel, tmp_path, np.random.default_rng(seed))[0] for seed in (1, 2)]
    assert pair[0].pool.fresh_draw() != pair[1].pool.fresh_draw()
    for workload in pair:
        workload.close()


def test_binaries_travel_once_whoever_has_them():
    def candidate(name: str, code: bytes) -> Candidate:
        binaries = {w: Binary(code, "k", Resources(), {"a": 1}) for w in ("small", "large")}
        return Candidate(name, binaries, dict.fromkeys(binaries, ONE), dict.fromkeys(binaries, (b"\x01", None)))

    original, best, new = candidate("original", b"one"), candidate("best", b"two"), candidate("new", b"three")
    ratio = {"small": Ratio(0.5, 0.4, 0.6), "large": Ratio(0.5, 0.4, 0.6)}
    incumbent, baseline = Incumbent(best, ratio, 0.5), Incumbent(original, ratio, 1.0)
    trial = Trial(Configuration.of({"A": 1}), new, ("small",), original, incumbent, baseline)
    put: list[bytes] = []
    fetched: list[int] = []

    def keep(code: bytes) -> int:
        put.append(code)
        return len(put) - 1

    def get(where: int) -> bytes:
        fetched.append(where)
        return put[where]

    shipper, there = Shipper(keep), Unshipper(get)
    for _ in range(2):
        shipped = pickle.dumps(shipper.ship(trial))
        assert b"three" not in shipped, "codes are not in it"
        assert there.unship(pickle.loads(shipped)) == trial
    assert sorted(put) == [b"one", b"three", b"two"]
    assert sorted(fetched) == [0, 1, 2]


@pytest.mark.parametrize("text", ["ray", "ray://head:10001"])
def test_a_cluster_is_named(text):
    assert parse_cluster(text) == text


@pytest.mark.parametrize("text", ["Ray", "ray://head", "slurm", "-3", "1.5"])
def test_what_is_no_cluster_is_a_mistake(text):
    with pytest.raises(InputError, match="invalid --workers"):
        parse_cluster(text)
