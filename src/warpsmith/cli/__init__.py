"""The command line: one file per command, rendering in separate files. Data on stdout, messages and progress on stderr."""

from __future__ import annotations

import os
import sys

_COMPLETING = "_WARPSMITH_COMPLETE"  # set by the shell's own completion, not by people


def main() -> None:
    """The `warpsmith` command. Exit codes: 0 done, 1 nothing valid found, 2 bad input, 3 environment, 128 + signal stopped."""
    from warpsmith.cli import ending  # noqa: PLC0415 - after this function's own cheap start

    arguments = sys.argv[1:]
    ending.write_what_the_terminal_can()
    try:
        ending.heed_signals(arguments)
        code = _call(list(arguments))  # which are used up there
        print(end="", flush=True)  # noqa: T201 - a full disk is told now, or after the last word
    except BaseException as error:  # noqa: BLE001 - the one place where all of them are told
        code = ending.as_exit_code(error, is_json="--json" in arguments)
    ending.discard_what_cannot_be_written()
    sys.exit(code)


def _call(arguments: list[str]) -> int:
    import typer  # noqa: PLC0415
    from typer.main import get_command  # noqa: PLC0415

    from warpsmith.cli.app import app  # noqa: PLC0415

    # Not `app()`: that turns a Ctrl-C and a reader who left into exit codes before anybody can say what became of the run.
    command = get_command(app)
    if _COMPLETING in os.environ:
        command.main(arguments, "warpsmith", complete_var=_COMPLETING)
    try:
        with command.make_context("warpsmith", arguments) as context:
            command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    return 0
