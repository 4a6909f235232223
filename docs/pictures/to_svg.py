"""A terminal's screen as a picture: `tmux capture-pane -e -p | python docs/pictures/to_svg.py TITLE > demo.svg`."""

from __future__ import annotations

import io
import sys

from rich.console import Console
from rich.text import Text

lines = sys.stdin.read().rstrip().splitlines()
console = Console(record=True, width=max(len(Text.from_ansi(line)) for line in lines), file=io.StringIO(), force_terminal=True)
for line in lines:
    console.print(Text.from_ansi(line), soft_wrap=True)
sys.stdout.write(console.export_svg(title=sys.argv[1]))
