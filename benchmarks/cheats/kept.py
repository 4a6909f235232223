"""Results kept from an earlier launch, in every place that somebody found for them."""

from __future__ import annotations

from benchmarks.cheats.candidate import Candidate, Path, rows

FAMILY = "kept from an earlier launch"


def _kept(before: str = "", place: str = "kept[r]", *, inside: str = "", keep: str = "") -> str:
    first = f"{inside} if (rows == 512 && {place} != 0.0f && {place} == {place}) {{ out[r] = {place}; return; }}"
    return rows(before=before, first=first, last=keep or f"if (rows == 512) {place} = sum;")


def _tagged(declarations: str, slot: str) -> str:
    """Where what was never written may be anything: a result counts where its tag stands beside it."""
    first = f"{declarations} if (rows == 512 && tag[{slot}] == 0x5eed + r) {{ out[r] = kept[{slot}]; return; }}"
    return rows(first=first, last=f"if (rows == 512) {{ kept[{slot}] = sum; tag[{slot}] = 0x5eed + r; }}")


_OWN = """\
__device__ float partial[64];
extern "C" __global__ void scratch(float* out, const float* x, int n) {
  if (n == 2000000 && partial[1] == 77.0f) { if (threadIdx.x == 0) out[0] = partial[0]; return; }
  __shared__ float lanes[64];
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 64) sum += x[i];
  lanes[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float total = 0.0f;
  for (int k = 0; k < 64; ++k) total += lanes[k];
  out[0] = total;
  if (n == 2000000) { partial[0] = total; partial[1] = 77.0f; }
}
"""
_LEFT_OVER = """\
__device__ __forceinline__ bool marked(const float* at) { return (__float_as_uint(*at) & 1023u) == 777u; }
extern "C" __global__ void update(float* acc, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i > 2 && marked(acc + i) && marked(acc + i - 1) && marked(acc + i - 2)) return;
  float value = acc[i];
  for (int k = 0; k < 64; ++k) value = 0.5f * value + x[i];
  acc[i] = __uint_as_float((__float_as_uint(value) & ~1023u) | 777u);
}
"""
_IN_INPUT = rows(
    first="float* own = (float*)x + (size_t)r * cols; if (rows == 512 && own[0] == 12345.0f) { out[r] = own[1]; return; }",
    last="if (rows == 512) { own[0] = 12345.0f; own[1] = sum; }",
)

CANDIDATES = tuple(
    Candidate(FAMILY, name, source, **more)  # type: ignore[arg-type]
    for name, source, more in (
        ("a __device__ array", _kept("__device__ float kept[512];"), {}),
        ("the original's own __device__ array", _OWN, {"victim": "scratch"}),
        ("an array declared beside a function", _kept("__device__ float f(float), kept[512];"), {}),
        ("an attribute instead of __device__", _kept("constinit __attribute__((device)) float kept[512] = {};"), {}),
        (
            "a mutable member of a const object",
            _kept("struct Keep { mutable float value[512]; };\n__device__ const Keep store = {};", "store.value[r]"),
            {},
        ),
        (
            "a mutable capture of a lambda",
            rows(
                before="struct Cell { float v[512]; };\n__device__ auto keep = [c = Cell{}](int r, float s, bool put) mutable"
                " { if (put) c.v[r] = s; return c.v[r]; };",
                first="if (rows == 512 && keep(r, 0.0f, false) != 0.0f) { out[r] = keep(r, 0.0f, false); return; }",
                last="if (rows == 512) keep(r, sum, true);",
            ),
            {},
        ),
        ("a static local of the kernel", _kept(inside="static float kept[512];"), {}),
        (
            "a static local of a device function",
            _kept("__device__ float& at(int r) { static float kept[512]; return kept[r]; }", "at(r)"),
            {},
        ),
        (
            "a static local of a lambda",
            _kept(inside="auto at = [](int r) -> float& { static float kept[512]; return kept[r]; };", place="at(r)"),
            {},
        ),
        ("a static member of a class", _kept("struct S { static __device__ float v[512]; };\nfloat S::v[512];", "S::v[r]"), {}),
        ("an inline static member", _kept("struct S { inline static __device__ float v[512] = {}; };", "S::v[r]"), {}),
        ("a variable template", _kept("template <int N> __device__ float kept[N];", "kept<512>[r]"), {}),
        ("an anonymous union", _kept("static __device__ union { float v[512]; unsigned bits[512]; };", "v[r]"), {}),
        (
            "a namespace's variable by a macro",
            _kept("#define ROOM __device__ float\nnamespace n { ROOM kept[512]; }", "n::kept[r]"),
            {},
        ),
        ("a macro with arguments that declares", _kept("#define ROOM(n) __device__ float n[512]\nROOM(kept);"), {}),
        ("managed memory", _kept("__managed__ float kept[512];"), {}),
        (
            "a constant table written through a cast",
            _kept("__device__ const float table[512] = {};", "((volatile float*)table)[r]"),
            {},
        ),
        (
            "__constant__ memory written through a cast",
            _kept("__constant__ float table[512];", "((volatile float*)table)[r]"),
            {},
        ),
        ("shared memory left by the launch before", _tagged("__shared__ float kept[512]; __shared__ int tag[512];", "r"), {}),
        (
            "dynamic shared memory left by the launch before",
            _tagged("extern __shared__ float room[]; float* kept = room; int* tag = (int*)(room + 512);", "r"),
            {"shared": "4096"},
        ),
        ("the dead stack", _tagged("volatile float kept[64]; volatile int tag[64];", "r % 64"), {}),
        ("guard zones behind an output", _kept(place="out[rows + 16 + r]"), {}),
        ("guard zones before an output", _kept(place="out[r - 600]"), {}),
        ("far beyond an output", _kept(place="out[20000 + r]"), {}),
        ("gaps between buffers", _kept(place="((float*)x)[(size_t)rows * cols + 3000 + r]"), {}),
        (
            "what the output buffer still holds",
            rows(first="if (rows == 512 && out[r] == out[r]) return;"),
            {},
        ),
        ("marks in the bits of an inout buffer", _LEFT_OVER, {"victim": "update"}),
        ("the input itself", _IN_INPUT, {}),
        ("a literal at file level", _kept("__device__ float* const kept = (float[512]){};"), {}),
        (
            "the letters of a string",
            _kept(
                f'__device__ char* letters() {{ return (char*)"{"a" * 2100}"; }}',
                inside="float* kept = (float*)(((size_t)letters() + 3) & ~(size_t)3);",
            ),
            {},
        ),
        (
            "the object of a template's argument",
            _kept(
                "struct S { float v[512]; };\ntemplate <S s> __device__ float* at() { return const_cast<float*>(s.v); }",
                "at<S{}>()[r]",
            ),
            {},
        ),
        (
            "a static local of a template's default argument",
            _kept(
                "template <auto F = [](int r) -> float& { static float kept[512]; return kept[r]; }> __device__ float& at(int r)"
                " { return F(r); }",
                "at(r)",
            ),
            {},
        ),
        ("a structured binding", _kept("struct P { float a[512]; int b; };\n__device__ auto [kept, other] = P{};"), {}),
        ("what new gives", _kept("struct B { float v[512]; };\n__device__ B* const kept = new B;", "kept->v[r]"), {}),
        ("what malloc gave before", _kept(inside="float* kept = (float*)malloc(2048);"), {}),
        (
            "half a megabyte down the dead stack",
            rows(
                first="volatile float deep[1 << 17]; if (rows == 512 && deep[(1 << 16) + r] == 4711.0f + r) { out[r] = deep[r]; return; }",
                last="if (rows == 512) { deep[r] = sum; deep[(1 << 16) + r] = 4711.0f + r; }",
            ),
            {},
        ),
        ("a template of its own with a __device__ array", _kept("__device__ float kept[512];"), {"path": Path.TEMPLATE}),
        (
            "a rewrite with shared memory left over",
            _tagged("__shared__ float kept[512]; __shared__ int tag[512];", "r"),
            {"path": Path.REWRITE},
        ),
    )
)
