"""The header's host side, compiled and run: it gives what the launch expressions say. And what its device side must not leak."""

from __future__ import annotations

import ctypes
import itertools
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language
from warpsmith.devices._clang.binary import clang_binary
from warpsmith.export.expressions import spelled
from warpsmith.export.header import HeaderExporter
from warpsmith.export.header.cpp_text import HELPERS, Cpp, identifier
from warpsmith.export.header.enclosing import enclosed
from warpsmith.spec.kernel import Buffer
from warpsmith.testing.exporters import LIMITS, awkward_kernel, shipment_of_kernel
from warpsmith.tuning.afterwards.choices import OfTemplate

GENERAL = Configuration.of({"BLOCK": 32, "VEC": 2, "CHECKED": False})
OWN = {
    "x.1": Configuration.of({"BLOCK": 64, "VEC": 4, "CHECKED": False}),
    "x-1": Configuration.of({"BLOCK": 128, "VEC": 2, "CHECKED": True}),
}


def on_the_host(text: str, folder: Path) -> ctypes.CDLL:
    """With every warning an error: the header is for other people's builds."""
    (folder / "host.cpp").write_text(text)
    flags = ["-triple", "x86_64-unknown-linux-gnu", "-emit-obj", "-mrelocation-model", "pic", "-pic-level", "2", "-std=c++11"]
    warnings = ["-Wall", "-Wextra", "-Werror", "-x", "c++", "-I", str(folder)]
    files = ["-o", str(folder / "host.o"), str(folder / "host.cpp")]
    subprocess.run([clang_binary(), "clang", "-cc1", *flags, *warnings, *files], check=True)
    subprocess.run([clang_binary(), "ld.lld", "-shared", "-o", folder / "host.so", folder / "host.o"], check=True)
    return ctypes.CDLL(str(folder / "host.so"))


@pytest.fixture
def shipment(tmp_path: Path):
    return shipment_of_kernel(awkward_kernel(tmp_path / "code"), GENERAL, OWN)


def test_the_host_function_gives_the_launch_of_every_workload_and_of_other_sizes(shipment, tmp_path):
    HeaderExporter().write(shipment, tmp_path)
    asking = """
#include "awkward.tuned.h"
extern "C" void ask(long long rows, long long d, long long most, long long* out) {
  const awkward_tuned::Launch launch = awkward_tuned::launch_for(rows, d, most);
  *out++ = static_cast<long long>(launch.configuration);
  *out++ = launch.allowed;
  for (long long extent : launch.grid) *out++ = extent;
  for (long long extent : launch.block) *out++ = extent;
  *out++ = launch.shared_bytes;
  *out++ = launch.packs;
}
"""
    library = on_the_host(asking, tmp_path)
    assert "cudaFuncAttributeMaxDynamicSharedMemorySize, launch.shared_bytes" in (tmp_path / "awkward.tuned.h").read_text()
    kernel, exact = shipment.kernel, {tuple(w.sizes.values()): w.name for w in shipment.kernel.workloads}
    chosen = [GENERAL, *OWN.values()]
    packs = next(argument for argument in kernel.arguments if argument.name == "packs")
    others = [(4, 255), (1, 1), (3, 256), (1000, 3_000_000_000)]
    for (rows, d), most in itertools.product([*exact, *others], (16, 1024)):
        out = (ctypes.c_longlong * 10)()
        library.ask(*(ctypes.c_longlong(value) for value in (rows, d, most)), out)
        configuration = OWN.get(exact.get((rows, d), ""), GENERAL)
        names = {**LIMITS.names(), "rows": rows, "d": d, "max_threads_per_block": most, **configuration}
        geometry = kernel.launch.geometry(names)
        allowed = all(constraint.expression.evaluate(names) for constraint in kernel.constraints)
        expected = [*geometry.grid, *geometry.block, geometry.shared_bytes, packs.value.evaluate(names)]
        assert list(out) == [chosen.index(configuration), allowed, *expected], (rows, d, most)


EXPRESSIONS = (
    "a / b", "a // b", "a % b", "-a / b", "a / -b", "-a % b", "a - b - c", "a ** 2", "a << 2 | b & c ^ 1", "~a", "ceildiv(a, b)",
    "ceildiv(-a, b)", "round_up(a, b)", "round_down(-a, b)", "divides(b, a)", "is_pow2(a)", "log2(a)", "min(a, b, c)",
    "max(a, b) - abs(-c)", "a < b <= c", "a in (1, 2, 12)", "a not in (b, c)", "a > b and not b == c or c",
    "a if b > c else -b", "int(a / 2.5)", "gcd(a, b, c)", "lcm(a, b)", "ceildiv(a - b, b + 1) * (c - 1)", "min(a, 2.5) * 2 > b",
)  # fmt: skip


def test_expressions_mean_the_same_in_cpp(tmp_path):
    parsed = [Expression.parse(text) for text in EXPRESSIONS]
    lines = "".join(f"  *out++ = static_cast<long long>({spelled(expression, Cpp())});\n" for expression in parsed)
    library = on_the_host(
        f'{HELPERS}extern "C" void ask(long long a, long long b, long long c, long long* out) {{\n{lines}}}\n', tmp_path
    )
    for a, b, c in itertools.product((1, 7, 12, 4096), (1, 2, 5), (1, 3)):
        out = (ctypes.c_longlong * len(parsed))()
        library.ask(*(ctypes.c_longlong(value) for value in (a, b, c)), out)
        expected = [int(expression.evaluate({"a": a, "b": b, "c": c})) for expression in parsed]
        assert dict(zip(EXPRESSIONS, out, strict=True)) == dict(zip(EXPRESSIONS, expected, strict=True)), (a, b, c)


def test_headers_of_others_stay_outside_and_the_kernels_own_come_inside(shipment, tmp_path):
    source = tmp_path / "code" / "kernel" / "awkward.cu"
    (source.parent / "guarded.h").write_text(
        '#ifndef G\n#define G\n#include <math.h>  // sine\n#include "guarded.h"\nint g;\n#endif\n'
    )
    text = '#include "guarded.h"\n#include "guarded.h"\n#if X\n#include <special.h>\n#endif\nextern "C" void k();\n'
    found = enclosed(shipment.kernel, source, text, ("outer", "inner")).split("\n")
    assert found[:3] == ['#pragma push_macro("G")', "namespace outer { namespace inner {", "// from guarded.h:"]
    assert found[-2] == '#pragma pop_macro("G")'
    for line in ("#include <math.h>  // sine", "#include <special.h>"):
        at = found.index(line)
        assert (found[at - 1], found[at + 1]) == ("}}  // namespace outer::inner", "namespace outer { namespace inner {")
    assert 'extern "C++" void k();' in found
    assert not any('guarded.h"' in line for line in found)
    opened, closed = (sum(line.startswith(start) for line in found) for start in ("namespace", "}}"))
    assert opened == closed == 4


def test_macros_are_put_back_however_they_are_spelled(shipment, tmp_path):
    source = tmp_path / "code" / "kernel" / "awkward.cu"
    spelled = (
        "#define A(x) x",
        "%:define B 1",
        "#def\\\nine C 2",
        "/**/ # /**/ define D 3",
        "#undef E",
        "// #define F\n#if 0\n#define G\n#endif",
    )
    found = enclosed(shipment.kernel, source, "\n".join(spelled) + "\nvoid k();\n", ("outer",))
    for word in ("push", "pop"):
        assert re.findall(rf'#pragma {word}_macro\("(\w+)"\)', found) == ["A", "B", "C", "D", "E", "G"]


def test_names_of_workloads_are_names_of_namespaces():
    assert identifier("for_x.1") == "for_x_1"
    assert identifier("for_x-1", ["for_x_1"]) == "for_x_1_2"
    assert identifier("3d") == "_3d"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"language": Language.OPENCL}, "for CUDA and HIP kernels"),
        ({"constants": (Buffer("filter", None, ()),)}, "reads the symbol 'filter'"),
    ],
)
def test_what_a_header_cannot_hold_is_refused(shipment, tmp_path, change, said):
    with pytest.raises(InputError, match=said) as caught:
        HeaderExporter().write(replace(shipment, choices=OfTemplate.of(replace(shipment.kernel, **change))), tmp_path)
    assert caught.value.hint == "--format source"
