"""What of the owner's environment reaches a worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.isolation.environment import scrubbed_environment


def test_which_gpus_there_are_is_the_same_for_a_worker_and_no_key_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {
        "CUDA_VISIBLE_DEVICES": "1",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "HSA_OVERRIDE_GFX_VERSION": "11.0.0",
        "ROCM_HOME": "/opt/rocm",
    }
    for name, value in {**chosen, "OPENAI_API_KEY": "secret"}.items():
        monkeypatch.setenv(name, value)
    seen = scrubbed_environment({}, Path("/scratch"))
    assert chosen.items() <= seen.items()
    assert "OPENAI_API_KEY" not in seen
