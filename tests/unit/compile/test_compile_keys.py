import os
from pathlib import Path

import pytest

from warpsmith.compile.keys import environment_key, included_files
from warpsmith.core.hardware import Geometry, Language, Limits
from warpsmith.devices.base import CompileRequest, DeviceInfo
from warpsmith.devices.registry import load_device


def included(folder: Path, source: str, *include_dirs: Path) -> dict[str, str] | None:
    geometry = Geometry((1, 1, 1), (1, 1, 1))
    return included_files(CompileRequest(source, folder / "k.cu", Language.CUDA, "k", (), geometry, include_dirs=include_dirs))


def names(found: dict[str, str] | None) -> set[str]:
    assert found is not None
    return {Path(name).name for name in found}


def test_local_files_are_found_through_each_other(tmp_path):
    library = tmp_path / "lib"
    library.mkdir()
    (tmp_path / "a.h").write_text('#pragma once\n#include "b.h"\n  #  include <c.h>\n')
    (tmp_path / "b.h").write_text('#include "a.h"\n')  # a cycle
    (library / "c.h").write_text('#if 0\n#include "beside.h"\n#endif\n')
    (library / "beside.h").write_text("")
    assert names(included(tmp_path, '#include "a.h"\n#include <cstdint>\n', library)) == {"a.h", "b.h", "c.h", "beside.h"}
    assert names(included(tmp_path, '#include "a.h"')) == {"a.h", "b.h"}
    assert names(included(tmp_path, 'int x; // #include "a.h"')) == set()


def test_an_edit_changes_the_hash_and_only_that_one(tmp_path):
    (tmp_path / "a.h").write_text("1")
    (tmp_path / "b.h").write_text("1")
    source = '#include "a.h"\n#include "b.h"\n'
    before = included(tmp_path, source)
    (tmp_path / "b.h").write_text("2")
    os.utime(tmp_path / "b.h", ns=(1, 1))
    after = included(tmp_path, source)
    assert before is not None
    assert after is not None
    assert before.keys() == after.keys()
    assert [Path(name).name for name in before if before[name] != after[name]] == ["b.h"]


def test_an_include_through_a_macro_cannot_be_told(tmp_path):
    assert included(tmp_path, "#define F <x.h>\n#include F\n") is None


@pytest.mark.parametrize(
    ("device", "file"), [("cuda:sm_90", "_elf.py"), ("hip:gfx942", "_gpu/requests.py"), ("cpu", "cpu/lower.py")]
)
def test_an_edit_of_what_compiles_or_reads_the_result_voids_it(device, file, monkeypatch):
    info = DeviceInfo(device, "", Limits(1, 1, 1, 1, 1, 1, 1), frozenset())
    before = environment_key(load_device(device), info)
    assert environment_key(load_device(device), info) == before
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * path.as_posix().endswith(f"devices/{file}"))
    assert environment_key(load_device(device), info) != before
