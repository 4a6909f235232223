"""Which cores measure and which compile."""

import os

import pytest

from warpsmith.core.errors import InputError
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.evaluation.cores import divide_cores
from warpsmith.tuning.order import Order


@pytest.mark.parametrize(("there", "workers", "compiling", "compilers"), [
    (1, None, None, 1), (1, 3, None, 3), (2, None, 1, 1), (2, 3, 1, 3), (16, None, 4, 4), (16, 2, 4, 2), (64, None, 4, 4),
])  # fmt: skip
def test_workers_share_the_compiling_cores(
    monkeypatch: pytest.MonkeyPatch, there: int, workers: int | None, compiling: int | None, compilers: int
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(there)))
    cores = divide_cores(workers)
    assert cores.compilers == compilers
    assert cores.measuring == divide_cores().measuring
    if compiling is None:
        assert cores.compiling is None
    else:
        assert cores.compiling is not None
        assert cores.measuring is not None
        assert len(cores.compiling) == compiling
        assert not cores.compiling & cores.measuring


def test_none_at_all_is_refused():
    with pytest.raises(InputError, match="at least 1 compile worker, not 0"):
        Order(load_kernel("transpose"), workers=0)
