"""The recorded conversation that ships with the matmul example: replayed on smaller shapes, without a key."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[2] / "examples" / "matmul"


def test_the_shipped_conversation_tunes_the_kernel_again(
    as_json: Callable[..., Any], warpsmith: Callable[..., Any], environment: dict[str, str], tmp_path: Path
):
    folder = tmp_path / "matmul"
    shutil.copytree(EXAMPLE, folder)
    toml = (folder / "kernel.toml").read_text()
    small = re.sub(r"(?m)^(lora-|decode).*\n", "", toml).replace("m = 512, n = 512, k = 128", "m = 65, n = 128, k = 64")
    (folder / "kernel.toml").write_text(small)
    for key in [name for name in environment if name.endswith("_API_KEY")]:
        del environment[key]
    environment.update(WARPSMITH_CONFINEMENT="best-effort", WARPSMITH_RACECHECK="on")
    agent = f"replay:{folder / 'conversation.jsonl'},fallback=none"
    result = as_json("tune", folder, "--agent", agent, "--evaluations", "3", "--rounds", "1", "--seed", "5")
    assert {"FORM", "BLOCK", "ROWS"} <= result["general"]["config"].keys()
    assert sum(result["evaluations"].values()) == 2  # of three: two trials count as half of one, and less than one is left
    assert result["model"]["tokens"] > 10_000

    book = as_json("show", "last", "--transcript")["transcript"]["messages"]
    said = [message["text"] for message in book if message["kind"] == "decision"]
    assert any("no model is asked; what is told of kernel and device has other lines" in text for text in said)
    trials = [message["text"] for message in book if message["kind"] == "trial"]
    assert len(trials) == 2
    assert "shared memory 'a_tile'" in trials[1]  # its barrier is missing, here as there
    again = warpsmith("show", "last", "--conversation").stdout.splitlines()
    assert [line.partition('"asked"')[0] for line in again[1:]] == [
        '{"role": "tester", "round": 0, ',
        '{"role": "analyst", "round": 1, ',
    ]
