"""The tools as a client sees them: names, schemas, descriptions, errors; and SKILL.md, which must speak of the same tools."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from pydantic import TypeAdapter, ValidationError

from warpsmith import api
from warpsmith.cli.app import app
from warpsmith.core.errors import InputError
from warpsmith.mcp import calls
from warpsmith.mcp.jobs import JobRegister
from warpsmith.mcp.replies import Draft
from warpsmith.mcp.server import make_server
from warpsmith.mcp.skill import program_text, skill_text
from warpsmith.mcp.tools.templates import Extents
from warpsmith.mcp.tools.tuning import TuningTools
from warpsmith.mcp.wording import in_tools
from warpsmith.record.store import RunHeader, Store
from warpsmith.settings import read_settings
from warpsmith.tuning.events import StageAdvanced


def asked(*calls: tuple[str, dict[str, Any]]) -> list[Any]:
    async def ask() -> list[Any]:
        async with Client(make_server(None)) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(ask())


@pytest.fixture(scope="module")
def tools() -> dict[str, Any]:
    return {tool.name: tool for tool in asyncio.run(make_server(None).list_tools())}


def test_the_skill_names_every_tool_and_no_other(tools) -> None:
    named = set(re.findall(r"`([a-z]+_[a-z_]+|profile|explain)`", skill_text())) - {"best_so_far"}
    assert named == set(tools)


def test_every_tool_says_when_to_use_it_and_has_typed_arguments_and_results(tools) -> None:
    for tool in tools.values():
        assert len(tool.description) > 60, tool.name
        assert tool.output_schema == {"type": "object"}, tool.name
        assert all("type" in p or "anyOf" in p for p in tool.input_schema["properties"].values()), tool.name


def test_the_program_names_tools_and_commands_that_there_are(tools) -> None:
    assert {"submit_form", "make_template", "start_tuning", "get_result"} <= set(re.findall(r"`([a-z]+_[a-z]+)`", program_text()))
    assert set(re.findall(r"`([a-z]+_[a-z]+)`", program_text())) <= set(tools)
    known = {command.name for command in app.registered_commands}
    assert set(re.findall(r"`warpsmith ([a-z]+)", program_text())) <= known
    assert len(program_text().split()) < 700, "one page"


def test_all_tools_together_take_little_of_a_context(tools) -> None:
    told = json.dumps([tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools.values()])
    assert len(told) < 16_500
    parameters = tools["submit_form"].input_schema["properties"]["parameters"]["items"]
    assert parameters["required"] == ["name", "values", "default"]  # definitions stand where they are used
    assert parameters["properties"]["default"] == {"type": "integer"}  # a property of that name is no keyword


def test_only_tools_that_change_nothing_are_marked_so(tools) -> None:
    reading = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
    assert not reading & {"make_template", "submit_form", "submit_template", "start_tuning", "stop_job", "export_result"}


def test_an_error_reaches_the_client_with_fact_value_and_hint(home) -> None:
    wrong, both, unknown, nowhere = asked(
        ("inspect_kernel", {"kernel": "no-such-kernel"}),
        ("explain", {}),
        ("job_status", {"job": "../../etc"}),
        ("start_tuning", {"kernel": "rope", "strategy": "luck"}),
    )
    assert all(answer.is_error for answer in (wrong, both, unknown, nowhere))
    assert "'no-such-kernel' is not a kernel\nhint: relative paths begin at " in wrong.content[0].text
    assert "either a run or a kernel" in both.content[0].text
    assert "no job '../../etc'" in unknown.content[0].text
    assert "luck" in nowhere.content[0].text
    assert not (home / "jobs").exists()  # what is wrong from the start leaves nothing behind


def test_a_kernel_is_told_with_lines_and_findings(home) -> None:
    [answer] = asked(("inspect_kernel", {"kernel": "fused_add_rmsnorm"}))
    found = answer.structured_content
    source = found["source"].split("\n")
    assert found["loops"]
    assert found["barriers"]
    assert all("sync" in source[place["line"] - 1] for place in found["barriers"])
    assert {place["what"].split()[1].rstrip(":") for place in found["accesses"]} & set(found["arguments"])
    assert any("line" in finding for finding in found["findings"])
    assert all(w["bytes_moved"] > 0 for w in found["workloads"])


def test_arguments_that_a_tool_does_not_know_are_refused(home, tools) -> None:
    [near, none, other] = asked(
        ("start_tuning", {"kernel": "rope", "evaluation": 3}),
        ("list_jobs", {"all": True}),
        ("job_status", {"job": "job-000000", "wait": 3}),
    )
    assert all(answer.is_error for answer in (near, none, other))
    assert "start_tuning has no argument 'evaluation'\nhint: did you mean 'evaluations'? it has kernel, evaluations" in (
        near.content[0].text
    )
    assert "list_jobs has no argument 'all'\nhint: it has none" in none.content[0].text
    assert "it has job" in other.content[0].text
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())


def test_a_home_that_cannot_be_made_is_told(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WARPSMITH_HOME", str(tmp_path / "file"))
    [answer] = asked(("start_tuning", {"kernel": "rope"}))
    assert answer.is_error
    assert str(tmp_path / "file") in answer.content[0].text


def test_a_job_that_is_stopped_before_its_run_began_is_stopped(home, workspace) -> None:
    register = JobRegister(home / "jobs", (sys.executable, "-c"))
    entry = register.start("k/kernel.toml", ["import time; time.sleep(60)"], evaluations=3, seconds=None)
    tuning = TuningTools(workspace, read_settings(), register)
    assert tuning.job_status(entry.job).state == "starting"
    answer = tuning.stop_job(entry.job)
    assert (answer.state, answer.run) == ("stopped", None)
    assert "before its run began" in answer.stage


def test_what_is_left_of_a_search_is_not_told_of_what_comes_after_it(home, workspace) -> None:
    settings = read_settings()
    with Store(settings.database) as store:
        run = store.begin(RunHeader("k", "k/kernel.toml", "f", "cpu", "none", "gp", 0, {}, {}))
    register = JobRegister(home / "jobs", (sys.executable, "-c"))
    tuning = TuningTools(workspace, settings, register)
    for line, is_told in (("search    1/9", True), ("claims    1 steps", False)):
        words = f"import sys, time; sys.stderr.write('run       {run}\\n{line}\\nend\\n'); sys.stderr.flush(); time.sleep(60)"
        entry = register.start("k/kernel.toml", [words], evaluations=None, seconds=100)
        while "end" not in register.log(entry):
            pass
        assert (tuning.job_status(entry.job).seconds_left is not None) is is_told
        tuning.stop_job(entry.job)


def test_a_draft_of_kernel_toml_comes_from_text_and_leads_on(home) -> None:
    source = "__global__ void scale(float* y, const float* x, int n) { int i = threadIdx.x; if (i < n) y[i] = 2 * x[i]; }\n"
    draft, none, wrong = asked(
        ("draft_kernel", {"source": source, "file_name": "scale.cu"}),
        ("draft_kernel", {"source": "int x;", "file_name": "scale.cu"}),
        ("draft_kernel", {"source": source, "file_name": "../scale.cu"}),
    )
    assert 'source = "scale.cu"' in draft.structured_content["kernel_toml"]
    assert "FILL IN" in draft.structured_content["kernel_toml"]
    assert "check_kernel" in draft.structured_content["next"]
    assert none.is_error
    assert "scale.cu: " in none.content[0].text
    assert "/tmp" not in none.content[0].text
    assert wrong.is_error


def test_answers_are_short_and_wrong_arguments_come_back_in_a_line_each(home) -> None:
    kernel, missing, wrong, long = asked(
        ("inspect_kernel", {"kernel": "transpose"}),
        ("inspect_kernel", {}),
        ("start_tuning", {"kernel": "rope", "evaluations": 0, "agent": "gpt"}),
        ("inspect_kernel", {"kernel": "a" * 100_000}),
    )
    assert "\n" not in kernel.content[0].text
    read = json.loads(kernel.content[0].text)
    assert read["source"] == kernel.structured_content["source"]
    assert kernel.structured_content["barriers"] or "barriers" not in read  # what is empty is left out
    assert missing.content[0].text == "the argument 'kernel' is missing"
    assert "evaluations: Input should be greater than or equal to 1; found 0" in wrong.content[0].text
    assert "http" not in wrong.content[0].text
    assert len(long.content[0].text) < 600


def test_a_call_that_takes_its_time_shows_signs_of_life_and_ends_when_it_is_cancelled(home, monkeypatch) -> None:
    monkeypatch.setattr(calls, "BEAT_S", 0.01)
    ended = threading.Event()
    server = make_server(None)

    def slow() -> Draft:
        """Takes steps until somebody cancels it."""
        try:
            while True:
                calls.advance(StageAdvanced(1, "unroll"))
        finally:
            ended.set()

    async def ask() -> None:
        server.add_tool(slow)
        told = anyio.Event()

        async def progress(done: float, total: float | None, message: str | None) -> None:
            if "slow: unroll" in (message or ""):
                told.set()

        async with Client(server) as client:
            with anyio.move_on_after(10) as limit:
                async with anyio.create_task_group() as group:
                    group.start_soon(lambda: client.call_tool("slow", {}, progress_callback=progress))
                    await told.wait()
                    group.cancel_scope.cancel()
            assert not limit.cancelled_caught
            assert await anyio.to_thread.run_sync(ended.wait, 10)

    asyncio.run(ask())


def test_grid_and_block_may_be_one_expression_or_numbers() -> None:
    adapter = TypeAdapter(Extents)
    assert adapter.validate_python("rows") == ("rows",)
    assert adapter.validate_python([256, "n"]) == ("256", "n")
    with pytest.raises(ValidationError):
        adapter.validate_python([1.5])


def test_descriptions_have_no_indentation_of_the_source(tools) -> None:
    assert not [name for name, tool in tools.items() if "\n  " in tool.description]


def test_an_empty_list_of_jobs_says_what_to_call(home) -> None:
    (answer,) = asked(("list_jobs", {}))
    assert "start_tuning" in answer.content[0].text


@pytest.mark.parametrize(
    ("words", "tools_words"),
    [
        ("hint: `warpsmith show` lists the runs", "hint: `list_jobs` lists the runs"),
        ("hint: --force exports it anyway", "hint: `force` exports it anyway"),
        ("`warpsmith resume k-1` finishes it", "`resume_tuning` with run='k-1' finishes it"),
        ("`warpsmith show k-1 --evaluations` says", "`explain` with run='k-1' says"),
        ("there are no runs yet: `warpsmith tune KERNEL` makes one", "there are no runs yet: `start_tuning` makes one"),
    ],
)
def test_errors_name_tools_where_the_command_line_has_commands(words: str, tools_words: str) -> None:
    assert in_tools(words) == tools_words


def test_a_client_reads_of_tools_and_of_a_wrong_format_first(home) -> None:
    (answer,) = asked(("get_result", {}))
    assert "start_tuning" in answer.content[0].text
    with pytest.raises(InputError, match="unknown export format 'elf'"):
        api.export_run("nothing", format_name="elf")
