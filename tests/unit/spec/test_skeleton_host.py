"""`warpsmith init` on a file with host code: its launch, shapes and sizes, each with the line it was read from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warpsmith.spec.load import load_kernel
from warpsmith.spec.skeleton import skeleton

GUIDE = Path(__file__).parents[3] / "docs/guides/your-own-kernel.md"
TRANSPOSE = """\
#define TILE 32
#define CHECK(call) do { if ((call) != cudaSuccess) exit(1); } while (0)
__global__ void transpose(float* out, const float* in, int width, int height, float scale) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = scale * in[y * width + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
  if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}
int main(int argc, char** argv) {
  const int nx = 1024;
  int ny = argc > 1 ? atoi(argv[1]) : 512;
  const size_t bytes = nx * ny * sizeof(float);
  float *d_in, *d_out;
  CHECK(cudaMalloc(&d_in, bytes));
  CHECK(cudaMalloc((void**)&d_out, bytes));
  dim3 block(TILE, TILE);
  dim3 grid((nx + TILE - 1) / TILE, (ny + TILE - 1) / TILE);
  transpose<<<grid, block>>>(d_out, d_in, nx, ny, 2.0f);
  CHECK(cudaGetLastError());
}
"""


@pytest.fixture
def made(tmp_path):
    def make(text, name="k.cu"):
        source = tmp_path / name
        source.write_text(text)
        text = skeleton(source)
        (tmp_path / "kernel.toml").write_text(text)
        return text, load_kernel(tmp_path)

    return make


def sizes_of(kernel):
    return {workload.name: dict(workload.sizes) for workload in kernel.workloads}


def test_an_everyday_file_needs_no_hand(made):
    text, kernel = made(TRANSPOSE)
    assert (
        text
        == """\
[kernel]
name   = "transpose"
source = "k.cu"
entry  = "transpose"

[arguments]   # in the kernel's order; FILL IN: the order of axes, and how inputs are filled (init)
out    = { dtype = "f32", shape = ["width", "height"], role = "out" }   # k.cu:17
in     = { dtype = "f32", shape = ["width", "height"], role = "in" }   # k.cu:16
width  = { dtype = "i32", value = "width" }
height = { dtype = "i32", value = "height" }
scale  = { dtype = "f32", value = 2.0 }   # k.cu:20

[launch]   # k.cu:20: transpose<<<grid, block>>>(d_out, d_in, nx, ny, 2.0f)
grid  = ["ceildiv(width, 32)", "ceildiv(height, 32)"]
block = [32, 32]

[workloads]   # FILL IN: the shapes that matter; held-out ones only judge the result
host = { width = 1024, height = 512 }   # width from k.cu:12; height from k.cu:13
odd  = { width = 952, height = 472, heldout = true }

# [reference]   # without it the original kernel is the oracle
# python = "reference.py:transpose"
"""
    )
    assert sizes_of(kernel)["host"] == {"width": 1024, "height": 512}


def test_the_guide_shows_what_is_written(made):
    section = GUIDE.read_text().partition("## A kernel in the file of its host code")[2]
    code, toml = (re.search(rf"```{kind}\n(.*?)```", section, re.DOTALL)[1] for kind in ("cuda", "toml"))
    text, _ = made(code, "transpose.cu")
    assert toml in text


def test_templates_vectors_and_shared_memory(made):
    text, kernel = made(
        "template <typename T, int B> __global__ void k(const float4* p, T* out, int n, bool on) {\n"
        "  extern __shared__ float s[]; out[blockIdx.x * B + threadIdx.x] = p[n].x; }\n"
        "int main() { int n = 640; float4* p; double* q; cudaMalloc(&p, n * sizeof(float4)); cudaMalloc(&q, n * 8);\n"
        "  k<double, 64><<<(n + 63) / 64, 64, 64 * sizeof(float)>>>(p, q, n, true); }\n"
    )
    assert kernel.entry == "k<double, 64>"
    assert 'entry  = "k<double, 64>"   # k.cu:4\n' in text
    assert [(b.dtype.value, [e.text for e in b.shape]) for b in kernel.buffers] == [("f32", ["n", "4"]), ("f64", ["n"])]
    assert kernel.launch.shared_bytes.evaluate({}) == 256
    assert 'on  = { dtype = "bool", value = true }   # k.cu:4' in text


def test_what_was_not_followed_is_marked(made):
    text, kernel = made(
        "__global__ void k(float* a, const float* b, int n, float x, int step) { a[blockIdx.x * 64 + threadIdx.x] = b[n] * x; }\n"
        "void run(float* a, Tensor b, int n, float x) {\n"
        "  k<<<blocks_of(n), 64>>>(a, b.data<float>(), n, x, steps[0]); }\n"
    )
    lines = {line.partition(" ")[0]: line for line in text.splitlines()}
    assert "FILL IN: the shape" in lines["a"]
    assert lines["x"].endswith("value = 1.0 }   # FILL IN: k.cu:3 passes x")
    assert lines["step"].endswith('value = "step" }   # FILL IN: k.cu:3 passes steps[0]')
    assert lines["grid"] == 'grid  = ["ceildiv(n, 64)"]   # FILL IN: this could not be followed'
    assert lines["block"] == "block = [64]"
    assert lines["typical"].endswith("# FILL IN: n, step")
    assert sizes_of(kernel) == {"typical": {"n": 1024, "step": 1024}}


def test_several_launches_are_named(made):
    text, _ = made(
        "__global__ void k(float* a, int n) { a[blockIdx.x * 64 + threadIdx.x] = n; }\n"
        "int main() { int n = 64; float* a; cudaMalloc(&a, 4 * n);\n  k<<<n, 64>>>(a, n);\n  k<<<n, 32>>>(a, n);\n}\n"
    )
    assert "# FILL IN: this is the first of several launches; others differ: k.cu:4\n" in text
    assert "block = [64]" in text


def test_numbers_that_are_not_the_only_ones_are_marked(made):
    text, _ = made(
        "__global__ void k(float* a, int n) { a[blockIdx.x * 64 + threadIdx.x] = n; }\n"
        "int main(int argc, char** argv) { int n = 4096, w = atoi(argv[1]); float* a; cudaMalloc(&a, 4 * n);\n"
        "  for (int t = 32; t < 1024; t *= 2)\n    k<<<n / t, dim3(t, w)>>>(a, n);\n  n = 7;\n}\n"
    )
    assert "# FILL IN: t changes at k.cu:3; this is its first number\n" in text
    assert "# FILL IN: w is known only when the program runs" in text
    assert "n changes at k.cu:5" in text


def test_a_kernel_without_sizes(made):
    _, kernel = made(
        "#define N 512\n__global__ void k(int* a) { if (threadIdx.x < N) a[threadIdx.x] = 1; }\n"
        "int main() { int* a; cudaMalloc(&a, N * sizeof(int)); k<<<1, N>>>(a); }\n"
    )
    assert sizes_of(kernel) == {"host": {}}


@pytest.mark.parametrize("launch", ["k<<<n / 4096, 64>>>(a, n);", "k<<<1, 64>>>(a, -1);"])
def test_what_kernel_toml_refuses_falls_back_to_guesses(made, launch):
    body = "{ a[blockIdx.x * blockDim.x + threadIdx.x] = n; }"
    text, kernel = made(
        f"__global__ void k(float* a, unsigned n) {body}\nint main() {{ unsigned n = 100; float* a; {launch} }}\n"
    )
    assert f"# k.cu:2: {launch[:-1]}\n[launch]   # FILL IN" in text
    assert [e.text for e in kernel.launch.grid] == ["ceildiv(n, 256)"]


def test_odd_bytes_in_a_launch_are_no_part_of_its_comment(made):
    text, _ = made('__global__ void k(float* a) { a[0] = 1; }\nint main() { k<<<1, 1>>>(f("\x01\x7f")); }\n')
    assert '# k.cu:2: k<<<1, 1>>>(f(" "))' in text


def test_constants_of_the_file_are_numbers(made):
    text, _ = made("#define R 3\n__constant__ float taps[2 * R + 1];\n__global__ void k(float* a, int n) { a[n] = taps[0]; }\n")
    assert 'taps = { dtype = "f32", shape = [7] }\n' in text


def test_opencl_has_no_host_code(made):
    text, _ = made("__kernel void k(__global float* a, int n) { a[n] = 1; }\nvoid f() { k<<<n, 64>>>(a, n); }\n", "k.cl")
    assert "[launch]   # FILL IN: expressions over the workloads' sizes" in text
