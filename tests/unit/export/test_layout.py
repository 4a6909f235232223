"""Headers come along wherever a kernel may have them, and what was written finds them there; names are given once."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import pytest

from warpsmith.core.errors import InputError
from warpsmith.export.layout import Layout
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel

TOML = """\
[kernel]
name = "k"
source = "k.cu"
entry = "k"
include_dirs = ["include"]
[arguments]
y = { dtype = "f32", shape = ["n"], role = "out" }
[launch]
grid = [1]
block = [1]
[workloads]
a = { n = 64 }
"""


@pytest.fixture
def kernel_with(tmp_path):
    def make(files: dict[str, str]) -> Kernel:
        """By path from the kernel's folder."""
        folder = tmp_path / "code" / "kernel"
        (folder / "include").mkdir(parents=True)
        for name, text in {"kernel.toml": TOML, **files}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return load_kernel(folder)

    return make


def exported(kernel: Kernel, folder: Path, text: str | None = None) -> dict[str, str]:
    folder.mkdir()
    layout = Layout(kernel, folder)
    (file,) = layout.free("k", ".cu")
    file.write_text(layout.standing_alone(kernel.source, text or kernel.source.read_text(), file))
    return {found.relative_to(folder).as_posix(): found.read_text() for found in folder.rglob("*") if found.is_file()}


def reached(files: dict[str, str], start: str = "k.cu") -> set[str]:
    """What a compiler finds that is given no folders: only what lies beside the including file."""
    found, waiting = set(), [start]
    while waiting:
        place = waiting.pop()
        if place not in found:
            found.add(place)
            named = re.findall(r'#include "(.*)"', files[place])
            waiting += [posixpath.normpath(posixpath.join(posixpath.dirname(place), name)) for name in named]
    return found


def test_a_header_beside_the_header_that_includes_it_comes_along(kernel_with, tmp_path) -> None:
    kernel = kernel_with({"k.cu": '#include "inc/a.h"\n', "inc/a.h": '#include "b.h"\n', "inc/b.h": "// b\n"})
    files = exported(kernel, tmp_path / "out")
    assert files == {"k.cu": '#include "inc/a.h"\n', "inc/a.h": '#include "b.h"\n', "inc/b.h": "// b\n"}


def test_headers_above_the_source_and_of_other_folders_come_along(kernel_with, tmp_path) -> None:
    kernel = kernel_with(
        {
            "k.cu": '#include "../common/a.h"\n#include <lib/c.h>\n#include <vector>\n',
            "../common/a.h": '#include "b.h"\n#include "top.h"\n',
            "../common/b.h": '#pragma once\n#include "../kernel/inc/d.h"\n',
            "inc/d.h": '#include "../include/lib/c.h"\n',
            "include/lib/c.h": '#include "../e.h"\n',
            "include/e.h": "// e\n",
            "top.h": "// beside the source\n",
        }
    )
    files = exported(kernel, tmp_path / "out")
    assert set(files) == {"k.cu", "common/a.h", "common/b.h", "inc/d.h", "include/lib/c.h", "include/e.h", "top.h"}
    assert reached(files) == set(files)
    assert files["k.cu"] == '#include "common/a.h"\n#include "include/lib/c.h"\n#include <vector>\n'


def test_two_headers_that_would_share_a_place_do_not(kernel_with, tmp_path) -> None:
    kernel = kernel_with(
        {"k.cu": '#include "x/a.h"\n#include "../x/a.h"\n#include "K.CU"\n', "x/a.h": "// one\n", "../x/a.h": "// two\n"}
    )
    (kernel.source.parent / "K.CU").write_text("// another\n")
    files = exported(kernel, tmp_path / "out")
    assert files["k.cu"] == '#include "x/a.h"\n#include "x/a-2.h"\n#include "K-2.CU"\n'
    assert (files["x/a.h"], files["x/a-2.h"], files["K-2.CU"]) == ("// one\n", "// two\n", "// another\n")


def test_what_lies_outside_the_kernels_folders_is_refused(kernel_with, tmp_path) -> None:
    """Its author's own source may name other folders; a template that came later may not."""
    kernel = kernel_with({"k.cu": "void k(int n);\n", "../secret.h": "// not the kernel's\n", ".env": "// hidden\n"})
    for line in ('#include "../secret.h"\n', '#include ".env"\n'):
        with pytest.raises(InputError, match="outside the kernel's folders") as caught:
            exported(kernel, tmp_path / f"out{len(line)}", line)
        assert caught.value.hint


def test_a_link_of_the_users_is_followed(kernel_with, tmp_path) -> None:
    kernel = kernel_with({"k.cu": '#include "linked.h"\n', "../elsewhere/real.h": "// real\n"})
    (kernel.source.parent / "linked.h").symlink_to(tmp_path / "code" / "elsewhere" / "real.h")
    assert exported(kernel, tmp_path / "out")["linked.h"] == "// real\n"


def test_bytes_that_are_no_text_survive(kernel_with, tmp_path) -> None:
    kernel = kernel_with({"k.cu": '#include "old.h"\n', "include/a.h": "\n"})
    (kernel.source.parent / "old.h").write_bytes(b'// \xa9 1999\n#include "a.h"\n')
    folder = tmp_path / "out"
    folder.mkdir()
    Layout(kernel, folder).standing_alone(kernel.source, kernel.source.read_text(), folder / "k.cu")
    assert (folder / "old.h").read_bytes() == b'// \xa9 1999\n#include "include/a.h"\n'
