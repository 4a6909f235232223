"""Assembles the server: tools and error handling. Transport, schemas and threads are the protocol library's."""

from __future__ import annotations

import atexit
import difflib
import functools
import inspect
import sqlite3
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, Tool, ToolAnnotations
from pydantic import BaseModel

from warpsmith.core.errors import InputError, Location, WarpsmithError
from warpsmith.mcp.calls import answered
from warpsmith.mcp.jobs import JobRegister
from warpsmith.mcp.labs import Labs
from warpsmith.mcp.schemas import slim_input
from warpsmith.mcp.skill import program_text, skill_text
from warpsmith.mcp.tools.kernels import KernelTools
from warpsmith.mcp.tools.runs import RunTools
from warpsmith.mcp.tools.templates import TemplateTools
from warpsmith.mcp.tools.tuning import TuningTools
from warpsmith.mcp.wording import in_tools
from warpsmith.mcp.workspace import Workspace
from warpsmith.record.faults import explained
from warpsmith.settings import read_settings

Arguments = ParamSpec("Arguments")
Reply = TypeVar("Reply")

_INSTRUCTIONS = (
    "Tunes GPU kernels: refactors them into templates, searches, verifies every candidate and measures every claim."
    " Work in this order: draft_kernel where there is no kernel.toml yet;"
    " check_kernel and inspect_kernel; list_passes, forms of your own by submit_form, make_template;"
    " start_tuning and job_status; get_result, explain and profile; export_result."
    " Report only what get_result says, with its interval. The resource warpsmith://skill has the whole workflow."
)


def make_server(workspace: Path | None) -> MCPServer[Any]:
    """`workspace` is where templates, forms and exports go; a folder in Warpsmith's home when none is named."""
    settings = read_settings()
    if workspace is not None and workspace.exists() and not workspace.is_dir():
        raise InputError("the workspace must be a folder", location=Location(workspace))
    space = Workspace((workspace or settings.home / "workspace").expanduser().resolve())
    server = StrictServer("warpsmith", instructions=_INSTRUCTIONS, version=version("warpsmith"), log_level="WARNING")
    labs = Labs(settings.binary_cache)
    atexit.register(labs.close)
    kernels, templates = KernelTools(space, labs), TemplateTools(space, labs)
    tuning = TuningTools(space, settings, JobRegister(settings.home / "jobs"))
    runs = RunTools(space, settings)
    reading: tuple[Callable[..., BaseModel], ...] = (
        kernels.list_devices,
        kernels.draft_kernel,
        kernels.inspect_kernel,
        kernels.check_kernel,
        kernels.list_passes,
        tuning.job_status,
        tuning.list_jobs,
        runs.get_result,
        runs.explain,
        runs.profile,
    )
    writing: tuple[Callable[..., BaseModel], ...] = (
        templates.make_template,
        templates.submit_form,
        templates.submit_template,
        tuning.start_tuning,
        tuning.resume_tuning,
        tuning.stop_job,
        runs.export_result,
    )
    for tool in reading:
        about = inspect.getdoc(tool)  # without the indentation of the source
        server.add_tool(_told(tool), description=about, annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
    for tool in writing:
        about = inspect.getdoc(tool)
        server.add_tool(
            _told(tool), description=about, annotations=ToolAnnotations(destructive_hint=False, open_world_hint=False)
        )
    server.resource("warpsmith://skill", name="skill", mime_type="text/markdown")(skill_text)
    server.resource("warpsmith://program", name="program", mime_type="text/markdown")(program_text)
    return server


class StrictServer(MCPServer[Any]):
    """Refuses arguments that a tool does not know: left out in silence, a misspelt one would be taken for heeded."""

    async def list_tools(self) -> list[Tool]:
        tools = await super().list_tools()
        for tool in tools:
            tool.input_schema = slim_input(tool.input_schema)
            tool.output_schema = {"type": "object"}
        return tools

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        tool = next((tool for tool in await self.list_tools() if tool.name == name), None)
        known = list(tool.input_schema.get("properties", ())) if tool is not None else list(arguments)
        for argument in arguments:
            if argument not in known:
                near = difflib.get_close_matches(argument, known, n=1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise ToolError(f"{name} has no argument {argument[:60]!r}\nhint: {hint}it has {', '.join(known) or 'none'}")
        return await answered(name, context, functools.partial(super().call_tool, name, arguments, context))


def _told(tool: Callable[Arguments, Reply]) -> Callable[Arguments, Reply]:
    """An error that has an explanation reaches the client with it: fact, value, hint. Others are told as a failure only."""

    @functools.wraps(tool)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Reply:
        try:
            return tool(*arguments, **named)
        except (WarpsmithError, OSError, sqlite3.Error) as error:
            raise ToolError(in_tools(str(explained(error, read_settings().database)))) from error

    return call
