"""What is wrong with a form is said in words that its author can act on, before anything is compiled."""

import pytest

from warpsmith.core.hardware import Limits
from warpsmith.refactor.base import Tunable
from warpsmith.refactor.drafting.checks import Faulty
from warpsmith.refactor.drafting.form_checks import check_form
from warpsmith.refactor.proposal import Proposal
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.load import load_kernel

LIMITS = Limits(1024, 1024, 512, 64, 32768, 32, 2)
KERNEL = untouched(load_kernel("silu_and_mul"))
SOURCE = KERNEL.source.read_text()
LANES = Tunable("LANES", (32, 64), 32, "")


@pytest.mark.parametrize(
    ("grid", "block", "tunables", "said"),
    [
        ("tokns", "32", (), r"unknown name 'tokns' in 'tokns'; launch and constraints know .*tokens, d\)"),
        ("tokens", "LANES", (), r"unknown name 'LANES'.*listed parameters"),
        ("tokens", "32", (LANES,), "LANES: listed as parameter, but named neither"),
        ("tokens - 100000", "LANES", (LANES,), "every extent must be at least 1"),
    ],
)
def test_a_launch_that_cannot_be_is_explained(grid, block, tunables, said):
    with pytest.raises(Faulty, match=said):
        check_form(Proposal(1, SOURCE, (grid,), (block,), tunables=tunables), KERNEL, LIMITS)


def test_the_entry_keeps_its_parameters():
    with pytest.raises(Faulty, match="it must take what the original takes"):
        check_form(Proposal(1, SOURCE.replace("int d)", "int* d)"), ("tokens",), ("32",)), KERNEL, LIMITS)
    check_form(Proposal(1, SOURCE, ("tokens",), ("32",)), KERNEL, LIMITS)
