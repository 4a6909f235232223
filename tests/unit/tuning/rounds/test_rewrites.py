"""Rewrites as candidates: what is compiled for one, and why one is not launched."""

import json
from dataclasses import asdict, replace

import pytest

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Limits
from warpsmith.refactor.base import Rule, Tunable
from warpsmith.refactor.proposal import Proposal
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.order import Mode, Order
from warpsmith.tuning.rounds.rewrites import Rewrites, rewrite_configuration

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
        ({"rules": (Rule("d % 7 == 0", "sevens"),)}, "sevens"),
        ({"source": "struct S { S(); };\nS s;\n"}, "code for the host"),
        ({"source": "__device__ int launches = 0;\n"}, "launches"),
        ({"source": '#include "/etc/passwd"\n'}, "/etc/passwd"),
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


def test_a_rewrite_is_not_tried_on_sizes_that_its_own_rules_forbid():
    found = rewrites(rules=(Rule("d % 4 == 0", "no tail"),))
    assert rewrite_configuration(1) in found
    assert found.allows({**LIMITS.names(), "REWRITE": 1, "tokens": 7, "d": 1024})
    assert not found.allows({**LIMITS.names(), "REWRITE": 1, "tokens": 7, "d": 1022})
    assert found.allows({**LIMITS.names(), "REWRITE": 0, "tokens": 7, "d": 1022}), "the original has none"


def test_what_our_own_passes_made_may_ask_for_the_compiler():
    source = "#ifdef __clang__\n#endif\n"
    assert rewrites(source=source).explain(rewrite_configuration(1))
    assert not rewrites(source=source, by_passes=True).explain(rewrite_configuration(1))
    kept = Proposal(1, source, ("1",), ("1",), rules=(Rule("d > 1", ""),), by_passes=True)
    assert Proposal.from_record(json.loads(json.dumps(asdict(kept)))) == kept


def test_a_target_has_a_say_and_its_own_limits():
    small = replace(LIMITS, max_threads_per_block=64, max_block_x=64)
    found = Rewrites(KERNEL, LIMITS, {"small": small})
    found.add(Proposal(1, "// mine", ("tokens",), ("128",)))
    found.add(Proposal(2, "// mine", ("tokens",), ("max_threads_per_block / 16",)))
    [violation] = found.explain(rewrite_configuration(1))
    assert "small" in str(violation)
    assert found.explain(rewrite_configuration(2)) == []
    [workload, *_] = KERNEL.workloads
    there = found.requests(small).of(rewrite_configuration(2), [workload])[workload.name]
    assert there.geometry.block == (4, 1, 1)


def test_what_goes_with_direct_mode():
    Order(KERNEL, mode=Mode.DIRECT, agent="rules", also_compile=("sm_90",))
    with pytest.raises(InputError, match="--warm"):
        Order(KERNEL, mode=Mode.DIRECT, agent="rules", warm=(None,))


def test_direct_mode_needs_somebody_who_rewrites():
    with pytest.raises(InputError, match="needs an agent"):
        Order(KERNEL, mode=Mode.DIRECT)
