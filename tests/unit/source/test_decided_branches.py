from __future__ import annotations

import re

import pytest

from warpsmith.source.decided_branches import DecidedBranches

_BODY = """\
#if FAST && \\
    defined(WIDE)
  out[0] = 1;
#elif __CUDA_ARCH__ >= 800
# ifdef DEBUG
  out[1] = 1;
# endif
  out[2] = 1;
#else
  out[3] = 1;
#endif
"""


def _text(body: str = _BODY) -> str:
    return f"#ifdef WIDE\n#define STEP 2\n#endif\n__global__ void k(float* out) {{\n{body}}}\nvoid host() {{\n{body}}}\n"


def _settled(*taken: int, text: str | None = None) -> str:
    """With the preprocessor's answer: the places, from 0, of the marks that come out of it."""
    branches = DecidedBranches(text or _text(), "k")
    marks = re.findall(r"^WARPSMITH\w+$", branches.marked, re.MULTILINE)
    return branches.settled({marks[place] for place in taken})


def _lines(text: str) -> list[str]:
    return [line for line in text.partition("{\n")[2].partition("}")[0].splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("taken", "left"),
    [
        ((0,), ["  out[0] = 1;"]),
        ((1,), ["  out[2] = 1;"]),
        ((1, 2), ["  out[1] = 1;", "  out[2] = 1;"]),
        ((3,), ["  out[3] = 1;"]),
    ],
)
def test_one_branch_is_left_at_its_place(taken: tuple[int, ...], left: list[str]):
    settled, before = _settled(*taken), _text()
    assert _lines(settled) == left
    assert "#if" in settled.partition("void host")[2], "what the kernel does not reach stays"
    for line in left:
        assert settled.splitlines().index(line) == before.splitlines().index(line)


def test_another_target_is_refused():
    settled = _settled(3)
    guard = "defined(__CUDA_ARCH__) && !(!(FAST && defined(WIDE)) && !(__CUDA_ARCH__ >= 800))"
    assert f"#if {guard}\n#error" in settled
    assert settled.count("#error") == 1, "of a branch that is gone nobody needs to know"


def test_what_the_file_decides_needs_no_guard():
    text = _text("#define ON 1\n#if ON && 1\n  out[0] = 1;\n#endif\n#ifdef SOMETHING\n  out[1] = 1;\n#endif\n")
    assert "#error" not in _settled(0, text=text)


def test_groups_that_reach_out_of_the_body_stay():
    text = "#if A\n__global__ void k(float* out) {\n#else\nvoid k(float* out) {\n#endif\n  out[0] = 1;\n}\n"
    assert not DecidedBranches(text, "k")
