"""Files with host code in them compile for GPUs as they are; what is wrong in the device's part keeps its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cpu_language import MIXED

from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import Binary, CompileError, CompileRequest, Device, ParameterType
from warpsmith.devices.registry import load_device

DEVICES = ("cuda:sm_90", "hip:gfx942")


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Device:
    return load_device(request.param)


def asked(source: str) -> CompileRequest:
    out = ParameterType("out", DType.F32, is_pointer=True)
    return CompileRequest(source, Path("kernel.cu"), Language.CUDA, "k", (out,), Geometry((1, 1, 1), (32, 1, 1)))


def compiled(device: Device, source: str) -> Binary:
    return device.compile(asked(source))


def test_a_file_with_host_code_compiles_as_it_is(device: Device) -> None:
    binary = compiled(device, MIXED)
    assert binary.resources.registers
    assert "main" in device.preprocess(asked(MIXED)), "certificates compare the whole file"


def test_errors_keep_their_line(device: Device) -> None:
    with pytest.raises(CompileError, match=r"kernel.cu:11: .*three"):
        compiled(device, MIXED.replace("return 2;", "return three();"))


def test_a_mistake_in_an_unmarked_function_is_not_hidden_by_taking_it_out(device: Device) -> None:
    source = "float half_of(float x) { return x * ; }\n__global__ void k(float* out) { out[0] = half_of(1.0f); }\n"
    with pytest.raises(CompileError, match=r"kernel.cu:1: expected"):
        compiled(device, source)


def test_a_missing_header_of_the_users_is_told(device: Device) -> None:
    with pytest.raises(CompileError, match=r"kernel.cu:1: .*mine\.h"):
        compiled(device, '#include "mine.h"\n__global__ void k(float* out) { out[0] = 1.0f; }\n')
