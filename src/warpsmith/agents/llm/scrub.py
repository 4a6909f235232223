"""Scrubs text for models and the record: no keys, no local paths, bounded length."""

from __future__ import annotations

import re

from warpsmith.settings import secrets

# An absolute path of two or more parts; `a/b` is a division and `//` a comment.
_PATH = re.compile(r"(?<![\w./)\]])(?:[A-Za-z]:)?(?:[/\\](?=[\w.@+~-]))(?:[\w.@+~-]+[/\\])+([\w.@+~-]*)")
_HIDDEN = "[hidden]"


def sound(text: str) -> str:
    """Text that can be written down: halves of characters, which JSON can say and UTF-8 cannot, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def without_secrets(text: str) -> str:
    for secret in secrets():
        text = text.replace(secret, _HIDDEN)
    return text


def without_paths(text: str) -> str:
    """Absolute paths as the file's name alone: a compiler's message still says which file and line it means."""
    return _PATH.sub(lambda found: found[1] or "…", text)


def cut(text: str, most: int) -> str:
    """The text, or its beginning and its end with how much was left out between: errors end with their point."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[-tail:]}"


def presentable(text: str, most: int) -> str:
    """What goes back to a model of a compiler's or a server's words."""
    return cut(without_paths(without_secrets(sound(text))), most)
