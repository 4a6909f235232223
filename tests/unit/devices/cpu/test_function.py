"""Functions of the IR as they are read."""

from warpsmith.devices.cpu.ir.function import Function


def test_unnamed_values_do_not_meet_those_of_a_variable():
    """Clang calls further uses of a variable v: v1, v2, …; what it leaves unnamed must not be called so too."""
    text = "define void @k() {\n  %v1 = add i32 1, 2\n  %1 = add i32 %v1, 3\n  br label %2\n\n2:\n  ret void\n}"
    function = Function.parse(text.split("\n"))
    results = [i.result for block in function.blocks.values() for i in block.instructions if i.result is not None]
    assert len(results) == len(set(results)) == 2
    assert list(function.blocks) == ["entry", ".n2"]
