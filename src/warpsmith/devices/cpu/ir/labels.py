"""Names of blocks without quotes: what is inlined brings its own name along, and that of a lambda (`$_0`) is quoted.

Passes make new names of a block's by adding to it, which a closing quote would stand in the way of.
"""

from __future__ import annotations

import re

_LABEL = re.compile(r'^"([^"\n]+)":', re.MULTILINE)
_UNUSUAL = re.compile(r"[^\w.]")
_USE = re.compile(r'%"([^"\n]+)"')


def with_plain_labels(text: str) -> str:
    """The module with quoted labels renamed; no other name is touched."""
    labels = dict.fromkeys(_LABEL.findall(text))
    names = {label: f"{_UNUSUAL.sub('_', label)}.q{number}" for number, label in enumerate(labels)}
    if not names:
        return text
    text = _LABEL.sub(lambda match: f"{names[match[1]]}:", text)
    return _USE.sub(lambda match: f"%{names[match[1]]}" if match[1] in names else match[0], text)
