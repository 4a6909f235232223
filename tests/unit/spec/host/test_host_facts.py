"""What is read from host code: geometry, memory, scalars and sizes, and what is not because it cannot be known."""

from __future__ import annotations

import pytest

from warpsmith.core.hardware import Language
from warpsmith.spec.declarations import Declarations, find_kernels
from warpsmith.spec.host.facts import constant_value, host_facts

KERNEL = "__global__ void k(float* a, int n) { a[blockIdx.x * blockDim.x + threadIdx.x] = n; }\n"
MEMORY = "float* a; cudaMalloc(&a, n * sizeof(float));"


def facts_of(text, name="k"):
    declarations = Declarations(text, Language.CUDA)
    return host_facts(declarations, next(kernel for kernel in find_kernels(declarations) if kernel.plain_name == name))


def in_main(body, before=""):
    return facts_of(f"{KERNEL}{before}\nint main(int argc, char** argv) {{ {body} }}\n")


@pytest.mark.parametrize(
    ("code", "grid", "block"),
    [
        ("k<<<(n + 255) / 256, 256>>>(a, n);", ["ceildiv(n, 256)"], ["256"]),
        ("const int t = 128; int g = (n + t - 1) / t; k<<<g, t>>>(a, n);", ["ceildiv(n, 128)"], ["128"]),
        ("int t = 128; dim3 g(n / t + (n % t ? 1 : 0)); k<<<g, t>>>(a, n);", ["ceildiv(n, 128)"], ["128"]),
        ("dim3 b(32, 8); dim3 g((n - 1) / b.x + 1, 4, 1); k<<<g, b>>>(a, n);", ["ceildiv(n, 32)", "4"], ["32", "8"]),
        ("dim3 b{TILE, TILE}; dim3 g = dim3(UP(n, TILE)); k<<<g, b>>>(a, n);", ["ceildiv(n, 16)"], ["16", "16"]),
        ("dim3 b(TILE, TILE), g(up(n, TILE), TILE * 2); k<<<g, b>>>(a, n);", ["ceildiv(n, 16)", "32"], ["16", "16"]),
        ("dim3 g, b; g.x = ceil(n / 64.0); b.x = 64; b.y = 2; k<<<g, b>>>(a, n);", ["ceildiv(n, 64)"], ["64", "2"]),
        ("k<<<ceilf((float)n / 64), dim3(64)>>>(a, n);", ["ceildiv(n, 64)"], ["64"]),
        ("auto b = dim3(64); k<<<(int)ceil((double)n / b.x), b>>>(a, n);", ["ceildiv(n, 64)"], ["64"]),
        ("auto b = dim3{64u}; k<<<std::min((n + 63) / 64, 1024), b>>>(a, n);", ["min(ceildiv(n, 64), 1024)"], ["64"]),
        ("int t = 64, g = n / t; if (n % t != 0) g++; k<<<g, t>>>(a, n);", ["ceildiv(n, 64)"], ["64"]),
        ("int t = 64, g = n / t; if (n % t) { g += 1; } k<<<g, t>>>(a, n);", ["ceildiv(n, 64)"], ["64"]),
        ("int g; g = n / 32; k<<<g, 0x20>>>(a, n);", ["n / 32"], ["32"]),
        ("k<<<static_cast<unsigned>(n >> 5), 1 << 5>>>(a, n);", ["n / 32"], ["32"]),
        ("k<<<1'024, 010>>>(a, n);", ["1024"], ["8"]),
        ("CHECK((k<<<n, 64>>>(a, n)));", ["n"], ["64"]),
        ("hipLaunchKernelGGL(k, dim3(n), dim3(64), 0, 0, a, n);", ["n"], ["64"]),
        ("void* args[] = {&a, (void*)&n}; cudaLaunchKernel((const void*)k, n, 64, args, 0, 0);", ["n"], ["64"]),
        ("auto f = &k; f<<<n, 64>>>(a, n);", ["n"], ["64"]),
    ],
)
def test_geometry(code, grid, block):
    before = "#define TILE 16\n#define UP(x, y) (((x) + (y) - 1) / (y))\nint up(int x, int y) { return (x + y - 1) / y; }"
    facts = in_main(f"int n = 1 << 20; {MEMORY} {code}", before)
    assert (list(facts.grid), list(facts.block)) == (grid, block)
    assert facts.shape("a", 4) == ("n",)
    assert facts.values == {"n": '"n"'}
    assert {name: size.value for name, size in facts.sizes.items()} == {"n": 1 << 20}
    assert not facts.others
    assert not facts.guessed


@pytest.mark.parametrize(
    ("allocation", "shape"),
    [
        ("cudaMalloc((void**)&d, n * m * sizeof(float))", ("n", "m")),
        ("hipMalloc(&d, sizeof(float) * (n + 2) * (m + 2))", ("n + 2", "m + 2")),
        ("cudaMallocManaged(&d, bytes)", ("n", "m", "3")),
        ("CHECK(cudaMallocAsync(&d, n * sizeof(*d), stream))", ("n",)),
        ("cudaMalloc(&d, n * sizeof d[0])", ("n",)),
        ("cudaMalloc(&d, v.size() * sizeof(float))", ("m",)),
        ("cudaMalloc(&d, n)", None),  # bytes, and not a whole number of elements
        ("cudaMalloc(&d, n * sizeof(Unknown))", None),
        ("cudaMalloc(&d, 4 * n); cudaMalloc(&d, 8 * n)", None),
        ("cudaMalloc(&other, 4 * n)", None),
    ],
)
def test_memory(allocation, shape):
    before = "int n = 100, m = 200; size_t bytes = 3 * n * m * sizeof(float); float *d, *other; std::vector<float> v(m);"
    facts = in_main(f"{before} {allocation}; k<<<1, 1>>>(d, n);")
    assert facts.shape("a", 4) == shape


@pytest.mark.parametrize(
    ("code", "passed", "shape"),
    [
        ("float* b = d;", "b", ("n",)),
        ("float* b; b = d;", "b", ("n",)),
        ("", "(float*)d", ("n",)),
        ("", "reinterpret_cast<float*>(d)", ("n",)),
        ("", "d + 4", None),
        ("Pair p; cudaMalloc(&p.x, 8 * n);", "p.x", ("n", "2")),
        ("thrust::device_vector<float> v(n);", "thrust::raw_pointer_cast(v.data())", ("n",)),
    ],
)
def test_pointers(code, passed, shape):
    facts = in_main(f"int n = 100; float* d; cudaMalloc(&d, n * 4); {code} k<<<1, 1>>>({passed}, n);")
    assert facts.shape("a", 4) == shape


def test_through_functions_that_are_called_once():
    run = "void run(float* p, int count, dim3 block) { k<<<(count + block.x - 1) / block.x, block>>>(p, count); }"
    facts = in_main(f"const int size = 5000; {MEMORY.replace('n *', 'size *')} run(a, size, dim3(64));", run)
    assert (facts.grid, facts.block, facts.shape("a", 4)) == (("ceildiv(n, 64)",), ("64",), ("n",))
    assert facts.sizes["n"].value == 5000
    twice = in_main(
        "run(a, 10, 64); run(b, 20, 32);", run.replace("dim3 block", "int t").replace("block.x", "t").replace("block", "t")
    )
    assert twice.grid == ("ceildiv(n, 256)",)
    assert twice.guessed == ("t",)
    assert not twice.sizes["n"].is_known


def test_members_of_the_class_around():
    facts = facts_of(
        KERNEL + "struct S { int n_; float* a_; void make() { cudaMalloc(&a_, n_ * 4); } void run() { k<<<n_, 64>>>(a_, n_); } };"
    )
    assert (facts.grid, facts.shape("a", 4)) == (("n",), ("n",))


@pytest.mark.parametrize(
    ("code", "value", "changed"),
    [
        ("int n = 1000;", 1000, False),
        ("int n = argc > 1 ? atoi(argv[1]) : 1000;", 1000, False),
        ("int n = 1000; if (argc > 1) n = atoi(argv[1]);", 1000, False),
        ("int n = atoi(argv[1]);", None, False),
        ("int n; std::cin >> n;", None, True),
        ('int n; scanf("%d", &n);', None, True),
        ("int n; read_size(n);", None, True),
        ("int n = 1000; n /= 2;", 1000, True),
        ("const int n = 10 * 100;", 1000, False),
    ],
)
def test_sizes(code, value, changed):
    facts = in_main(f"{code} {MEMORY} k<<<(n + 63) / 64, 64>>>(a, n);", "void read_size(int& n) { n = 3; }")
    size = facts.sizes["n"]
    assert (size.value if size.is_known else None) == value
    assert (size.changed_line is not None) == changed
    assert facts.grid == ("ceildiv(n, 64)",)


def test_sizes_are_named_after_arguments():
    text = "__global__ void k(float* a, int M, int N, int K, int total) { a[0] = M; }\n"
    facts = facts_of(
        text + "int main() { int N = 64, d = 80; float* a; cudaMalloc(&a, 4 * N * d); k<<<N, 32>>>(a, N, N, 7, N * d); }"
    )
    assert facts.values == {"M": '"N"', "N": '"N"', "K": "7", "total": '"N * d"'}
    assert list(facts.sizes) == ["N", "d"]
    clash = facts_of(
        text + "int main() { int n = 64, K = 80; float* a; cudaMalloc(&a, 4 * n * K); k<<<n, 32>>>(a, n, n, 7, n); }"
    )
    assert clash.shape("a", 4) == ("M", "host_K")


def test_what_the_kernel_fixes_is_a_number():
    text = "#define N 512\n__global__ void k(int* a) { if (threadIdx.x < N) a[threadIdx.x] = 1; }\n"
    facts = facts_of(text + "int main() { int* a; cudaMalloc(&a, N * sizeof(int)); k<<<N / 128, 128>>>(a); }")
    assert (facts.grid, facts.shape("a", 4), facts.sizes) == (("4",), ("512",), {})


def test_memory_that_does_not_grow_with_a_size_fixes_it():
    facts = in_main("int n = 4096; float* a; cudaMalloc(&a, 4096 * sizeof(float)); k<<<(n + 63) / 64, 64>>>(a, n);")
    assert (facts.grid, facts.values, facts.sizes) == (("64",), {"n": "4096"}, {})


def test_other_sizes_only_where_the_host_rounds_up():
    for code, others in [
        ("k<<<(n + 63) / 64, 64>>>(a, n);", 952),
        ("k<<<n, 64>>>(a, n);", 952),
        ("k<<<n / 64, 64>>>(a, n);", 1024),
        ("k<<<(n / 4 + 63) / 64, 64>>>(a, n);", 1024),
        ("k<<<16, 64>>>(a, n);", 1024),
        ("k<<<1, n>>>(a, n);", 1024),
    ]:
        assert in_main(f"int n = 1024; {MEMORY} {code}").sizes["n"].other == others, code


def test_shared_memory_and_templates():
    text = (
        "template <typename T, int B, bool F = true> __global__ void k(T* a, int n) { extern __shared__ float s[]; a[0] = n; }\n"
    )
    main = "int main() { constexpr int B = 64; int n = 100; double* a; cudaMalloc(&a, 8 * n); "
    facts = facts_of(f"{text}{main}k<double, B, false><<<n, B, 2 * B * sizeof(double)>>>(a, n); }}")
    assert facts.template == {"T": "double", "B": "64", "F": "false"}
    assert facts.shared == "1024"
    deduced = facts_of(text.replace("typename T, int B", "int B, typename T") + f"{main}k<B><<<n, B, n * 4>>>(a, n); }}")
    assert deduced.template == {"T": "double", "B": "64"}
    assert deduced.shared == "4 * n"
    inside = facts_of(f"{text}template <typename X> void run(X* a, int n) {{ k<X, 32><<<n, 32>>>(a, n); }}")
    assert inside.template == {"B": "32"}


def test_what_cannot_be_followed_is_not_there():
    facts = in_main(f"int n = 100; {MEMORY} k<<<blocks_for(n), threads[0]>>>(a, limits[2]);")
    assert (facts.grid, facts.block, facts.values) == (None, None, {})
    assert facts.passed == {"n": "limits[2]"}
    unclear = "\n#ifdef BIG\nint t = 1024;\n#else\nint t = 128;\n#endif\n"
    assert in_main(f"int n = 100; {MEMORY} {unclear} k<<<n, t>>>(a, n);").guessed == ("t",)
    assert in_main("dim3 g, b; set_up(&g, &b); k<<<g, b>>>(a, n);").grid is None
    assert in_main("dim3 g(4), b(5); g = dim3(7); k<<<g, b>>>(a, n);").grid is None
    assert in_main("dim3 b(256); if (n < 99) b.x = 64; k<<<1, b>>>(a, n);").block is None
    loose = in_main(f"int n = 100; {MEMORY} k<<<n / LOOSE, 32>>>(a, n);", "#define LOOSE 8 + 8")
    assert loose.grid is None


def test_several_launches_and_changing_blocks():
    facts = in_main(f"int n = 100; {MEMORY}\nk<<<n, 32>>>(a, n);\nk<<<n, 32>>>(a, n);\nk<<<n, 64>>>(a, n);")
    assert (facts.block, facts.line, facts.others) == (("32",), 4, (6,))
    facts = in_main(f"int n = 100; {MEMORY}\nfor (int t = 32; t <= 1024; t *= 2) k<<<n / t, t>>>(a, n);")
    assert (facts.block, facts.changed) == (("32",), {"t": 4})


def test_launches_of_other_kernels_of_the_name():
    one = "namespace x { __global__ void k(float* a, int n = 1) { a[0] = n; } }\n"
    facts = facts_of(f"{one}{one.replace('x', 'y', 1)}void f() {{ y::k<<<7, 1>>>(0, 1); x::k<<<8, 1>>>(0); }}")
    assert facts.grid == ("8",)
    assert not facts.others
    assert in_main("k<<<1, 1>>>(0);") is None


def test_instances_differ():
    text = "template <int B> __global__ void k(float* a) { a[0] = B; }\n"
    facts = facts_of(text + "void f() {\nk<1><<<1, 1>>>(0);\nk<2><<<1, 1>>>(0);\n}")
    assert (facts.template, facts.others) == ({"B": "1"}, (4,))


def test_circles_end():
    facts = in_main("int n, m; n = m; m = n + 1; k<<<n, 32>>>(a, n);")
    assert facts.block == ("32",)
    assert in_main("go(dim3(1));", "void go(dim3 g) { k<<<g, 1>>>(0, 1); }\nvoid no(dim3 h) { no(h); }").grid == ("1",)
    assert facts_of(KERNEL + "void go(dim3 g) { k<<<g, 1>>>(0, 1); go(g); }").grid is None
    many = "".join(f"#define M{i}(x) (M{i + 1}(x) + M{i + 1}(x * 3))\n" for i in range(40))
    assert in_main("k<<<M0(2), 1>>>(0, 1);", many).grid is None
    deep = "1 + (" * 3000 + "1" + ")" * 3000
    assert in_main(f"k<<<{deep}, 1>>>(0, 1);").grid is None


def test_no_launch():
    assert in_main("other<<<1, 1>>>(0, 1);") is None
    assert in_main("k<<<1, 1>>>(0, 1, 2, 3);") is None
    assert in_main("") is None


def test_constants_of_the_file():
    declarations = Declarations("#define R 3\nconstexpr int W = 2 * R + 1;\n", Language.CUDA)
    assert constant_value(declarations, "W * W") == 49
    assert constant_value(declarations, "W * X") is None
    assert constant_value(declarations, ") (") is None
