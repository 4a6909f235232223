"""How far apart, in lanes, two addresses are that were written out as text."""

from __future__ import annotations

import pytest

from warpsmith.devices.cpu.ir.affine import Distance, Place, distance

T = "(trunc i64 %t to i32)"
NEVER = Distance(None)


@pytest.mark.parametrize(
    ("written", "read", "expected"),
    [
        (f"{{@s + 0 + {T} * 4}}", f"{{@s + 0 + {T} * 4}}", Distance(0)),
        (f"{{@s + 0 + {T} * 4}}", f"{{@s + 64 + {T} * 4}}", Distance(16)),
        (f"{{@s + 0 + {T} * 4}}", f"{{@s + 0 + (add nsw i32 {T}, -1) * 4}}", Distance(-1)),
        (f"{{@s + 0 + (shl i32 {T}, 1) * 4}}", f"{{@s + 4 + (mul i32 2, {T}) * 4}}", NEVER),
        (f"{{@s + 0 + (mul i32 [%k], (add i32 {T}, 1)) * 4}}", f"{{@s + 0 + (mul i32 [%k], {T}) * 4}}", Distance(-1)),
        (f"{{@s + 0 + (sub nsw i32 31, {T}) * 4}}", f"{{@s + 0 + {T} * 4}}", None),
        (f"{{@s + 0 + {T} * 4}}", f"{{@s + 0 + (add i32 {T}, [%k]) * 4}}", None),
        (f"{{@s + 0 + {T} * 4}}", f"{{@r + 0 + {T} * 4}}", None),
        (f"{{@s + 0 + (and i32 {T}, 7) * 4}}", f"{{@s + 0 + {T} * 4}}", None),
        (f"{{@s + 0 + (mul i32 {T}, {T}) * 4}}", f"{{@s + 0 + {T} * 4}}", None),
        ("{@s + 0}", "{@s + 4}", NEVER),
        ("{@s + 0}", "{@s + 2}", None),
    ],
)
def test_distance(written: str, read: str, expected: Distance | None) -> None:
    assert distance(Place(written, 4), Place(read, 4), {"%t"}) == expected


def test_a_wide_write_reaches_into_what_begins_later() -> None:
    first, inside = f"{{@s + 0 + {T} * 16}}", f"{{@s + 20 + {T} * 16}}"
    assert distance(Place(first, 4), Place(inside, 4), {"%t"}) == NEVER
    assert distance(Place(first, 16), Place(inside, 4), {"%t"}) is None
