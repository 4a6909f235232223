"""Every call of the HIP runtime against the bindings' own signatures, where those are installed: they import without ROCm."""

from __future__ import annotations

import re

import pytest

from binding_calls import calls_of
from warpsmith.devices.hip import api, gpu, runtime


def test_calls_and_errors_are_those_of_the_bindings() -> None:
    bindings = pytest.importorskip("rocm.bindings.hip")  # what hip-python passes on as `hip.hip`
    for name, count in sorted({*calls_of(api), *calls_of(gpu)}):
        signature = re.match(rf"{name}\((.*?)\)", getattr(bindings, name).__doc__.strip())
        assert signature is not None, name
        assert len([part for part in signature[1].split(",") if part.strip()]) == count, name
    assert {error.name for error in bindings.hipError_t} >= runtime.FATAL
