"""`warpsmith init FILE.T1.json`: the schema that Kernel Tuner ships, as others write it. What we export ourselves: tests/e2e."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from warpsmith.core.errors import InputError
from warpsmith.spec.kernel_tuner.draft import draft
from warpsmith.spec.load import load_kernel

SOURCE = """\
__constant__ float taps[25];
__global__ void blur(float *out, const float *in, int w, float weight) {
  int x = blockIdx.x * block_size_x * tile + threadIdx.x, y = blockIdx.y * block_size_y + threadIdx.y;
  for (int t = 0; t < tile; ++t) out[y * w + x + t * block_size_x] = weight * taps[t] * in[y * w + x + t * block_size_x];
}
"""
T1 = {
    "General": {"FormatVersion": 1},
    "ConfigurationSpace": {
        "TuningParameters": [
            {"Name": "block_size_x", "Type": "int", "Values": "[16*i for i in range(1,5)]", "Default": 32},
            {"Name": "block_size_y", "Type": "int", "Values": "[2**i for i in range(4)]"},
            {"Name": "tile", "Type": "int", "Values": "[1, 2, 4]", "Default": 1},
            {"Name": "unused", "Type": "int", "Values": "[0, 1]", "Default": 0},
        ],
        "Conditions": [
            {"Expression": "block_size_x * block_size_y % 32 == 0", "Parameters": ["block_size_x", "block_size_y"]},
            {"Expression": "tile >= 1 and True", "Parameters": ["tile"]},
        ],
    },
    "KernelSpecification": {
        "Language": "CUDA",
        "CompilerOptions": ["-std=c++11", "-DFAST=2"],
        "KernelName": "blur",
        "KernelFile": "blur.cu",
        "GlobalSizeType": "CUDA",
        "LocalSize": {"X": "block_size_x", "Y": "block_size_y", "Z": "1"},
        "GlobalSize": {"X": "1024 // block_size_x", "Y": "512 // block_size_y", "Z": "1"},
        "ProblemSize": [1024, 512],
        "GridDivX": ["block_size_x", "tile"],
        "GridDivY": ["block_size_y"],
        "SharedMemory": 0,
        "Stream": None,
        "Arguments": [
            {"Name": "o", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "FillType": "Constant",
             "Size": 524288, "FillValue": 0.0},
            {"Name": "i", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random",
             "Size": "ProblemSize[0] * (ProblemSize[1] + max(tile))", "FillValue": 1.0},
            {"Name": "w", "Type": "int32", "MemoryType": "Scalar", "FillType": "Constant", "FillValue": 1024},
            {"Name": "weight", "Type": "float", "MemoryType": "Scalar", "FillType": "Constant", "FillValue": 0.5},
            {"Name": "taps", "Type": "float", "MemoryType": "Symbol", "FillType": "Random", "Size": 25},
        ],
    },
}  # fmt: skip


@pytest.fixture
def made(tmp_path):
    def make(document):
        (tmp_path / "blur.cu").write_text(SOURCE)
        (tmp_path / "blur.json").write_text(json.dumps(document))
        text = draft(tmp_path / "blur.json").text
        (tmp_path / "kernel.toml").write_text(text)
        return text, load_kernel(tmp_path)

    return make


def test_what_it_says_is_what_is_written(made):
    text, kernel = made(T1)
    assert [str(e) for e in kernel.launch.grid] == [
        "ceildiv(problem_size_x, block_size_x * tile)",
        "ceildiv(problem_size_y, block_size_y)",
    ]
    assert [str(e) for e in kernel.launch.block] == ["block_size_x", "block_size_y"]
    assert dict(kernel.workloads[0].sizes) == {"problem_size_x": 1024, "problem_size_y": 512}
    out, image, width, weight = kernel.arguments
    assert ([str(e) for e in out.shape], out.role.value) == (["problem_size_y * problem_size_x"], "out")
    assert ([str(e) for e in image.shape], image.role.value, image.init.kind) == (["528384"], "in", "normal")
    assert (str(width.value), str(weight.value)) == ("problem_size_x", "0.5")
    assert [(c.name, c.init.kind) for c in kernel.constants] == [("taps", "normal")]
    assert dict(kernel.default_configuration) == {"block_size_x": 32, "block_size_y": 1, "tile": 1}
    assert [str(c.expression) for c in kernel.constraints] == ["block_size_x * block_size_y % 32 == 0"]
    assert kernel.defines == {"FAST": 2}
    for words in ("#   tile >= 1", "# unused: neither", "-std=c++11"):
        assert words in text


def test_without_a_problem_size_the_grid_is_the_global_size(made):
    document = copy.deepcopy(T1)
    del document["KernelSpecification"]["ProblemSize"]
    _, kernel = made(document)
    assert [str(e) for e in kernel.launch.grid] == ["1024 // block_size_x", "512 // block_size_y"]
    document["KernelSpecification"] |= {"GlobalSizeType": "OpenCL", "GlobalSize": {"X": "1024", "Y": "512"}}
    _, kernel = made(document)
    assert [str(e) for e in kernel.launch.grid] == [
        "ceildiv(problem_size_x, block_size_x)",
        "ceildiv(problem_size_y, block_size_y)",
    ]


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("{", "invalid JSON", 1),
        ("[]", "not a T1 file: it has no ConfigurationSpace", None),
        ('{"ConfigurationSpace": {}}', "it has no KernelSpecification", None),
        ('{"ConfigurationSpace": {}, "KernelSpecification": {}}', "has no KernelName", None),
        (json.dumps(T1).replace("blur.cu", "blurred.cu"), "'blurred.cu' does not exist", None),
        (json.dumps(T1).replace('"CUDA", "Com', '"Vulkan", "Com'), "'Vulkan' is not a supported GPU language", None),
        (json.dumps(T1).replace('"Name": "unused"', '"Name": "\\ud800"'), r"\\ud800, half of a character", None),
        (json.dumps(T1).replace('"Name": "tile", ', ""), "a parameter has no Name", None),
    ],
)
def test_mistakes(tmp_path, text, words, line):
    (tmp_path / "blur.cu").write_text(SOURCE)
    (tmp_path / "t1.json").write_text(text)
    with pytest.raises(InputError, match=words) as error:
        draft(tmp_path / "t1.json")
    assert error.value.location is not None
    assert error.value.location.line == line


def paths(value, path=()):
    """Every place in a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*path, key))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(path=("KernelSpecification", "Arguments", 4, "Name"), value="\ud800")
@given(
    st.sampled_from([path for path in paths(T1) if path]),
    st.sampled_from(
        [
            None,
            0,
            -1,
            1.5,
            True,
            "",
            "x",
            "9**9**9",
            "[1]*10**9",
            "__import__('os')",
            [],
            {},
            [None],
            10**30,
            "\0",
            "a\nb",
            "\ud800",
        ]
    ),
)
def test_odd_values_are_errors_or_marked_and_never_more(tmp_path, path, value):
    document = copy.deepcopy(T1)
    inner = document
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    (tmp_path / "blur.cu").write_text(SOURCE)
    (tmp_path / "blur.json").write_text(json.dumps(document))
    try:
        text = draft(tmp_path / "blur.json").text
    except InputError:
        return
    (tmp_path / "kernel.toml").write_text(text)
    if "`warpsmith check` says" not in text:
        load_kernel(tmp_path)
