"""Rewrites as candidates: what is compiled for one, and why one is not launched."""

import pytest

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Limits
from warpsmith.refactor.base import Tunable
from warpsmith.refactor.proposal import Proposal
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.order import Mode, Order
from warpsmith.tuning.rewrites import Rewrites, rewrite_configuration

KERNEL = untouched(load_kernel("silu_and_mul"))
LIMITS = Limits(1024, 1024, 512, 64, 32768, 32, 2)


def rewrites(**changes) -> Rewrites:
    found = Rewrites(KERNEL, LIMITS)
    found.add(Proposal(**{"number": 1, "source": "// mine", "grid": ("tokens",), "block": ("128",), **changes}))
    return found


def test_a_rewrite_brings_its_source_and_its_launch_and_zero_is_the_original():
    builder = rewrites(entry="other<float>").builder(None)
    [workload, *_] = KERNEL.workloads
    own = builder.requests.of(rewrite_configuration(1), [workload])[workload.name]
    plain = builder.requests.of(rewrite_configuration(0), [workload])[workload.name]
    assert (own.source, own.entry, own.geometry.block) == ("// mine", "other<float>", (128, 1, 1))
    assert plain.source == KERNEL.source.read_text()
    assert plain.entry == KERNEL.entry
    assert own.include_dirs == plain.include_dirs, "what the original includes a rewrite can include"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"block": ("2048",)}, "2048"),
        ({"grid": ("tokens *",)}, "tokens"),
        ({"block": ("nobody_knows",)}, "nobody_knows"),
        ({"tunables": (Tunable("VEC", (1, 4), 1, ""),)}, "leaves VEC open"),
    ],
)
def test_what_cannot_be_launched_says_why(changes, said):
    found = rewrites(**changes)
    [violation] = found.explain(rewrite_configuration(1))
    assert said in str(violation)
    assert rewrite_configuration(1) not in found
    assert rewrite_configuration(0) in found


def test_a_rewrite_is_not_tried_on_sizes_that_its_launch_does_not_allow():
    found = rewrites(block=("d / 64",))
    assert found.allows({**LIMITS.names(), "REWRITE": 1, "tokens": 7, "d": 1024})
    assert not found.allows({**LIMITS.names(), "REWRITE": 1, "tokens": 7, "d": 15})


def test_direct_mode_needs_somebody_who_rewrites():
    with pytest.raises(InputError, match="needs an agent"):
        Order(KERNEL, mode=Mode.DIRECT)
