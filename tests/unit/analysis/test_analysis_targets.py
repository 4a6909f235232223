"""What `--target` names, and the catalogue of GPUs with what a user adds to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.analysis.catalogue import load_catalogue
from warpsmith.analysis.targets import parse_target
from warpsmith.core.errors import InputError
from warpsmith.devices.registry import load_device

OWN = """
[our-card]
description        = "the card under the desk"
architecture       = "sm_86"
compute_units      = 28
bandwidth_gb_per_s = 360
sources            = { bandwidth = "its box" }
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WARPSMITH_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "device"), [("sm_90a", "cuda:sm_90a"), ("GFX942", "hip:gfx942"), ("cpu", "cpu"), ("cuda:sm_80", "cuda:sm_80")]
)
def test_architectures_and_devices(text: str, device: str) -> None:
    target = parse_target(text)
    assert (target.device, target.gpu) == (device, None)


def test_a_gpu_of_the_catalogue_has_its_own_number_of_compute_units() -> None:
    target = parse_target("h100-sxm")
    limits = load_device("cuda:sm_80").describe().limits
    assert target.device == "cuda:sm_90a"
    assert (limits.compute_units, target.limits(limits).compute_units) == (108, 132)


def test_the_beginning_of_a_name_is_the_first_of_a_family() -> None:
    assert parse_target("a100").name == "a100-sxm-80gb"
    assert parse_target("h100").name == "h100-sxm"


def test_every_figure_of_the_catalogue_has_its_source() -> None:
    for gpu in load_catalogue().values():
        assert {"compute_units", "bandwidth"} <= gpu.sources.keys(), gpu.name
        assert ("tflops" in gpu.sources) == bool(gpu.peaks), gpu.name
        assert parse_target(gpu.name).gpu == gpu


def test_users_add_their_own(home: Path) -> None:
    (home / "gpus.toml").write_text(OWN)
    target = parse_target("our-card")
    assert target.device == "cuda:sm_86"
    assert target.gpu is not None
    assert (target.gpu.compute_units, target.gpu.bandwidth_bytes_per_s) == (28, 360e9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[x", "not TOML"),
        (OWN.replace("compute_units      = 28\n", ""), r"compute_units: Field required"),
        (OWN.replace("= 360", "= -1"), "bandwidth_gb_per_s"),
    ],
)
def test_a_wrong_catalogue_is_bad_input(home: Path, text: str, message: str) -> None:
    (home / "gpus.toml").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        parse_target("our-card")
    assert caught.value.location is not None


def test_what_is_nothing_gets_a_hint() -> None:
    with pytest.raises(InputError, match="no target named 'h100-sx'") as caught:
        parse_target("h100-sx")
    assert caught.value.hint == "did you mean 'h100-sxm'?"
