"""The small passes over IR text: what they change, and what they must leave alone."""

from __future__ import annotations

import pytest

from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.ir.saturation import write_out_saturating_casts
from warpsmith.devices.cpu.ir.subscripts import sign_subscripts
from warpsmith.devices.cpu.ir.vector_copies import copy_vectors_whole


def function(body: str, signature: str = "void @f(ptr addrspace(4) %p, i32 %i)") -> Module:
    return Module(f"define spir_func {signature} #0 {{\nentry:\n{body}\n  ret void\n}}\n")


def test_a_subscript_that_is_only_a_subscript_becomes_signed():
    module = function("""  %idxprom = zext i32 %i to i64
  %a = getelementptr inbounds nuw float, ptr addrspace(4) %p, i64 %idxprom
  %b = getelementptr inbounds [4 x float], ptr addrspace(4) %p, i64 0, i64 %idxprom""")
    sign_subscripts(module)
    assert "%idxprom = sext i32 %i to i64" in module.text


@pytest.mark.parametrize(
    "use",
    [
        "  %c = icmp ult i64 %w, 5",
        "  %s = add i64 %w, 1",
        "  store i64 %w, ptr addrspace(4) %p",
        "  %g = getelementptr float, ptr addrspace(4) %p, i64 %w",
    ],
)
def test_a_widened_value_with_another_use_keeps_its_meaning(use):
    module = function(f"  %w = zext i32 %i to i64\n  %a = getelementptr inbounds float, ptr addrspace(4) %p, i64 %w\n{use}")
    sign_subscripts(module)
    assert "%w = zext i32 %i to i64" in module.text


COPY = "call void @llvm.memcpy.p4.p4.i64(ptr addrspace(4) align 16 %v.ascast, ptr addrspace(4) align 16 %p, i64 16, i1 false)"
VARIABLE = "  %v = alloca %struct.float4, align 16\n  %v.ascast = addrspacecast ptr %v to ptr addrspace(4)"
COMPONENT = "  %x = getelementptr inbounds nuw %struct.float4, ptr addrspace(4) %v.ascast, i32 0, i32 0"


def test_a_vector_used_by_component_is_copied_whole():
    module = function(
        f"{VARIABLE}\n  {COPY}, !tbaa.struct !1, !dbg !7\n{COMPONENT}\n  %0 = load float, ptr addrspace(4) %x, align 16"
    )
    copy_vectors_whole(module)
    assert "load <4 x float>, ptr addrspace(4) %p, align 16, !dbg !7" in module.text
    assert "store <4 x float>" in module.text
    assert "memcpy" not in module.text
    assert "tbaa.struct" not in module.text


@pytest.mark.parametrize(
    "use",
    [
        "  store ptr addrspace(4) %v.ascast, ptr addrspace(4) %p, align 8",
        "  %h = load half, ptr addrspace(4) %v.ascast, align 16",
        f"{COMPONENT}\n  %0 = load i32, ptr addrspace(4) %x, align 16",
        f"{COMPONENT}\n  store ptr addrspace(4) %x, ptr addrspace(4) %p, align 8",
        "  call spir_func void @g(ptr addrspace(4) noundef %v.ascast)",
    ],
)
def test_a_vector_that_may_be_read_as_something_else_is_left_alone(use):
    module = function(f"{VARIABLE}\n  {COPY}\n{use}")
    before = module.text
    copy_vectors_whole(module)
    assert module.text == before


def test_an_underaligned_vector_is_left_alone():
    module = function(f"{VARIABLE}\n  {COPY.replace('align 16 %p', 'align 4 %p')}")
    before = module.text
    copy_vectors_whole(module)
    assert module.text == before


def test_parameters_and_results_by_value_are_local_vectors():
    signature = "void @f(ptr dead_on_unwind noalias writable sret(%struct.float4) align 16 %agg.result, ptr addrspace(4) %p)"
    module = function(f"  {COPY.replace('ptr addrspace(4) align 16 %v.ascast', 'ptr align 16 %agg.result')}", signature)
    copy_vectors_whole(module)
    assert "store <4 x float>" in module.text


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            "i32 @llvm.fptosi.sat.i32.f32(float %x)",
            ["fcmp oge float %x, 0x41E0000000000000", "i32 2147483647", "i32 -2147483648"],
        ),
        ("i8 @llvm.fptoui.sat.i8.f64(double %x)", ["fcmp oge double %x, 0x4070000000000000", "i8 255", "fptoui double %x to i8"]),
        ("i32 @llvm.fptosi.sat.i32.f16(half %x)", ["fpext half %x to float", "fptosi float"]),
    ],
)
def test_saturating_casts_are_written_out(call, expected):
    module = function(f"  %5 = call {call}, !dbg !3", "void @f(float %x)")
    declaration = "declare i32 @llvm.fptosi.sat.i32.f32(float) #1"
    module.pieces.append((None, [declaration]))
    write_out_saturating_casts(module)
    assert "llvm.fpto" not in module.text
    assert "  %5 = select i1 %sat.5.nan" in module.text
    for piece in expected:
        assert piece in module.text


def test_a_saturating_cast_in_an_unknown_form_is_an_error():
    module = function("  %5 = call <2 x i32> @llvm.fptosi.sat.v2i32.v2f32(<2 x float> %x)")
    with pytest.raises(ValueError, match="does not know"):
        write_out_saturating_casts(module)
