"""`warpsmith mcp`: the server for coding agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def mcp(
    workspace: Annotated[
        Path | None,
        typer.Option("--workspace", metavar="DIR", help="Folder for templates and exports; default: WARPSMITH_HOME."),
    ] = None,
    http: Annotated[
        int | None,
        typer.Option("--http", metavar="PORT", min=0, max=65535, help="Serve HTTP on this port of 127.0.0.1; 0: any free port."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", help="File with the token that HTTP clients must send; created if missing."),
    ] = None,
    skill: Annotated[bool, typer.Option("--skill", help="Print SKILL.md, the workflow for an agent, and exit.")] = False,
    program: Annotated[
        bool, typer.Option("--program", help="Print program.md, for an agent that works unattended, and exit.")
    ] = False,
) -> None:
    """Serve coding agents over the Model Context Protocol: on stdin and stdout, or on a local port."""
    from warpsmith.core.errors import InputError, UnavailableError  # noqa: PLC0415

    if skill:
        from warpsmith.mcp.skill import skill_text  # noqa: PLC0415

        typer.echo(skill_text(), nl=False)
        return
    if program:
        from warpsmith.mcp.skill import program_text  # noqa: PLC0415

        typer.echo(program_text(), nl=False)
        return
    if token_file is not None and http is None:
        raise InputError("--token-file is for --http", hint="stdin and stdout need no token")
    try:
        from warpsmith.mcp.server import make_server  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UnavailableError(f"the server needs the package {error.name!r}", hint='pip install "warpsmith[mcp]"') from error
    server = make_server(workspace)
    if http is None:
        server.run("stdio")
        return
    from warpsmith.mcp.http import serve  # noqa: PLC0415

    serve(server, http, token_file)
