"""What is missing is said, with what to install."""

from __future__ import annotations

import pytest

from warpsmith.core.errors import UnavailableError
from warpsmith.devices._clang import binary
from warpsmith.devices._clang.preprocess import begins
from warpsmith.devices._clruntime import loader
from warpsmith.devices._wheels import wheel_file
from warpsmith.devices.cpu.device import CpuDevice


def test_files_of_wheels_are_found_by_the_wheels_own_lists() -> None:
    found = wheel_file("numpy", "METADATA")
    assert found is not None
    assert found.is_file()
    assert wheel_file("numpy", "no such file") is None
    assert wheel_file("no-such-wheel", "METADATA") is None


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary, "wheel_file", lambda *_: None)
    binary.clang_binary.cache_clear()
    with pytest.raises(UnavailableError, match=r"ziglang is not installed\nhint: pip install ziglang"):
        binary.clang_binary()
    binary.clang_binary.cache_clear()


def test_a_device_without_a_compiler_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary, "wheel_file", lambda *_: None)
    binary.clang_binary.cache_clear()
    with pytest.raises(UnavailableError, match="no clang"):
        CpuDevice().describe()
    binary.clang_binary.cache_clear()


def test_names_of_folders_may_have_quotes() -> None:
    assert begins('/a"b\\c/k.cu') == '#line 1 "/a\\"b\\\\c/k.cu"\n'


def test_no_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "wheel_file", lambda *_: None)
    with pytest.raises(UnavailableError, match=r"intel-opencl-rt is not installed\nhint: pip install intel-opencl-rt"):
        loader.load_cpu_runtime()
