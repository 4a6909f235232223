"""Every call of the HIP runtime against the bindings' own signatures, where those are installed: they import without ROCm."""

from __future__ import annotations

import re
from importlib import metadata

import pytest

from binding_calls import calls_of
from warpsmith.core.errors import UnavailableError
from warpsmith.devices.hip import api, gpu, runtime


def test_calls_and_errors_are_those_of_the_bindings() -> None:
    bindings = pytest.importorskip("rocm.bindings.hip")  # what hip-python passes on as `hip.hip`
    for name, count in sorted({*calls_of(api), *calls_of(gpu)}):
        signature = re.match(rf"{name}\((.*?)\)", getattr(bindings, name).__doc__.strip())
        assert signature is not None, name
        assert len([part for part in signature[1].split(",") if part.strip()]) == count, name
    assert {error.name for error in bindings.hipError_t} >= runtime.FATAL


def test_bindings_of_an_older_form_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hip")
    monkeypatch.setattr(metadata, "version", lambda _name: "7.2.2.562.43")
    with pytest.raises(UnavailableError, match=r"hip-python 7\.2\.2\.562\.43 is too old") as caught:
        runtime.runtime.__wrapped__()
    assert caught.value.hint == "pip install 'hip-python>=10'"
