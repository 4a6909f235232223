from source_support import cuda

from warpsmith.core.hardware import Language
from warpsmith.source.constants import ConstantKind, constants_of
from warpsmith.source.kernel import parse_kernel


def _found(source, entry="k", outside=None) -> dict[str, tuple[int, ConstantKind]]:
    return {c.name: (c.value, c.kind) for c in constants_of(source, entry, outside or {})}


def test_each_kind_once():
    before = "#define A 16\n#define B (8)\n#ifndef C\n#define C 4\n#endif\nconstexpr int kD = 2;"
    source = cuda("const int e = 3; out[A + B + C + kD + e] = 0;", before=before)
    assert _found(source) == {
        "A": (16, ConstantKind.MACRO),
        "B": (8, ConstantKind.BRACKETED),
        "C": (4, ConstantKind.MACRO),
        "kD": (2, ConstantKind.FILE),
        "e": (3, ConstantKind.LOCAL),
    }


def test_the_token_is_what_says_the_value():
    source = cuda("constexpr int kLanes = 16 / sizeof(float); out[kLanes] = 0;")
    (constant,) = constants_of(source, "k", {})
    assert constant.kind is ConstantKind.ACCESS
    assert source.text[constant.start : constant.end] == "16"


def test_arguments_of_the_instance_and_only_numbers():
    text = "template <typename T, int N, bool B> __global__ void k(T* out) { out[N] = 0; }"
    source = parse_kernel(text, Language.CUDA, "k<float, 4, true>")
    assert _found(source, "k<float, 4, true>") == {"N": (4, ConstantKind.TEMPLATE)}


def test_what_the_kernel_does_not_use_is_not_its_constant():
    before = "#define IDLE 7\n#define TILE 4\n#define PITCH (TILE + 1)\n__device__ float table[kRows];\n".replace("kRows", "ROWS")
    source = cuda("out[PITCH] = table[0];", before="#define ROWS 9\n" + before)
    assert list(_found(source)) == ["ROWS", "TILE"]


def test_a_macro_with_several_definitions_is_left_alone():
    before = "#ifdef FAST\n#define T 64\n#else\n#define T 32\n#endif\n#define U 1\n#undef U\n#define U 2"
    assert _found(cuda("out[T + U] = 0;", before=before)) == {}


def test_suffixes_and_floats_are_no_whole_numbers():
    assert _found(cuda("out[A + B] = C;", before="#define A 16u\n#define B 0x10\n#define C 1.0f")) == {}


def test_what_the_host_defines():
    source = cuda("out[A + B + C + D] = 0;", before="#ifndef B\n#define B 4\n#endif\n#define C 2")
    given = {"A": 16, "B": 8, "C": 8, "D": 1.5, "IDLE": 3}
    # Of B neither number is sure to count for a reader of the source; C is the source's own, whatever the host says.
    assert _found(source, outside=given) == {"A": (16, ConstantKind.OUTSIDE), "C": (2, ConstantKind.MACRO)}
