"""A terminal's screen as a picture: `tmux capture-pane -e -p | python docs/pictures/to_svg.py TITLE > demo.svg`."""

from __future__ import annotations

import io
import re
import sys

from rich.console import Console
from rich.text import Text

lines = sys.stdin.read().rstrip().splitlines()
console = Console(record=True, width=max(len(Text.from_ansi(line)) for line in lines), file=io.StringIO(), force_terminal=True)
for line in lines:
    console.print(Text.from_ansi(line), soft_wrap=True)
# The picture must not fetch anything: any monospaced font will do, since every run of text has its length written down.
sys.stdout.write(re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title=sys.argv[1]), flags=re.DOTALL))
