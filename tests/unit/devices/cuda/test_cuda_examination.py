"""What is found of a machine with an NVIDIA GPU before anything is launched: from files alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.devices.base import Finding, State
from warpsmith.devices.cuda.examination import examine, judged


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Freshly installed, as a cloud gives it out: used by nobody yet, counters kept for administrators."""
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
    monkeypatch.setenv("PATH", "")  # no nvidia-smi
    files = {
        "sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
        "sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n",
        "sys/bus/pci/devices/0000:00:00.0/vendor": "0x8086\n",
        "sys/bus/pci/devices/0000:00:00.0/class": "0x060000\n",
        "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n",
        "proc/driver/nvidia/params": "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n",
        "dev/nvidiactl": "",
        "dev/nvidia0": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.what: finding for finding in findings}


def test_a_fresh_machine_lacks_what_it_lacks(machine: Path) -> None:
    found = by_name(examine(machine))
    assert (found["GPU"].said, found["kernel module"].said) == ("1 of NVIDIA's on the PCI bus", "release 580.65.06")
    assert found["permissions"].state is State.OK
    assert found["uvm"].state is State.FAILED
    assert "nvidia-modprobe -c 0 -u" in (found["uvm"].remedy or "")
    assert "NVreg_RestrictProfilingToAdminUsers=0" in (found["counters"].remedy or "")
    assert all(finding.remedy for finding in found.values() if finding.state in {State.LACKING, State.FAILED})


def test_a_machine_without_the_kernel_module(machine: Path) -> None:
    (machine / "proc/driver/nvidia/version").unlink()
    found = by_name(examine(machine))
    assert found["kernel module"].state is State.FAILED
    assert "install NVIDIA's driver" in (found["kernel module"].remedy or "")


def test_a_server_that_workers_cannot_reach(machine: Path) -> None:
    (machine / "tmp/nvidia-mps").mkdir(parents=True)
    (machine / "tmp/nvidia-mps/control").touch()
    assert "nvidia-cuda-mps-control" in (by_name(examine(machine))["MPS"].remedy or "")


def test_a_jetsons_module_has_another_name(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvmap").touch()
    found = by_name(examine(tmp_path))
    assert (found["GPU"].state, found["kernel module"].state) == (State.OK, State.OK)
    assert "uvm" not in found


def test_a_machine_without_such_a_gpu_is_not_examined_further(tmp_path: Path) -> None:
    assert [finding.state for finding in examine(tmp_path)] == [State.ABSENT]


def test_what_nvidia_smi_says_is_judged() -> None:
    values = {"persistence_mode": "Disabled", "compute_mode": "Prohibited", "mig.mode.current": "Enabled"}
    found = {finding.what: finding.state for finding in judged(values)}
    assert found == {"persistence": State.LACKING, "compute mode": State.FAILED, "MIG": State.LACKING}
    assert {finding.what: finding.state for finding in judged({**values, "compute_mode": "Exclusive_Process"})} == {
        **found,
        "compute mode": State.LACKING,
    }
    values = {"persistence_mode": "Enabled", "compute_mode": "Default", "mig.mode.current": "[N/A]"}
    assert {finding.state for finding in judged(values)} == {State.OK}
