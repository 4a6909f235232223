"""Blocks named after a lambda get names that others can be made of."""

from __future__ import annotations

from warpsmith.devices.cpu.ir.labels import with_plain_labels

TEXT = """%"struct.a$b" = type { i32 }
define void @k(i1 %c) {
entry:
  br label %"_Zf$_0.exit"

"_Zf$_0.exit":                                    ; preds = %entry
  %p = phi i32 [ 0, %entry ], [ 1, %"_Zf$_1.exit" ]
  br i1 %c, label %"_Zf$_1.exit", label %end

"_Zf$_1.exit":
  br label %"_Zf$_0.exit"

end:
  %s = alloca %"struct.a$b"
  ret void
}
"""


def test_labels_lose_their_quotes_and_stay_different():
    found = with_plain_labels(TEXT)
    assert found.count('"') == 4, "of the type, which is no label"
    assert "_Zf__0.exit.q0:" in found
    assert "[ 1, %_Zf__1.exit.q1 ]" in found
    assert "br i1 %c, label %_Zf__1.exit.q1, label %end" in found


def test_nothing_to_do():
    text = "entry:\n  ret void\n"
    assert with_plain_labels(text) is text
