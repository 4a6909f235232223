"""Which bytes of variables may still be read, and which depend on the thread."""

from __future__ import annotations

import pytest

from warpsmith.devices.cpu.ir.byte_flow import ByteFlow
from warpsmith.devices.cpu.ir.flow import Flow
from warpsmith.devices.cpu.ir.function import Function
from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.ir.parts import Layout, parts_of
from warpsmith.devices.cpu.ir.places import Places
from warpsmith.devices.cpu.ir.points_to import PointsTo

TEXT = """\
define void @k(ptr %p, i64 %n) {
entry:
  %a = alloca i32, align 4
  %b = alloca [2 x i32], align 4
  %t = call i32 @llvm.spv.thread.id.in.group.i32(i32 0)
  store i32 0, ptr %a, align 4
  br label %head
head:
  %x = load i32, ptr %a, align 4
  %c = icmp slt i32 %x, 9
  br i1 %c, label %body, label %out
body:
  store i32 %t, ptr %b, align 4
  store i32 1, ptr %a, align 4
  br label %head
out:
  %q = getelementptr inbounds [2 x i32], ptr %b, i64 0, i64 1
  %y = load i32, ptr %q, align 4
  %r = getelementptr inbounds [2 x i32], ptr %b, i64 0, i64 %n
  store i32 %y, ptr %r, align 4
  br label %end
end:
  %z = load i32, ptr %b, align 4
  ret void
}
"""
FIRST, SECOND, ALL = 0x0F, 0xF0, 0xFF


@pytest.fixture
def flow() -> ByteFlow:
    function, layout = Function.parse(TEXT.splitlines()), Layout(Module(TEXT))
    places = Places(layout, function, PointsTo(function, frozenset({"%p"})))
    return ByteFlow(function, Flow(function), places, parts_of(layout, function))


def test_what_is_overwritten_first_is_not_live(flow: ByteFlow):
    live = {label: flow.by_variable(some) for label, some in flow.live().items()}
    assert live == {
        "entry": {"%b": ALL},
        "head": {"%a": FIRST, "%b": ALL},
        "body": {"%b": SECOND},
        "out": {"%b": ALL},
        "end": {"%b": FIRST},
    }, "what is written somewhere may leave anything as it was"


def test_what_a_thread_wrote_differs(flow: ByteFlow):
    values, ends = flow.varying()
    assert values == {"%t", "%z"}
    assert {label: flow.by_variable(some) for label, some in ends.items()} == {
        "entry": {},
        "head": {"%b": FIRST},
        "body": {"%b": FIRST},
        "out": {"%b": FIRST},
        "end": {"%b": FIRST},
    }
