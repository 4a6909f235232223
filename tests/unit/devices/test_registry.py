from __future__ import annotations

from importlib import metadata

import pytest

from warpsmith.core.errors import InputError, UnavailableError
from warpsmith.devices import registry
from warpsmith.devices.registry import device_names, load_device


def test_devices_are_found_by_entry_point() -> None:
    assert {"cpu", "opencl"} <= set(device_names())
    assert load_device("cpu").name == "cpu"
    assert load_device("opencl:1").name == "opencl:1"


@pytest.mark.parametrize(
    ("name", "hint"), [("cpus", "did you mean 'cpu'"), ("quantum", "devices: .*cpu.*opencl"), ("nope", "devices: .*cpu")]
)
def test_an_unknown_device_is_answered_with_what_there_is(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"no device named '{name}'") as error:
        load_device(name)
    assert error.match(hint)


def test_a_device_without_choices_takes_no_selector() -> None:
    with pytest.raises(InputError, match="'cpu' has nothing to select"):
        load_device("cpu:1")


def test_a_device_that_cannot_be_imported_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = metadata.EntryPoint("broken", "warpsmith.no_such_module:Device", "warpsmith.devices")
    monkeypatch.setattr(registry, "plugins", lambda _group: {"broken": broken})
    with pytest.raises(UnavailableError, match=r"'broken' cannot be loaded: No module named 'warpsmith.no_such_module'"):
        load_device("broken")
