"""The part that needs a GPU: every call of the driver against the bindings' own signatures, and what is said without one."""

from __future__ import annotations

import inspect
import re
import sys

import pytest

from binding_calls import calls_of
from warpsmith.core.errors import InputError, UnavailableError
from warpsmith.devices.cuda import CudaDevice, api, driver, gpu, nvml
from warpsmith.devices.registry import load_device


@pytest.mark.parametrize(("name", "count"), sorted({*calls_of(api), *calls_of(gpu)}))
def test_a_driver_call_has_the_arguments_that_the_bindings_take(name: str, count: int) -> None:
    bindings = pytest.importorskip("cuda.bindings.driver")
    signature = re.match(rf"{name}\((.*)\)", getattr(bindings, name).__doc__)
    assert signature is not None
    assert len([part for part in signature[1].split(",") if part.strip()]) == count


def test_the_attributes_that_are_asked_for_exist() -> None:
    bindings = pytest.importorskip("cuda.bindings.driver")
    for name in re.findall(r'_attribute\("(\w+)"\)', inspect.getsource(gpu)):
        assert hasattr(bindings.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"), name
    assert hasattr(bindings.CUfunction_attribute, "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES")


def test_readings_use_what_the_management_library_has() -> None:
    bindings = pytest.importorskip("cuda.bindings.nvml")
    for name, parameters in re.findall(r"nvml\.(device_\w+|init_v2)\(([^)]*)\)", inspect.getsource(nvml)):
        signature = re.match(rf"{name}\((.*?)\)", getattr(bindings, name).__doc__.strip())
        assert signature is not None, name
        assert signature[1].count(",") == parameters.count(","), name
    mask = int(bindings.ClocksEventReasons.EVENT_REASON_GPU_IDLE | bindings.ClocksEventReasons.EVENT_REASON_SW_POWER_CAP)
    assert nvml._reasons(bindings, mask | 64) == ("sw power cap", "hw thermal slowdown")


def test_without_the_management_library_there_are_no_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    assert nvml._library.__wrapped__() is None


def test_a_management_library_that_is_older_than_the_bindings_gives_no_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    bindings = pytest.importorskip("cuda.bindings.nvml")  # without a library every call raises what a missing function does
    monkeypatch.setattr(nvml, "_library", lambda: bindings)
    assert nvml.read("0000:01:00.0") is None


def test_a_target_describes_itself_and_cannot_be_opened() -> None:
    device = load_device("cuda:sm_90")
    info = device.describe()
    assert info.limits.shared_bytes_per_block == 227 * 1024
    assert info.limits.static_shared_bytes_per_block == 48 * 1024
    assert set(info.versions) == {"nvrtc", "bindings", "headers"}
    with pytest.raises(UnavailableError, match="cuda:sm_90 is a target to compile for, not a GPU"):
        device.open()


def test_a_target_that_nvrtc_no_longer_has() -> None:
    with pytest.raises(UnavailableError, match=r"NVRTC .* does not compile for sm_35"):
        CudaDevice("sm_35").describe()
    with pytest.raises(InputError, match="'fermi' is not an NVIDIA target"):
        CudaDevice("fermi")


def test_without_the_wheels_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(UnavailableError, match="no NVRTC") as caught:
        CudaDevice("sm_90").describe()
    assert caught.value.hint == "pip install 'warpsmith[cuda]'"
    with pytest.raises(UnavailableError, match="no CUDA bindings"):
        driver.driver.__wrapped__()


def test_without_a_driver_it_says_so_and_how_to_compile_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    bindings = pytest.importorskip("cuda.bindings.driver")

    def missing(_flags: int) -> None:
        raise RuntimeError("libcuda.so: cannot open shared object file")

    monkeypatch.setattr(bindings, "cuInit", missing)
    with pytest.raises(UnavailableError, match="no NVIDIA driver") as caught:
        driver.driver.__wrapped__()
    assert "cuda:sm_90" in (caught.value.hint or "")
