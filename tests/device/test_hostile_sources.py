"""Sources that try to read the machine: whatever the language and the compiler, nothing of it comes back."""

from dataclasses import replace
from pathlib import Path

import pytest
from bench_support import UNARY, make_kernel, request

from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import WarpsmithError
from warpsmith.core.hardware import Language
from warpsmith.core.outcome import CompileFailed
from warpsmith.devices.base import Binary
from warpsmith.isolation.confinement import confinement_report

KERNEL = make_kernel(*UNARY)
SECRET = "hunter2_password"  # an identifier, for compilers quote those
BODY = {
    Language.OPENCL: "__kernel void k(__global const float* x, __global float* out, int n) {{ out[0] = {0}; }}\n",
    Language.CUDA: "__global__ void k(const float* x, float* out, int n) {{ out[0] = {0}; }}\n",
    Language.HIP: "__global__ void k(const float* x, float* out, int n) {{ out[0] = {0}; }}\n",
}
DEVICES = [
    ("cpu", Language.CUDA),
    ("cpu", Language.OPENCL),
    ("opencl", Language.OPENCL),
    ("cuda:sm_90", Language.CUDA),
    ("hip:gfx942", Language.HIP),
]

pytestmark = pytest.mark.skipif(not confinement_report().is_complete, reason="this system cannot confine")


def hostile_texts(secret: Path) -> dict[str, str]:
    return {
        "include": f'#include "{secret}"\n',
        "system include": f"#include <{secret}>\n",
        "relative": '#include "../secret/notes.txt"\n',
        "hidden": '#include ".env"\n',
        "computed": f'#define FILE "{secret}"\n#include FILE\n',
        "guarded": f'#if __has_include("{secret}")\n#include "{secret}"\n#endif\n',
        "embed": f'enum {{ stolen = (\n#embed "{secret}" limit(1)\n) }};\n',
        "line marker": f'#line 1 "{secret}"\n#error here\n',
        "assembly": f'__asm__(".incbin \\"{secret}\\"");\n',
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A kernel's folder, beside one that is none of its business."""
    root = tmp_path_factory.mktemp("confined")
    for folder in ("kernel", "secret"):
        (root / folder).mkdir()
    (root / "secret" / "notes.txt").write_text(f"{SECRET} {SECRET}\n")
    (root / "kernel" / ".env").write_text(f"{SECRET}=1\n")
    (root / "kernel" / "mine.h").write_text("#define MINE 2.0f\n")
    return root


@pytest.mark.parametrize(("device", "language"), DEVICES)
def test_nothing_of_a_file_elsewhere_comes_back(place, device, language):
    try:
        with CompilePool(device, cache_dir=None, folders=[place / "kernel"]) as pool:
            pool.describe()
            harmless = ask(place, f'#include "mine.h"\n{BODY[language].format("MINE")}', language)
            assert isinstance(pool.compile(harmless), Binary)
            for name, text in hostile_texts(place / "secret" / "notes.txt").items():
                told = told_by(pool, ask(place, text + BODY[language].format("1"), language))
                assert SECRET not in told, name
                assert "crash" not in told.lower(), (name, told)
                assert "include_dirs can be read" in told or name != "relative" or device.startswith("cuda")
    except WarpsmithError as error:
        if error.exit_code == 3:
            pytest.skip(str(error))
        raise


def ask(place: Path, source: str, language: Language):
    file = place / "kernel" / {"opencl": "k.cl", "cuda": "k.cu", "hip": "k.hip"}[language]
    return replace(request(KERNEL, source, KERNEL.workloads[0]), source_file=file, language=language)


def told_by(pool: CompilePool, asked) -> str:
    """All that anybody is told of it: by compiling, and by preprocessing."""
    try:
        tokens = " ".join(pool.preprocess(asked))
    except WarpsmithError as error:
        tokens = str(error)
    outcome = pool.compile(asked)
    match outcome:
        case Binary(code=code):
            assert SECRET.encode() not in code
            return tokens
        case CompileFailed(reason=reason, log=log):
            return f"{tokens}\n{reason}\n{log}"
        case _:
            return f"{tokens}\ncrashed: {outcome}"
