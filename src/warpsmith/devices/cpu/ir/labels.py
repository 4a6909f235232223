"""Renames quoted block labels: inlining names blocks after functions, and a lambda's name (`$_0`) is quoted.

Passes derive new names by appending to a block's name, which a closing quote prevents.
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
