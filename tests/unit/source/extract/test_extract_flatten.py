"""One text out of many files: what clang decides is decided, all else is as it was written."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core.hardware import Language
from warpsmith.source.extract.flatten import Unit, flatten
from warpsmith.source.extract.model import ExtractRequest


def flat(folder: Path, files: dict[str, str], **defines: str) -> Unit:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return flatten(ExtractRequest(folder / "main.cu", "k", None, (folder / "include",), defines), Language.CUDA)


def test_text_stays_as_it_was(tmp_path):
    macro = "#define LONG(a) \\\n  do {          \\\n  } while (0)\n"
    text = f"{macro}int   x   = 1;  // why\n/* two\n   lines */\n#pragma unroll\nint y;\n"
    assert flat(tmp_path, {"main.cu": text}).text == text


def test_includes_are_opened_once_and_foreign_ones_come_back(tmp_path):
    files = {
        "main.cu": '#include <a.h>\n#include "b.h"\n#include <a.h>\nint main_;\n',
        "include/a.h": "#pragma once\n#include <cuda_fp16.h>\nint a;\n",
        "b.h": '#ifndef B_H\n#define B_H\n#include "a.h"\nint b;\n#endif\n',
    }
    unit = flat(tmp_path, files)
    assert [line for line in unit.text.splitlines() if line] == [
        "#include <cuda_fp16.h>",
        "int a;",
        "#define B_H",
        "int b;",
        "int main_;",
    ]


def test_includes_that_macros_spell(tmp_path):
    text = "#define STD(name) <cuda/std/name>\n#include STD(utility)\n#include STD(tuple)\nint x;\n"
    lines = flat(tmp_path, {"main.cu": text}).text.splitlines()
    assert lines[1:] == ["#include <cuda/std/utility>", "#include <cuda/std/tuple>", "int x;"]


def test_every_line_knows_where_it_is_from(tmp_path):
    files = {
        "main.cu": "#include <a.h>\n\n#if 0\nint no;\n#endif\nint here;\n",
        "include/a.h": "\nint there;\n#include <vector>\n",
    }
    unit = flat(tmp_path, files)
    for piece, file, line in (("int here", "main.cu", 6), ("int there", "a.h", 2), ("#include <vector>", "a.h", 3)):
        origin = unit.origin(unit.text.index(piece))
        assert (origin.file.name, origin.line) == (file, line)


def test_conditions_are_decided(tmp_path):
    text = """#if __CUDA_ARCH__ >= 900
int hopper;
#elif defined(FAST) && FAST > 1
int fast;
  #ifdef INNER
int inner;
  #else
int no_inner;
  #endif
#else
int slow;
#endif
#ifdef FAST
  #include <indented/absent.h>
  #undef FAST
#endif
#ifndef FAST
int undefined_now;
#endif
#ifdef NEVER
  #include <never/absent.h>
#endif
int last;
"""
    kept = flat(tmp_path, {"main.cu": text}, FAST="2").text
    wanted = ["int fast;", "int no_inner;", "#include <indented/absent.h>", "int undefined_now;", "int last;"]
    lines = [line.strip() for line in kept.splitlines()]
    assert [line for line in lines if line and "undef FAST" not in line] == wanted


def test_the_compiler_is_the_kernels_not_ours(tmp_path):
    text = "#ifdef __clang__\nint clang;\n#endif\n#ifdef __CUDACC__\nint nvcc;\n#endif\n"
    assert flat(tmp_path, {"main.cu": text}).text == "int nvcc;\n"


@settings(max_examples=20, deadline=None)  # each runs a compiler
@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_any_nesting_is_decided_as_python_would(tmp_path_factory, values):
    opened = "".join(f"#if{'def' if i % 2 else ' defined'} M{i}\nint yes{i};\n#else\nint no{i};\n" for i in range(len(values)))
    text = opened + "#endif\n" * len(values)
    unit = flat(tmp_path_factory.mktemp("nesting"), {"main.cu": text}, **{f"M{i}": "1" for i, v in enumerate(values) if v})
    expected = []
    for i, value in enumerate(values):
        expected.append(f"int {'yes' if value else 'no'}{i};")
        if value:  # what is nested lies in the other branch
            break
    assert unit.text.split("\n")[:-1] == expected
