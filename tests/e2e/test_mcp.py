"""A real client on the other side of a real server process: the whole journey, from a kernel to files that can ship."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

# One thread a block: whatever does more at a time is faster, so there is a gain to be found in two evaluations.
SOURCE = """\
__global__ void scale(float* y, const float* x, int n) {
  const int i = blockIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
"""
TOML = """\
[kernel]
name   = "scale"
source = "scale.cu"
entry  = "scale"

[arguments]
y = { dtype = "f32", shape = ["n"], role = "out" }
x = { dtype = "f32", shape = ["n"], role = "in", init = "normal" }
n = { dtype = "i32", value = "n" }

[launch]
grid  = ["n"]
block = [1]

[workloads]
only = { n = 20000 }
"""
FORM = """\
__global__ void scale(float* y, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
"""
LAUNCH = {
    "grid": ["ceildiv(n, THREADS)"],
    "block": ["THREADS"],
    "parameters": [{"name": "THREADS", "values": [64, 256], "default": 256}],
}
# Its third way is wrong.
OWN = """\
#ifndef TWICE
#define TWICE 0
#endif
__global__ void scale(float* y, const float* x, int n) {
  const int i = blockIdx.x;
#if TWICE == 1
  if (i < n) y[i] = x[i] + x[i];
#elif TWICE == 2
  if (i < n) y[i] = x[i];
#else
  if (i < n) y[i] = 2.0f * x[i];
#endif
}
"""

Call = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    folder = tmp_path / "scale"
    folder.mkdir()
    (folder / "scale.cu").write_text(SOURCE)
    (folder / "kernel.toml").write_text(TOML)
    return str(folder)


def test_the_whole_journey(kernel: str, home: Path, tmp_path: Path) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "warpsmith", "mcp", "--workspace", str(tmp_path / "workspace")],
        env={"WARPSMITH_HOME": str(home), "WARPSMITH_CLAIM_PROCESSES": "2", "WARPSMITH_RACECHECK": "off"},
    )

    async def session(steps: Callable[[Call], Awaitable[Any]]) -> Any:
        async with Client(stdio_client(server)) as client:

            async def call(tool: str, **arguments: Any) -> dict[str, Any]:
                answer = await client.call_tool(tool, arguments)
                assert not answer.is_error, answer.content[0].text
                return answer.structured_content

            return await steps(call)

    job = asyncio.run(session(lambda call: _prepare(call, kernel)))
    # Another server, for the first one is gone: the job is not.
    config, exported = asyncio.run(session(lambda call: _finish(call, job)))
    assert all(Path(file).is_relative_to(tmp_path / "workspace") for file in exported["files"])
    manifest = json.loads(Path(exported["manifest_path"]).read_text())
    assert manifest["recheck"]["files"]["scale.cu"] == {"verified": True, "max_error": {"only": 0.0}, "same_tokens": True}
    assert manifest["general"]["block"] == [str(config["THREADS"])]
    text = Path(exported["files"][0]).read_text()
    assert "FORM" not in text.partition("\n\n")[2]
    assert "blockDim" in text


async def _prepare(call: Call, kernel: str) -> str:
    devices = (await call("list_devices"))["devices"]
    assert "cuda" in next(d for d in devices if d["device"] == "cpu")["languages"]
    assert (await call("inspect_kernel", kernel=kernel))["source"] == SOURCE
    assert (await call("check_kernel", kernel=kernel))["verified_on"] == ["only"]
    passes = (await call("list_passes", kernel=kernel))["passes"]
    assert all(p["applies"] or p["reason"] for p in passes)

    refused = await call("submit_form", kernel=kernel, source=FORM.replace("2.0f", "3.0f"), **LAUNCH)
    assert not refused["accepted"]
    assert "elements differ" in refused["problem"]
    refused = await call("submit_form", kernel=kernel, source=f"__device__ int launches;\n{FORM}", **LAUNCH)
    assert not refused["accepted"]
    assert "launches would outlive the launch" in refused["problem"]
    form = await call("submit_form", kernel=kernel, source=FORM, hypothesis="threads side by side", **LAUNCH)
    assert form["accepted"], form
    assert form["trial"]["speedup"] > 0
    assert form["trial"]["times_us"]["only"] > 0
    assert form["trial"]["compiler"]["vector_width"] >= 1

    own = await call(
        "submit_template",
        kernel=kernel,
        source=OWN,
        grid=["n"],
        block=["1"],
        parameters=[{"name": "TWICE", "values": [0, 1, 2], "default": 0}],
    )
    assert own["accepted"], own
    assert own["template"]["certificate"] == "same tokens after preprocessing"
    assert "elements differ" in own["left_out"]["TWICE=2"]
    assert own["template"]["parameters"][0]["values"] == [0, 1]

    template = await call("make_template", kernel=kernel, passes=[], forms=[form["form"]])
    assert template["certificate"] == "same tokens after preprocessing"
    assert {p["name"]: p["values"] for p in template["parameters"]} == {"FORM": [0, 1], "THREADS": [64, 256]}
    why = await call("explain", kernel=template["kernel"], configuration={"FORM": 0, "THREADS": 64})
    assert not why["is_feasible"]
    assert "THREADS=64" in why["violations"][0]
    meant = await call("explain", kernel=template["kernel"], configuration={"THREADS": 64})
    assert (meant["is_feasible"], meant["configuration"]["FORM"]) == (True, 1)
    return (await call("start_tuning", kernel=template["kernel"], evaluations=3))["job"]


async def _finish(call: Call, job: str) -> tuple[dict[str, Any], dict[str, Any]]:
    while (status := await call("job_status", job=job))["state"] in {"starting", "running"}:  # noqa: ASYNC110 - it happens in another process
        await asyncio.sleep(0.2)
    assert status["state"] == "finished", status
    run = status["run"]
    assert status["evaluations"] == {"Measured": 3}
    assert [entry["job"] for entry in (await call("list_jobs"))["jobs"]] == [job]

    result = await call("get_result", run=run)
    general = result["uncertain"] or result["general"]  # two processes on a busy machine cannot be certain of every gain
    assert general["verified"]
    assert general["config"]["FORM"] == 1
    assert f"{general['speedup']:.3f}x the original" in result["summary"]
    assert result["report_path"].endswith("report.html")
    assert (await call("explain", run=run))["removed"]
    assert (await call("profile", run=run))["best"] == general["config"]

    exported = await call("export_result", run=run, force=True)
    assert exported["verified_as_written"]
    assert exported["speedup"] == general["speedup"]
    header = await call("export_result", run=run, format_name="header", force=True)
    assert header["files"][0].endswith(".tuned.h")
    assert header["folder"] != exported["folder"]
    return general["config"], exported


def test_http_is_for_those_who_have_the_token(environment: dict[str, str], tmp_path: Path) -> None:
    token_file = tmp_path / "token"
    command = [sys.executable, "-m", "warpsmith", "mcp", "--http", "0", "--token-file", str(token_file)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+/mcp", server.stderr.readline())[0]
            assert httpx2.post(address, json={}).status_code == 401
            headers = {"Authorization": f"Bearer {token_file.read_text().strip()}"}

            async def names() -> set[str]:
                async with (
                    httpx2.AsyncClient(headers=headers) as http,
                    Client(streamable_http_client(address, http_client=http)) as client,
                ):
                    return {tool.name for tool in (await client.list_tools()).tools}

            assert "start_tuning" in asyncio.run(names())
        finally:
            server.terminate()
            output, _ = server.communicate(timeout=300)
    assert output == ""  # words are for stderr
