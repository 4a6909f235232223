"""Hot loops in machine code: the innermost of the deepest nest that does arithmetic, whatever the instruction set."""

from warpsmith.analysis.hot_loop import hot_loops, hot_loops_text

NEST = [
    "mov rax, rdi",
    "vmovups zmm0, [rax]",  # 1: the outer loop
    "xor ecx, ecx",
    "vfmadd231ps zmm0, zmm1, [rsi]",  # 3: the inner one
    "add rsi, 64",
    "inc ecx",
    "jne @3",
    "add rax, 64",
    "jb @1",
    "inc edx",  # 9: deeper by nobody's account, and no arithmetic
    "cmp edx, 5",
    "jl @9",
    "vmulss xmm0, xmm1, xmm2",  # 12: for threads that are left over
    "vaddss xmm0, xmm1, xmm3",
    "jb @12",
    "jb @9",
    "ret",
]
SASS = ["MOV R1, c[0x0][0x28]", "LDG.E.128 R4, [R2]", "@P0 FFMA R8, R4, R5, R8", "IADD3 R2, R2, 0x10, RZ", "@P0 BRA @1", "EXIT"]


def test_the_innermost_loop_with_arithmetic_is_the_hottest():
    first, second = hot_loops(NEST)
    assert (first.first, first.last, first.depth) == (3, 6, 2)
    assert (second.first, second.last, second.depth) in {(9, 11, 2), (12, 14, 2)}
    told = hot_loops_text(NEST).splitlines()
    assert told[0] == "loop 1: 4 instructions, 2 deep: 1 vfmadd231ps, 1 add, 1 inc, 1 jne"
    assert told[len(hot_loops(NEST)) :][:2] == ["loop 1 in full:", "  vfmadd231ps zmm0, zmm1, [rsi]"]


def test_another_loop_is_shown_on_demand():
    assert "loop 2 in full:\n  inc edx" in hot_loops_text(NEST, 2) or "loop 2 in full:\n  vmulss" in hot_loops_text(NEST, 2)
    assert hot_loops_text(NEST, 9) == hot_loops_text(NEST)


def test_predicates_are_no_instructions_and_code_without_loops_has_none():
    assert hot_loops_text(SASS).startswith("loop 1: 4 instructions, 1 deep: 1 LDG.E.128, 1 FFMA, 1 IADD3, 1 BRA")
    assert hot_loops_text(["ret"]) == ""
    assert hot_loops_text([]) == ""


def test_a_long_loop_is_cut_in_its_middle():
    body = [f"vaddps zmm{n}, zmm1, zmm2" for n in range(300)]
    shown = hot_loops_text([*body, "jmp @0"]).splitlines()
    assert len(shown) < 60
    assert shown[1] == "loop 1, its beginning and its end:"
    assert "  …" in shown
