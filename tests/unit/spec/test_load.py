"""kernel.toml: what it means, and that every mistake is answered with its place, what was found and a hint."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.spec.bundled import bundled_names, bundled_path
from warpsmith.spec.kernel import Buffer, Role, Scalar
from warpsmith.spec.load import load_kernel

GOOD = """\
[kernel]
name   = "silu"
source = "silu.cu"
entry  = "silu_kernel<float>"
defines = { WIDE = true }
include_dirs = ["include"]

[template]
source = "silu.template.cu"

[arguments]
out   = { dtype = "f32", shape = ["tokens", "d"], role = "out" }
in    = { dtype = "f32", shape = ["tokens", "2*d"], role = "in", init = "normal" }
index = { dtype = "i32", shape = ["tokens"], init = "randint", low = 0, high = 16 }
noise = { dtype = "f16", shape = "d", init = { kind = "uniform", low = -1, high = 1.5 } }
mine  = { dtype = "u8", shape = [16], init = { python = "reference.py:fill" }, role = "inout" }
mask  = { dtype = "bool", null = true }
d     = { dtype = "i32", value = "d" }
eps   = { dtype = "f32", value = 1e-5 }
flag  = { dtype = "bool", value = true }

[constants]
taps = { dtype = "f32", shape = [17], init = "ones" }

[launch]
grid   = ["tokens", 1]
block  = ["min(d / VEC, max_threads_per_block)"]
shared = "4 * BLOCK"

[workloads]
llama-7b  = { tokens = 512, d = 11008 }
"odd tail" = { tokens = 7, d = 1000, heldout = true, weight = 2 }

[reference]
python = "reference.py:silu"
rtol = 1e-5

[traffic]
bytes = "12 * tokens * d"
flops = 1000

[parameters]
BLOCK = { values = [32, 64, 1024], default = 1024 }
VEC   = { values = [1, 2, 4], default = 4 }

[[constraints]]
expr = "d % VEC == 0"
reason = "no tail handling"

[[constraints]]
expr = "BLOCK <= max_threads_per_block"
"""

SOURCE = """\
template <typename T>
__global__ void silu_kernel(T* out, const T* in, const int* index, const half* noise, unsigned char* mine, const bool* mask,
                            int d, float eps, bool flag) {}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "silu.cu").write_text(SOURCE)
    (tmp_path / "silu.template.cu").write_text(SOURCE)
    (tmp_path / "reference.py").write_text("import numpy as np\n\ndef silu(d): ...\n\ndef fill(shape): ...\n")
    (tmp_path / "include").mkdir()
    return tmp_path


def write(folder, text, name="kernel.toml"):
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_a_template_may_have_a_parameter_in_the_place_of_a_define(folder):
    taken = GOOD.replace("WIDE = true", "BLOCK = 1024")
    assert load_kernel(write(folder, taken)).default_configuration["BLOCK"] == 1024
    with pytest.raises(InputError, match="of BLOCK differs from the original's, which is 128"):
        load_kernel(write(folder, taken.replace("BLOCK = 1024", "BLOCK = 128")))
    with pytest.raises(InputError, match="'BLOCK' is a define and also a parameter"):
        load_kernel(write(folder, taken.replace('[template]\nsource = "silu.template.cu"\n', "")))


def test_everything_there_is(folder):
    kernel = load_kernel(write(folder, GOOD))
    assert (kernel.name, kernel.entry, kernel.language) == ("silu", "silu_kernel<float>", Language.CUDA)
    assert kernel.source == folder / "silu.cu"
    assert kernel.template_source == folder / "silu.template.cu"
    assert kernel.defines == {"WIDE": True}
    assert kernel.include_dirs == (folder / "include",)
    arguments = {a.name: a for a in kernel.arguments}
    assert list(arguments) == ["out", "in", "index", "noise", "mine", "mask", "d", "eps", "flag"]
    out, inner = arguments["out"], arguments["in"]
    assert isinstance(out, Buffer)
    assert (out.role, out.dtype, [str(e) for e in out.shape]) == (Role.OUT, DType.F32, ["tokens", "d"])
    assert (inner.role, inner.init.kind) == (Role.IN, "normal")
    index = arguments["index"]
    assert (index.init.kind, index.init.low, index.init.high) == ("randint", 0, 16)
    assert (arguments["noise"].init.low, arguments["noise"].init.high, len(arguments["noise"].shape)) == (-1, 1.5, 1)
    assert (arguments["mine"].init.python, arguments["mine"].role) == ("reference.py:fill", Role.INOUT)
    assert arguments["mask"].null
    assert isinstance(arguments["d"], Scalar)
    assert arguments["eps"].value.evaluate({}) == 1e-5
    assert arguments["flag"].value.evaluate({}) is True
    assert [(c.name, c.init.kind) for c in kernel.constants] == [("taps", "ones")]
    assert [w.name for w in kernel.tuning_workloads] == ["llama-7b"]
    (odd,) = kernel.heldout_workloads
    assert (odd.sizes, odd.weight) == ({"tokens": 7, "d": 1000}, 2.0)
    assert (kernel.reference.file, kernel.reference.function) == (folder / "reference.py", "silu")
    assert (kernel.reference.rtol, kernel.reference.atol) == (1e-5, None)
    assert kernel.traffic.bytes.evaluate({"tokens": 2, "d": 3}) == 72
    assert kernel.traffic.flops.evaluate({}) == 1000
    vec = kernel.parameters[1]
    assert (vec.name, vec.values, vec.default) == ("VEC", (1, 2, 4), 4)
    first = kernel.constraints[0]
    assert (str(first.expression), first.reason) == ("d % VEC == 0", "no tail handling")
    names = {"tokens": 512, "d": 11008, "VEC": 4, "BLOCK": 1024, "max_threads_per_block": 1024}
    geometry = kernel.launch.geometry(names)
    assert (geometry.grid, geometry.block, geometry.shared_bytes) == ((512, 1, 1), (1024, 1, 1), 4096)
    assert str(kernel.launch.block[0].location).endswith("kernel.toml:27:12")


@pytest.mark.parametrize("text", [GOOD.encode("utf-8-sig"), GOOD.replace("\n", "\r\n").encode()])
def test_byte_order_marks_and_carriage_returns(folder, text):
    assert load_kernel(write(folder, text)).name == "silu"


def test_a_folder_or_a_path_may_be_given(folder):
    write(folder, GOOD)
    assert load_kernel(folder) == load_kernel(str(folder / "kernel.toml")) == load_kernel(folder / "kernel.toml")


# (text to replace, by what, what is found, hint); @@ marks the place that the error must point at.
MISTAKES = [
    # shape of the file
    ('name   = "silu"', "name   = @@silu", "invalid TOML", "quotes"),
    ('[kernel]\nname   = "silu"\n', "[@@kernel]\n", "missing 'name' in [kernel]", None),
    ("[launch]", "[@@lunch]", "unknown key 'lunch'", "'launch'"),
    ("rtol = 1e-5", "@@rtl = 1e-5", "unknown key 'rtl' in [reference]", "'rtol'"),
    ('role = "in"', '@@roll = "in"', "unknown key 'roll' in [arguments.in]", "'role'"),
    ('kind = "uniform"', '@@knd = "uniform"', "unknown key 'knd' in [arguments.noise.init]", "'kind'"),
    ("rtol = 1e-5", "rtol = @@-1", "reference.rtol is -1, expected at least 0", None),
    ("rtol = 1e-5", "rtol = @@inf", "reference.rtol is inf, expected less than 1", None),
    ("rtol = 1e-5", "rtol = @@1", "reference.rtol is 1, expected less than 1", None),
    ("rtol = 1e-5", "atol = @@inf", "reference.atol is inf, expected a finite number", None),
    ("tokens = 512", 'tokens = @@"512"', "workloads.llama-7b.tokens is '512', expected an integer", None),
    ("tokens = 512", "tokens = @@51.2", "workloads.llama-7b.tokens is 51.2, expected an integer", None),
    ("heldout = true", "heldout = @@1", "is 1, expected true or false", None),
    ('grid   = ["tokens", 1]', 'grid = @@["tokens", 1, 1, 1]', "expected at most 3 entries", None),
    ('grid   = ["tokens", 1]', "grid = @@[]", "expected at least 1 entry", None),
    ('grid   = ["tokens", 1]', 'grid = ["tokens", @@1.5]', "launch.grid.1 is 1.5, expected an integer or an expression", None),
    ('grid   = ["tokens", 1]', "grid = @@1.5", "launch.grid is 1.5, expected an integer or an expression", None),
    ("default = 4 }", "default = @@[4] }", "parameters.VEC.default is [4], expected a number or text", None),
    ("low = -1", 'low = "@@a"', "unknown name 'a' in 'a'", None),
    ('init = "normal"', "init = @@3", "arguments.in.init is 3, expected a table", None),
    ("VEC   = { values = [1, 2, 4], default = 4 }", "@@VEC = { values = [1] }", "missing 'default'", "the original kernel"),
    ('[[constraints]]\nexpr = "d % VEC == 0"\n', "[[@@constraints]]\n", "missing 'expr' in [constraints.0]", None),
    ("values = [1, 2, 4]", "values = [1, 2, 4, @@inf]", "VEC lists inf, which is not finite", "finite"),
    ("values = [1, 2, 4]", "values = [1, 2, 4, @@nan]", "VEC lists nan, which is not finite", "finite"),
    # files
    ('source = "silu.cu"', 'source = @@"sliu.cu"', "kernel.source = 'sliu.cu' does not exist", "'silu.cu'"),
    ('source = "silu.template.cu"', 'source = @@"include"', "is a folder", None),
    ('["include"]', '[@@"inc"]', "include folder 'inc' does not exist", "relative"),
    ('source = "silu.cu"', 'source = @@"reference.py"', "unknown source suffix '.py'", "language ="),
    ('name   = "silu"', 'name = "silu"\nlanguage = @@"cudda"', "unknown language 'cudda'", "'cuda'"),
    ("silu_kernel<float>", "@@sliu_kernel<float>", "silu.cu has no kernel 'sliu_kernel'", "'silu_kernel'"),
    ("silu_kernel<float>", "@@other", "silu.cu has no kernel 'other'", "one of: silu_kernel"),
    ("silu_kernel<float>", "@@silu_kernel<float", "is not a valid kernel name", None),
    # the default configuration
    ('expr = "d % VEC == 0"', 'expr = "@@VEC > 1000"', "VEC > 1000 does not hold (VEC=4): no tail handling", "original kernel"),
    ('expr = "d % VEC == 0"', 'expr = "@@d < 5000"', "d < 5000 does not hold (d=11008) (workload 'llama-7b')", "every workload"),
    ('expr = "d % VEC == 0"', 'expr = "d > @@9 ** 9 ** 9"', "an exponent of 387420489", "exponents are from 0 to 64"),
    ('"reference.py:silu"', '@@"reference.py:sliu"', "reference.py has no function 'sliu'", "'silu'"),
    ('"reference.py:silu"', '@@"refrence.py:silu"', "the file 'refrence.py' does not exist", "'reference.py'"),
    ('"reference.py:silu"', '@@"reference.py"', "not a function's address", "reference.py:function"),
    ('"reference.py:fill"', '@@"reference.py:fil"', "no function 'fil'", "'fill'"),
    # arguments
    ('dtype = "u8"', 'dtype = @@"F32"', "unknown dtype 'F32'", "'f32'"),
    ('dtype = "u8"', 'dtype = @@"half"', "unknown dtype 'half'", "'f16'"),
    ('role = "inout"', 'role = @@"inut"', "unknown role 'inut'", "did you mean 'inout'?"),
    ('init = "normal"', 'init = @@"nrmal"', "unknown init 'nrmal'", "'normal'"),
    ('init = "normal"', '@@init = "normal", low = 1', "low and high belong to uniform and randint", None),
    ('init = "randint", low = 0, high', '@@init = "randint", low = 16, high', "low = 16 is not below high = 16", "exclusive"),
    ('role = "out" }', 'role = "out", @@init = "zeros" }', 'role "out"', "inout"),
    ("init = { python =", '@@init = { kind = "ones", python =', "both python and another init", None),
    ('value = "d" }', 'value = "d", @@shape = ["d"] }', "a scalar, and also 'shape'", None),
    ('d     = { dtype = "i32", value = "d" }', '@@d = { dtype = "i32" }', "'d' has neither shape nor value", "value ="),
    ("null = true }", 'null = true, role = @@"out" }', "null but has role 'out'", None),
    ("value = true }", "value = true, @@null = true }", "has a value and is null", None),
    ("value = 1e-5", 'value = "1e-5 @@+"', "nothing follows '+'", None),
    ('value = "d" }', 'value = "@@d / 3.0" }', "does not fit i32", "whole numbers"),
    ('value = "d" }', 'value = "@@d << 32" }', "does not fit i32", "whole numbers"),
    ("value = 1e-5", "value = \"@@'high'\"", "is text", "a number"),
    ('shape = [17], init = "ones"', "@@value = 17", "constant 'taps' has a value", "shape = [1]"),
    ('taps = { dtype = "f32",', '@@taps = { dtype = "f32", role = "inout",', "constant 'taps' can only be read", None),
    # names and expressions
    ('"tokens", "2*d"', '"tokens", "2*@@D"', "unknown name 'D' in '2*D'", "'d'"),
    ('"tokens", "2*d"', '"tokens", "2*@@VEC"', "unknown name 'VEC'", "workload sizes only"),
    ('bytes = "12 *', 'bytes = "@@warp_size *', "unknown name 'warp_size'", "[launch]"),
    ("d % VEC == 0", "d % @@VCE == 0", "unknown name 'VCE'", "'VEC'"),
    ("d % VEC == 0", "d == 0 or d % @@VCE == 0", "unknown name 'VCE'", "'VEC'"),
    ("[[constraints]]", '[[likely]]\nexpr = "@@VCE > 1"\n\n[[constraints]]', "unknown name 'VCE'", "'VEC'"),
    ("[[constraints]]", '[[likely]]\n@@if = "VEC > 1"\n\n[[constraints]]', "unknown key 'if'", None),
    ("d % VEC == 0", "d % VEC @@= 0", "unexpected character '='", "=="),
    ('"min(d / VEC', '"@@mim(d / VEC', "unknown function 'mim'", "min"),
    ("d = 11008 }", "d = 8, @@VEC = 1 }", "'VEC' is a workload size and also a parameter", "rename"),
    ("BLOCK = {", "@@warp_size = {", "'warp_size' is a parameter and also a device limit", "rename"),
    ("taps =", "@@d =", "both an argument and a constant", "rename"),
    ("BLOCK = {", "@@B-K = {", "'B-K' cannot be a name", None),
    # values
    ("default = 4 }", "default = @@8 }", "default 8 of VEC is not one of its values (1, 2, 4)", "the original kernel"),
    ("default = 4 }", "default = 4, likely = [2, @@8] }", "8, likely for VEC, is not one of its values (1, 2, 4)", "likely"),
    ("[1, 2, 4]", "[1, 2, 4, @@2]", "VEC lists the value 2 twice", None),
    ("values = [1, 2, 4]", "values = @@[]", "expected at least 1 entry", None),
    ("weight = 2", "weight = @@0", "'odd tail' has weight 0", "above 0"),
    ("[workloads]\nllama-7b  = {", "[@@workloads]\nllama-7b = { heldout = true,", "all workloads are held out", None),
    ('shape = ["tokens"]', 'shape = ["@@tokens - 8"]', "is -1 for workload 'odd tail'", "at least 1"),
    ('shape = "d"', 'shape = "@@d / 2.0"', "is 5504.0 for workload 'llama-7b' (d=11008)", "int(…)"),
    ('shape = "d"', 'shape = "@@1 / (d - 1000)"', "division by zero in '1 / (d - 1000)' with d=1000", None),
    ('bytes = "12 *', 'bytes = "@@-12 *', "bytes, '-12 * tokens * d', is -67633152 for workload 'llama-7b'", "at least 1"),
    ("flops = 1000", "flops = @@-1", "flops, '-1', is -1 for workload 'llama-7b'", "at least 0"),
    ('shared = "4 * BLOCK"', 'shared = "@@BLOCK - 2048"', "shared, 'BLOCK - 2048', is -1024", "at least 0"),
]  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES, ids=[found for _, _, found, _ in MISTAKES])
def test_mistakes(folder, mistake):
    old, new, found, hint = mistake
    assert old in GOOD
    marked = GOOD.replace(old, new, 1)
    before, _, _ = marked.partition("@@")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    with pytest.raises(InputError) as caught:
        load_kernel(write(folder, marked.replace("@@", "")))
    text = str(caught.value)
    assert found in text
    assert hint is None or re.search(rf"hint: .*{re.escape(hint)}", text)
    assert re.search(rf"kernel.toml:{line}:{column}: .*{re.escape(found)}", text), (line, column, text)


def test_only_sizes_of_every_workload_can_be_used(folder):
    extra = GOOD.replace("d = 11008 }", "d = 11008, k = 3 }")
    assert load_kernel(write(folder, extra)).workloads[0].sizes["k"] == 3
    with pytest.raises(InputError, match="unknown name 'k'") as caught:
        load_kernel(write(folder, extra.replace('"2*d"', '"k*d"')))
    assert "workload 'odd tail' has no size 'k'" in caught.value.hint


def test_without_workloads_nothing_is_said_of_their_sizes(folder):
    with pytest.raises(InputError) as caught:
        load_kernel(write(folder, re.sub(r"(?s)\[workloads\].*?\n\n", "[workloads]\n\n", GOOD)))
    assert caught.value.message == "no workload"


def test_sources_in_other_encodings_are_read(folder):
    (folder / "silu.cu").write_bytes(f"// größe\n{SOURCE}".encode("latin-1"))
    assert load_kernel(write(folder, GOOD)).name == "silu"


def test_all_problems_are_told_at_once_in_order(folder):
    broken = (
        GOOD.replace("reference.py:silu", "reference.py:sliu").replace('dtype = "u8"', 'dtype = "u9"').replace("% VEC", "% VCE")
    )
    with pytest.raises(InputError, match="3 problems") as caught:
        load_kernel(write(folder, broken))
    assert re.findall(r"kernel.toml:(\d+):\d+:", str(caught.value)) == ["16", "35", "47"]


@pytest.mark.parametrize("section", ["kernel", "arguments", "launch", "workloads"])
def test_a_missing_section_is_told_with_an_example(folder, section):
    parts = re.split(r"(?m)^(?=\[)", GOOD)
    with pytest.raises(InputError, match=re.escape(f"missing [{section}]")) as caught:
        load_kernel(write(folder, "".join(part for part in parts if not part.startswith(f"[{section}]"))))
    assert "hint: " in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"  \n\n", "the file is empty"),
        (b'[kernel]\nname = "\xff"', "byte 0xff is not UTF-8"),
        (b"[kernel", "invalid TOML"),
        (b'a = "', "invalid TOML"),
        (b"[kernel]\nname = 1\nname = 2\n", "invalid TOML"),
        (b"kernel = 3\n", "kernel is 3, expected a table"),
        (b"arguments = [1]\n", "arguments is [1], expected a table"),
    ],
)
def test_broken_files(folder, content, message):
    with pytest.raises(InputError) as caught:
        load_kernel(write(folder, content))
    assert message in str(caught.value)


def test_what_is_not_a_kernel(folder):
    with pytest.raises(InputError, match="'nothing' is neither a file, a folder nor a bundled kernel"):
        load_kernel("nothing")
    with pytest.raises(InputError, match="the folder has no kernel"):
        load_kernel(folder)
    with pytest.raises(InputError, match="this is a source file") as caught:
        load_kernel(folder / "silu.cu")
    assert "warpsmith init" in caught.value.hint


def test_the_reference_is_read_but_never_run(folder):
    (folder / "reference.py").write_text("raise SystemExit(1)\ndef silu(d): ...\ndef fill(shape): ...\n")
    assert load_kernel(write(folder, GOOD)).reference.function == "silu"
    (folder / "reference.py").write_text("def silu(:\n")
    with pytest.raises(InputError, match="invalid Python"):
        load_kernel(folder)


def test_a_function_may_be_imported_or_assigned(folder):
    (folder / "reference.py").write_text("from other import silu\nfill = lambda shape: None\n")
    assert load_kernel(write(folder, GOOD)).reference.function == "silu"


def test_every_bundled_kernel_loads_by_name():
    for name in bundled_names():
        kernel = load_kernel(name)
        assert kernel.path == bundled_path(name)
        assert kernel.heldout_workloads, f"{name} has no held-out workload"


def test_positions_of_unusual_toml(folder):
    """Dotted keys, sub-tables, several lines, quotes of every kind, letters beyond ASCII."""
    text = GOOD.replace('[kernel]\nname   = "silu"', "# grüße\n[kernel]\nname = 'silu'").replace('"2*d"', '"""\n2 *\n  dd"""')
    with pytest.raises(InputError, match="unknown name 'dd'") as caught:
        load_kernel(write(folder, text))
    assert str(caught.value.location).endswith(":16:3")
    table = GOOD.replace("[launch]\n", '[launch]\n"größe" = 1\n')
    with pytest.raises(InputError, match="unknown key 'größe'"):
        load_kernel(write(folder, table))
    subtable = GOOD.replace("[constants]", '[arguments.extra]\ndtype = "f99"\nvalue = 1\n[constants]')
    with pytest.raises(InputError, match="unknown dtype 'f99'") as caught:
        load_kernel(write(folder, subtable))
    assert str(caught.value.location).endswith(":23:9")


def test_places_far_down_a_long_file(folder):
    """More lines than CPython has integers of its own: tree-sitter 0.26 gave those away twice, and the process died."""
    text = GOOD.replace("[launch]\n", "#\n" * 5000 + "[launch]\nother = 1\n")
    for _ in range(50):
        with pytest.raises(InputError, match="unknown key 'other'") as caught:
            load_kernel(write(folder, text))
    assert str(caught.value.location).endswith(":5026:1")


_FRAGMENTS = [
    "[",
    "]",
    "{",
    "}",
    '"',
    "=",
    "\n",
    ",",
    "1",
    "-",
    ".",
    "true",
    "[[constraints]]\n",
    "[kernel.defines]\n",
    "é",
    "\x00",
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(GOOD)), st.integers(0, 30), st.lists(st.sampled_from(_FRAGMENTS), max_size=3))
def test_a_damaged_file_raises_nothing_but_input_errors(folder, start, length, inserted):
    damaged = GOOD[:start] + "".join(inserted) + GOOD[start + length :]
    with suppress(InputError):
        load_kernel(write(folder, damaged))


def test_what_the_source_includes_from_elsewhere_belongs_to_the_kernel(folder):
    common = folder.parent / f"{folder.name}-common"
    (common / "deep").mkdir(parents=True)
    (common / "outer.h").write_text('#include "deep/inner.h"\n')
    (common / "deep" / "inner.h").write_text("")
    (folder / "beside.h").write_text("")
    source = folder / "silu.cu"
    source.write_text(
        '#include "beside.h"\n#include "../@/outer.h"\n#include "missing.h"\n#include <vector>\n'.replace("@", common.name)
    )
    write(folder, GOOD)
    assert load_kernel(folder).include_dirs == (folder / "include", common)


@pytest.mark.parametrize("value", ["[" * 5000 + "]" * 5000, "9" * 5000, "{a=" * 3000])
def test_toml_beyond_all_measure_is_told(tmp_path: Path, value: str) -> None:
    (tmp_path / "kernel.toml").write_text(f"[kernel]\nname = {value}\n")
    with pytest.raises(InputError) as told:
        load_kernel(tmp_path)
    assert told.value.location is not None
    assert told.value.location.file == tmp_path / "kernel.toml"


def test_names_that_are_too_long_for_the_system_are_not_there() -> None:
    with pytest.raises(InputError, match="is neither a file"):
        load_kernel("x" * 5000)
