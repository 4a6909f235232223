"""The command line: one file per command, rendering apart. Data on stdout, words and progress on stderr."""

from __future__ import annotations

import sys


def main() -> None:
    """The `warpsmith` command. Exit codes: 0 done, 1 nothing valid found, 2 bad input, 3 environment, 130 interrupted."""
    from warpsmith.cli.app import app  # noqa: PLC0415 - after this function's own cheap start
    from warpsmith.core.errors import WarpsmithError  # noqa: PLC0415

    try:
        app()
    except WarpsmithError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("stopped; everything measured so far is kept", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    except BrokenPipeError:
        # The reader (`| head`) left: not an error, but Python would complain when it flushes stdout.
        sys.stderr.close()
        sys.exit(0)
