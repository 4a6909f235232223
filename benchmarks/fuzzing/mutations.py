"""One real input made into a bad one: cut, spliced, nested, with words and numbers where none belong. Seeded, nothing else."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

Mutation = Callable[[bytes, random.Random, Sequence[bytes]], bytes]

LARGEST_BYTES = 200_000
_NUMBER = re.compile(rb"\b\d+(?:\.\d+)?\b")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_VALUE = re.compile(rb"(?<==)[ \t]*[^\s#][^\n#]*")
_NUMBERS = (
    b"0", b"-1", b"1", b"2147483647", b"2147483648", b"4294967296", b"18446744073709551615", b"-9223372036854775809", b"1e308",
    b"1e999", b"0.1", b"nan", b"inf", b"-0.0", b"0x", b"1_0", b"9" * 400, b"9" * 5000, b"08", b"1e-400", b"1.", b".5",
)  # fmt: skip
_VALUES = (
    b'""', b"[]", b"{}", b"[[]]", b'["", 1, 1.5, true]', b"{ a = 1 }", b"true", b"nan", b"1979-05-27T07:32:00Z", b"07:32:00",
    b"'''\n'''", b'"\\u0000"', b'"x" y', b"[1, [2, [3]]]", b'{ dtype = 3, shape = "n" }', b'["n", 0, -1]', b'"(" ', b"''",
)  # fmt: skip
_PIECES = (
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\r", b"\x0c", b"\x1b[31m", "\u202e\u00e9\u4e2d".encode(),
    b"\\", b"\\\n", b'"', b"'", b"`", b"/*", b"*/", b"//", b"(", b")", b"[", b"]", b"{", b"}", b"<", b">", b",", b";", b":", b"=",
    b"#", b"%", b"$", b"@", b"..", b"\n\n", b"\t", b" ",
)  # fmt: skip
_BRACKETS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"<", b">"), (b"-", b""), (b"!", b""), (b"*", b""), (b"not ", b""))
_DEPTHS = (3, 30, 120, 500, 1500, 6000, 40_000)


def mutated(data: bytes, rng: random.Random, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    """One to four changes, most often one."""
    for _ in range(rng.choices((1, 2, 3, 4), (5, 3, 1, 1))[0]):
        data = rng.choices(_MUTATIONS, _WEIGHTS)[0](data, rng, others if rng.random() < 0.3 else words)
    return data[:LARGEST_BYTES]


def _span(data: bytes, rng: random.Random, longest: int = 200) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.randrange(1, longest))


def _cut(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + data[end:]


def _truncated(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _repeated(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(data, rng)
    return data[:end] + data[start:end] * rng.choice((1, 1, 2, 20, 300)) + data[end:]


def _moved(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(data, rng)
    rest = data[:start] + data[end:]
    at = rng.randrange(len(rest) + 1)
    return rest[:at] + data[start:end] + rest[at:]


def _line_removed(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)


def _lines_swapped(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _byte_changed(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _piece_inserted(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_PIECES) + data[at:]


def _word_inserted(data: bytes, rng: random.Random, words: Sequence[bytes]) -> bytes:
    at = rng.choice([match.end() for match in _WORD.finditer(data)] or [0])
    return data[:at] + b" " + rng.choice(words) + b" " + data[at:]


def _other_word(data: bytes, rng: random.Random, words: Sequence[bytes]) -> bytes:
    found = list(_WORD.finditer(data))
    return _replaced(data, rng.choice(found), rng.choice(words)) if found else data


def _other_number(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data))
    return _replaced(data, rng.choice(found), rng.choice(_NUMBERS)) if found else data


def _other_value(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    found = list(_VALUE.finditer(data))
    return _replaced(data, rng.choice(found), b" " + rng.choice(_VALUES)) if found else data


def _nested(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """A span in brackets without number; now and then they never close."""
    (opening, closing), depth = rng.choice(_BRACKETS), rng.choice(_DEPTHS)
    start, end = _span(data, rng, 30)
    return data[:start] + opening * depth + data[start:end] + closing * rng.choice((depth, depth, depth - 1, 0)) + data[end:]


def _json_changed(data: bytes, rng: random.Random, words: Sequence[bytes]) -> bytes:
    """A value, a key or an entry that is something else, in what is JSON."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return _other_word(data, rng, words)
    places = list(_places(document))
    if not places:
        return data
    holder, key = rng.choice(places)
    match rng.randrange(5):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[rng.choice(words).decode(errors="replace")] = holder.pop(key)
        case 2 if isinstance(holder, list):
            holder.append(holder[key])
        case _:
            holder[key] = _json_value(rng, words)
    return json.dumps(document).encode()


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 5000:
        holder = waiting.pop()
        if isinstance(holder, (dict, list)):
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            found += [(holder, key) for key in keys]
            waiting += [holder[key] for key in keys]
    return found


def _json_value(rng: random.Random, words: Sequence[bytes]) -> Any:
    return rng.choice(
        (
            None, True, False, 0, -1, 1, 2**31, 2**63, -(2**64), 10**400, 1.5, -0.0, 1e308, float("nan"), float("inf"), "", " ",
            "\0", "\ud800", "x" * 5000, [], {}, [[]], [None], {"": None}, {"a": {"b": {}}}, [1, "a", None, 2.5, True],
            rng.choice(words).decode(errors="replace"), ["n"], [0] * 200,
        )
    )  # fmt: skip


def _replaced(data: bytes, match: re.Match[bytes], by: bytes) -> bytes:
    return data[: match.start()] + by + data[match.end() :]


_MUTATIONS: tuple[Mutation, ...] = (
    _cut, _truncated, _repeated, _moved, _line_removed, _lines_swapped, _byte_changed, _piece_inserted, _word_inserted,
    _other_word,    _other_number, _other_value, _nested, _json_changed,
)  # fmt: skip
_WEIGHTS = (3, 1, 2, 2, 2, 1, 2, 3, 3, 4, 3, 3, 2, 4)
