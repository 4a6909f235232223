"""What is said where the CPU runtime is not, or cannot be, installed."""

from __future__ import annotations

import platform

import pytest

from warpsmith.core.errors import UnavailableError
from warpsmith.devices._clruntime import loader


@pytest.mark.parametrize(
    ("system", "machine", "said", "hint"),
    [
        ("Linux", "x86_64", "the wheel intel-opencl-rt is not installed", "pip install intel-opencl-rt"),
        (
            "Linux",
            "aarch64",
            "Linux on x86-64 only; this is Linux on aarch64",
            "work here: init, extract, check, analyze --target",
        ),
        ("Darwin", "arm64", "this is Darwin on arm64", "work in a Linux container: init, extract"),
    ],
)
def test_a_missing_runtime_names_what_works_on_this_machine(monkeypatch, system: str, machine: str, said: str, hint: str):
    monkeypatch.setattr(loader, "cpu_runtime_library", lambda: None)
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(UnavailableError) as caught:
        loader.load_cpu_runtime()
    assert said in caught.value.message
    assert hint in (caught.value.hint or "")
