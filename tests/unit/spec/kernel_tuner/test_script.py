"""`warpsmith init SCRIPT`: what a Kernel Tuner script says is what the kernel.toml says, and what it does not say is marked."""

from __future__ import annotations

import pytest

from warpsmith.core.errors import InputError
from warpsmith.isolation.confinement import confinement_report
from warpsmith.spec.kernel import Buffer
from warpsmith.spec.kernel_tuner.draft import draft
from warpsmith.spec.load import load_kernel

pytestmark = pytest.mark.skipif(not confinement_report().is_complete, reason="this system cannot confine")

ADD = """\
__global__ void add(float* c, const float* a, const float* b, int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
"""
ADD_SCRIPT = """\
import numpy as np
from kernel_tuner import tune_kernel
size = 100000
a = np.random.randn(size).astype(np.float32)
b = np.random.rand(size).astype(np.float32)
c = np.zeros_like(b)
tune_params = {}
tune_params["block_size_x"] = [32 * i for i in range(1, 5)]
tune_kernel("add", "add.cu", size, [c, a, b, np.int32(size)], tune_params)
"""


@pytest.fixture
def made(tmp_path):
    """The draft of a script beside a source, written and loaded."""

    def make(script, source=ADD, name="add.cu", kernel=None):
        (tmp_path / name).write_text(source)
        (tmp_path / "tune.py").write_text(script)
        found = draft(tmp_path / "tune.py", kernel)
        (tmp_path / "kernel.toml").write_text(found.text)
        if found.source is not None:
            found.source[0].write_text(found.source[1])
        return found.text, load_kernel(tmp_path)

    return make


def changed(old, new, script=ADD_SCRIPT):
    assert old in script
    return script.replace(old, new)


def described(kernel):
    return [
        (a.name, a.dtype.value, [str(e) for e in a.shape], a.role.value, a.init.kind)
        if isinstance(a, Buffer)
        else (a.name, a.dtype.value, str(a.value))
        for a in kernel.arguments
    ]


def launch(kernel):
    return [str(e) for e in kernel.launch.grid], [str(e) for e in kernel.launch.block]


def test_a_vector_addition(made):
    text, kernel = made(ADD_SCRIPT)
    assert described(kernel) == [
        ("c", "f32", ["size"], "out", "normal"),
        ("a", "f32", ["size"], "in", "normal"),
        ("b", "f32", ["size"], "in", "uniform"),
        ("n", "i32", "size"),
    ]
    assert launch(kernel) == (["ceildiv(size, block_size_x)"], ["block_size_x"])
    assert [(w.name, dict(w.sizes)) for w in kernel.workloads] == [("script", {"size": 100000})]
    assert [(p.name, p.values, p.default) for p in kernel.parameters] == [("block_size_x", (32, 64, 96, 128), 32)]
    assert "# size from tune.py:3" in text
    assert "oracle" in text


def test_a_product_with_tiles(made):
    source = """\
#ifndef tile_x
#define tile_x 2
#endif
__global__ void matmul(float *C, float *A, float *B) {
  int x = blockIdx.x * block_size_x * tile_x + threadIdx.x, y = blockIdx.y * block_size_y + threadIdx.y;
  for (int t = 0; t < tile_x; ++t) {
    float sum = 0;
    for (int k = 0; k < 256; ++k) sum += A[y * 256 + k] * B[k * 256 + x + t * block_size_x];
    C[y * 256 + x + t * block_size_x] = sum;
  }
}
"""
    script = """\
from collections import OrderedDict
import numpy, kernel_tuner
problem_size = (256, 256)
A = numpy.random.randn(*problem_size).astype(numpy.float32)
B = numpy.random.randn(*problem_size).astype(numpy.float32)
C = numpy.zeros_like(A)
tune_params = OrderedDict()
tune_params["block_size_x"] = [2**i for i in range(3, 6)]
tune_params["block_size_y"] = [2**i for i in range(6)]
tune_params["tile_x"] = list(range(1, 5))
restrict = ["block_size_x == block_size_y * 2"]
answer = [numpy.dot(A, B), None, None]
kernel_tuner.tune_kernel("matmul", "matmul.cu", problem_size, [C, A, B], tune_params, grid_div_x=["block_size_x", "tile_x"],
    restrictions=restrict, answer=answer, atol=1e-3, strategy="bayes_opt")
"""
    text, kernel = made(script, source, "matmul.cu")
    grid = ["ceildiv(problem_size_x, block_size_x * tile_x)", "ceildiv(problem_size_y, block_size_y)"]
    assert launch(kernel) == (grid, ["block_size_x", "block_size_y"])
    assert described(kernel)[0] == ("C", "f32", ["problem_size_x", "problem_size_y"], "out", "normal")
    assert dict(kernel.default_configuration) == {"block_size_x": 8, "block_size_y": 4, "tile_x": 2}, "what the source defines"
    assert [str(c.expression) for c in kernel.constraints] == ["block_size_x == block_size_y * 2"]
    assert kernel.reference.atol == 1e-3
    for words in ("not kept from tune.py:13: strategy", "`answer` is an array", "the source has 256 in it"):
        assert words in text


def test_a_convolution_with_its_filter_in_constant_memory(made):
    source = """\
__constant__ float taps[81];
__global__ void blur(float *out, const float *in, int w, int h) {
  int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
  if (x < w && y < h) {
    float sum = 0;
    for (int k = 0; k < 81; ++k) sum += taps[k] * in[(y + k / 9) * (w + 8) + x + k % 9];
    out[y * w + x] = sum;
  }
}
"""
    script = """\
import numpy as np
import kernel_tuner as kt
def tune(width=640, height=480, filter_size=9):
    with open("blur.cu") as f:
        source = f.read()
    padded = (width + filter_size - 1) * (height + filter_size - 1)
    image = np.random.uniform(0, 255, padded).astype(np.float32)
    out = np.empty((height, width), np.float32)
    taps = np.ones(filter_size**2).astype(np.float32)
    args = [out, image, np.int32(width), np.int32(height)]
    params = dict(BX=[8, 16, 32], BY=[4, 8])
    return kt.tune_kernel("blur", source, (width, height), args, params, cmem_args={"taps": taps},
        block_size_names=["BX", "BY"], compiler_options=["-O3", "-DFAST=1", "-DNAMED=x"], defines=None)
tune()
"""
    text, kernel = made(script, source, "blur.cu")
    assert launch(kernel) == (["ceildiv(width, BX)", "ceildiv(height, BY)"], ["BX", "BY"])
    assert described(kernel)[1][2] == ["(width + 8) * (height + 8)"]
    assert (kernel.arguments[1].init.low, kernel.arguments[1].init.high) == (0, 255)
    assert [(c.name, str(c.shape[0]), c.init.kind) for c in kernel.constants] == [("taps", "81", "ones")]
    assert kernel.defines == {"FAST": 1, "NAMED": "x"}
    assert "-O3" in text


def test_a_reduction_in_opencl(made):
    source = """\
__kernel void total(__global float *sums, __global const float *x, int n) {
  __local float sh[block_size_x];
  float sum = 0;
  for (int i = get_group_id(0) * block_size_x + get_local_id(0); i < n; i += block_size_x * blocks) sum += x[i];
  sh[get_local_id(0)] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) { for (int k = 1; k < block_size_x; ++k) sum += sh[k]; sums[get_group_id(0)] = sum; }
}
"""
    script = """\
import numpy
from kernel_tuner import tune_kernel, run_kernel
n = numpy.int32(1e5)
tune_params = {"block_size_x": [64, 128], "blocks": [16, 32]}
most = max(tune_params["blocks"])
args = []
args.append(numpy.zeros(most).astype(numpy.float32))
args += [numpy.random.rand(n).astype(numpy.float32), n]
run_kernel("total", "total.cl", "blocks", args, {"block_size_x": 64, "blocks": 16}, grid_div_x=[])
tune_kernel("total", "total.cl", "blocks", args, tune_params, grid_div_x=[], lang="OpenCL")
"""
    _, kernel = made(script, source, "total.cl")
    assert launch(kernel) == (["blocks"], ["block_size_x"])
    assert described(kernel)[0][2] == ["32"], "a number that comes from the parameters is no size"
    assert dict(kernel.workloads[0].sizes) == {"n": 100000}


def test_a_source_in_the_script_gets_a_file_of_its_own(made, tmp_path):
    script = changed('"add.cu"', f"'''{ADD}'''").replace('"add"', '"add"')
    _, kernel = made(script, "unused", "other.cu")
    assert kernel.source == tmp_path / "add.cu"
    assert kernel.source.read_text() == ADD


def test_of_several_kernels_one_is_chosen(made, tmp_path):
    script = ADD_SCRIPT + 'tune_kernel("other", "add.cu", size, [c, a, b, np.int32(size)], tune_params)\n'
    with pytest.raises(InputError, match=r"2 kernels:\n  add \(line 9\)\n  other \(line 10\)") as error:
        made(script)
    assert "--kernel" in str(error.value.hint)
    _, kernel = made(script, kernel="add")
    assert kernel.entry == "add"
    with pytest.raises(InputError, match="not called for 'ad'") as error:
        made(script, kernel="ad")
    assert error.value.hint == "did you mean 'add'?"
    twice = ADD_SCRIPT + ADD_SCRIPT.rpartition("\n")[0].splitlines()[-1] + "\n"
    assert "FILL IN: this is the first of several calls for this kernel; others: tune.py:10" in made(twice)[0]


@pytest.mark.parametrize(
    ("script", "line", "words"),
    [
        ("import numpy\n", None, "no call of tune_kernel"),
        ("import numpy\nx = (\n", 2, "invalid Python"),
        ("x = 1\0", None, "invalid Python"),
        (changed('"add.cu"', '"ad.cu"'), 9, "'ad.cu' does not exist"),
        (changed('"add.cu"', "make_source"), 9, "could not be followed"),
        (changed('"add.cu"', "lambda p: 'x'"), 9, "a function"),
        (changed('"add",', '"sub",'), None, "no kernel 'sub'"),
        (changed("tune_params)", "tune_params, lang='C')"), 9, "'C' is not a supported GPU language"),
    ],
)
def test_mistakes_are_named_with_their_place(made, tmp_path, script, line, words):
    with pytest.raises(InputError, match=words) as error:
        made(script)
    assert error.value.location is not None
    assert error.value.location.line == line


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[32 * i for i in range(1, 5)]", "values_of(device)", "FILL IN: its values could not be followed"),
        ("np.random.randn(size)", "load(size)", "FILL IN: the shape and init could not be followed; tune.py:4"),
        ("np.random.randn(size)", "np.sin(np.arange(size))", "FILL IN: init, which kernel.toml has no word for"),
        ("np.int32(size)]", "np.int32(count())]", "FILL IN: its value could not be followed"),
        ("tune_params)", "tune_params, restrictions=check)", "FILL IN: a restriction that could not be read (tune.py:9): check"),
        (
            "tune_params)",
            "tune_params, restrictions=['block_size_x in seen'])",
            "that could not be read (tune.py:9): block_size_x in",
        ),
        ("tune_params)", "tune_params, grid_div_x=[divisor])", "FILL IN: grid_div_x at tune.py:9"),
        ("tune_params)", "tune_params, smem_args={'size': s})", "FILL IN: smem_args"),
        (", size, [", ", problem(), [", "FILL IN: problem_size could not be followed"),
        ("[c, a, b, np.int32(size)]", "arguments()", "FILL IN: the arguments at tune.py:9"),
        ("tune_params)", "tune_params, **options)", "FILL IN: tune.py:9 passes **"),
        ("size = 100000", "size = 100000\nif fast():\n    tune_params = {'block_size_x': [8]}", "block_size_x"),
        (".astype(np.float32)\nb", "\nb", "FILL IN: the array is f64, but the kernel has `const float* a`"),
        ("tune_params)", "tune_params, cache='seen.json')", "--warm seen.json"),
        (
            '"block_size_x"] =',
            '"block_size_x"], tune_params["host_only"] =',
            "host_only: neither the source nor the launch uses it",
        ),
    ],
)
def test_what_cannot_be_followed_is_marked(made, old, new, words):
    text, _ = made(changed(old, new))
    assert words in text, text


def test_values_under_a_condition_are_marked(made):
    script = changed('tune_kernel("add"', 'if wide():\n    tune_params["block_size_x"] = [256]\ntune_kernel("add"')
    text, kernel = made(script)
    assert kernel.parameters[0].values == (32, 64, 96, 128)
    assert "FILL IN: the condition of tune.py:9 could not be followed" in text


def test_macros_that_kernel_tuner_defines(made):
    source = ADD.replace("{\n", "{\n#if kernel_tuner\n  if (block_size_y > 1 || grid_size_x < 1) return;\n#endif\n", 1)
    text, kernel = made(ADD_SCRIPT, source)
    assert kernel.defines == {"block_size_y": 1, "kernel_tuner": 1}
    assert "FILL IN: the source uses grid_size_x" in text


def test_a_source_default_outside_the_values_is_one_of_them(made):
    text, kernel = made(ADD_SCRIPT, f"#ifndef block_size_x\n#define block_size_x 48\n#endif\n{ADD}")
    assert kernel.parameters[0].values == (48, 32, 64, 96, 128)
    assert kernel.parameters[0].default == 48
    assert "48 is the source's own" in text


def test_parameters_among_template_arguments(made):
    source = "template <typename T, int N>\n__global__ void add(T* c, int n) { if (threadIdx.x < n) c[threadIdx.x] = N; }\n"
    script = changed("[c, a, b, np.int32(size)]", "[c, np.int32(size)]").replace('"add"', '"add<float, items>"')
    _, kernel = made(changed("tune_kernel(", "tune_params['items'] = [1, 2]\ntune_kernel(", script), source)
    assert kernel.entry == "add<float, items>"
    assert kernel.arguments[0].dtype.value == "f32"


def test_more_arguments_than_the_kernel_takes(made):
    text, kernel = made(changed("np.int32(size)]", "np.int32(size), a]"))
    assert len(kernel.arguments) == 4
    assert "passes 5 arguments, the kernel takes 4" in text


def test_a_script_that_writes_a_file_writes_none(made, tmp_path):
    script = f"import os\nopen({str(tmp_path / 'ran')!r}, 'w').write('x')\n{ADD_SCRIPT}"
    made(script)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("joined", ["{**more, **tune_params}", "tune_params | more", "dict(tune_params, **{}) | more"])
def test_what_was_not_followed_stays_so_where_dictionaries_are_joined(made, joined):
    head, call, rest = ADD_SCRIPT.partition("tune_kernel(")
    start = head.rindex("\n") + 1
    script = f"{head[:start]}more = {{}}\nmore[named()] = [1, 2]\ntune_params = {joined}\n{head[start:]}{call}{rest}"
    text, _ = made(script)
    assert "FILL IN: a parameter of tune.py:" in text


@pytest.mark.parametrize(
    ("options", "grid", "block"),
    [
        ("grid_div_x=None", "ceildiv(size, block_size_x)", "block_size_x"),
        ("grid_div_x=[]", "size", "block_size_x"),
        ("grid_div_x=['block_size_x', '2']", "ceildiv(size, block_size_x * 2)", "block_size_x"),
        (
            "grid_div_x=['block_size_x/2', 'block_size_x+1']",
            "ceildiv(size, (block_size_x // 2) * (block_size_x + 1))",
            "block_size_x",
        ),
        ("grid_div_x=[64]", "ceildiv(size, 64)", "block_size_x"),
        ("grid_div_x=lambda p: p['block_size_x'] * 4", "ceildiv(size, block_size_x * 4)", "block_size_x"),
        ("grid_div_x=lambda p: p['block_size_x'] / 32", "ceildiv(size, block_size_x // 32)", "block_size_x"),
        ("block_size_names=['other']", "size", "256"),
        ("block_size_names=missing", "ceildiv(size, block_size_x)", "block_size_x"),
    ],
)
def test_grid_and_block_are_kernel_tuners(made, options, grid, block):
    text, kernel = made(changed("tune_params)", f"tune_params, {options})"))
    assert launch(kernel) == ([grid], [block])
    assert ("keeps the fraction" in text) == (" / " in options)


@pytest.mark.parametrize(
    ("size", "grid"),
    [
        ("(size, 1, 1)", "ceildiv(size, block_size_x)"),
        ("'size_of * block_size_x'", "1"),
        ("'block_size_x * 8'", "ceildiv(block_size_x * 8, block_size_x)"),
        ("lambda p: (p['block_size_x'] * 2,)", "ceildiv(block_size_x * 2, block_size_x)"),
        ("lambda p: p['block_size_x'] * 2", "ceildiv(block_size_x * 2, block_size_x)"),
        ("1e5", "ceildiv(problem_size, block_size_x)"),
        ("np.int32(int(size / 2))", "ceildiv(size / 2, block_size_x)"),
        ("int(np.ceil(size / 48))", "ceildiv(ceildiv(size, 48), block_size_x)"),
    ],
)
def test_sizes_in_all_their_spellings(made, size, grid):
    _, kernel = made(changed(", size, [", f", {size}, ["))
    assert launch(kernel)[0] == [grid]


def test_arguments_of_all_kinds(made):
    source = """\
__global__ void add(float* c, const float* bias, float2 shift, bool flag, double scale, unsigned char small, long long wide,
                    int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i < n) c[i] += (bias ? bias[i] : scale) + shift.x + small + wide + flag;
}
"""
    given = "[c, None, pair, np.bool_(1), 2, 3, np.int64(-5), 10**30]"
    text, kernel = made(changed("[c, a, b, np.int32(size)]", given), source)
    assert [(a.name, a.dtype.value) for a in kernel.arguments] == [
        ("c", "f32"), ("bias", "f32"), ("shift", "f32"), ("flag", "bool"), ("scale", "f64"),
        ("small", "u8"), ("wide", "i64"), ("n", "i32"),
    ]  # fmt: skip
    assert kernel.arguments[1].null
    assert [str(a.value) for a in kernel.arguments[3:7]] == ["True", "2.0", "3", "-5"]
    assert (
        "FILL IN: its value could not be followed"
        in text.splitlines()[text.splitlines().index("[arguments]   # in the kernel's order") + 8]
    )
    assert kernel.arguments[0].init.kind == "zeros"


def test_a_compared_argument_is_written_and_others_are_said_to_be(made):
    text, kernel = made(changed("tune_params)", "tune_params, answer=[None, None, None, None])"))
    assert kernel.arguments[0].role.value == "out"
    source = "__global__ void add(float* c, float* a, float* b, int n) { touch(c, a, b, n * block_size_x); }\n"
    text, kernel = made(
        changed("tune_params)", "tune_params, answer=[a + b, None, None, None], defines={'X': f, 'Y': 2})"), source
    )
    assert kernel.arguments[0].role.value == "inout"
    assert "written, though the script does not compare it" in text
    assert "FILL IN: the define X" in text
    assert kernel.defines == {"Y": 2}


def test_restrictions_that_nothing_meets_are_comments(made):
    text, kernel = made(changed("tune_params)", "tune_params, restrictions=['block_size_x > 1000'])"))
    assert kernel.constraints == ()
    assert "# FILL IN: no configuration was found that meets all of these" in text
    assert '# expr = "block_size_x > 1000"' in text


def test_a_kernel_whose_body_cannot_be_parsed(made):
    hidden = "#define EACH for (int k = 0; k < 4; ++k) {\n#define END }\n#if block_size_x > 64\n#define MORE {\n#endif\n"
    source = hidden + ADD.replace(
        "  if (i < n)", "#if block_size_x > 64\n  if (i > 3) MORE\n#else\n  {\n#endif\n  EACH } } {\n  if (i < n)"
    )
    _, kernel = made(ADD_SCRIPT, source.replace("b[i];", "b[i]; END }"))
    assert [a.name for a in kernel.arguments] == ["c", "a", "b", "n"]
