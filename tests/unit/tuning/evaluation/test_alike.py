"""Several devices for one run: how they are named, and which may search together."""

import pytest

from warpsmith import api
from warpsmith.core.errors import InputError
from warpsmith.tuning.evaluation.alike import parse_devices, require_alike
from warpsmith.tuning.order import Mode, Order


@pytest.mark.parametrize(
    ("text", "first", "others"),
    [("cpu", "cpu", ()), ("cuda:0,cuda:1", "cuda:0", ("cuda:1",)), ("hip, hip:2,hip:1", "hip", ("hip:2", "hip:1"))],
)
def test_the_first_is_the_runs_own(text: str, first: str, others: tuple[str, ...]):
    assert parse_devices(text) == (first, others)


@pytest.mark.parametrize(
    ("text", "problem"), [("cpu,cpu", "'cpu' is named twice"), ("cuda,cuda:1,cuda:0", "'cuda:0' is named twice")]
)
def test_nothing_is_measured_twice_at_once_on_one_device(text: str, problem: str):
    with pytest.raises(InputError, match=problem):
        parse_devices(text)


def test_a_comma_too_many_is_said():
    with pytest.raises(InputError, match="empty device name"):
        parse_devices("cuda:0,")


def test_devices_of_another_kind_do_not_share_a_search():
    with pytest.raises(InputError, match=r"'opencl' is not the same kind of device as 'cpu'.*OpenCL") as told:
        require_alike("cpu", api.describe_device("cpu"), ["opencl"])
    assert "--warm" in told.value.hint


def test_rewrites_come_one_after_the_other():
    with pytest.raises(InputError, match="one rewrite at a time"):
        Order(api.load_kernel("softmax"), agent="rules", mode=Mode.DIRECT, more_devices=("cuda:1",))
