"""The context size of the model: from a setting, its server, or an error message."""

from __future__ import annotations

import json
import re
import urllib.request
from dataclasses import dataclass

from warpsmith.settings import model_context

ANSWER_ROOM = 4_000  # tokens that must be left for an answer
_PATIENCE_S = 3.0
_LEARNT = 0.7  # of what was too long, where the server does not say how much it holds
_FIELDS = ("max_model_len", "context_length", "loaded_context_length", "max_context_length", "n_ctx", "context_window")
_NUMBER = re.compile(r"\d[\d,_]{2,}")
_LARGEST_LISTING = 2_000_000


@dataclass(slots=True)
class Window:
    """`tokens` is None until something is known of it."""

    tokens: int | None = None

    def holds(self, question_tokens: int) -> bool:
        return self.tokens is None or question_tokens + min(ANSWER_ROOM, self.tokens // 4) <= self.tokens

    def learn(self, reason: str, question_tokens: int) -> None:
        """From the server's words when a question was too long: the number that it names, if one can be meant."""
        numbers = [int(re.sub(r"[,_]", "", found)) for found in _NUMBER.findall(reason)]
        named = [number for number in numbers if question_tokens // 4 < number < 2 * question_tokens]
        known = min(named, default=int(_LEARNT * question_tokens))
        most = int(_LEARNT * question_tokens) if self.tokens is not None and known >= self.tokens else known
        self.tokens = most if self.tokens is None else min(self.tokens, most)


def window_of(model: str, address: str | None) -> Window:
    """As the setting has it, else as the server lists its models; unknown where neither tells."""
    return Window(model_context() or (_listed(model, address) if address is not None else None))


def _listed(model: str, address: str) -> int | None:
    try:
        with urllib.request.urlopen(f"{address.rstrip('/')}/models", timeout=_PATIENCE_S) as response:  # noqa: S310 - http, as models.py checks
            listing = json.loads(response.read(_LARGEST_LISTING))
        entries = [entry for entry in listing["data"] if isinstance(entry, dict)]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    mine = next((entry for entry in entries if entry.get("id") == model), entries[0] if len(entries) == 1 else {})
    told = [found.get(name) for found in (mine, mine.get("meta") or {}) if isinstance(found, dict) for name in _FIELDS]
    return next((int(number) for number in told if isinstance(number, int) and number > 0), None)
