from __future__ import annotations

import pytest
from source_support import cuda

from warpsmith.source.unit_strides import with_unit_strides


def _changed(body: str, before: str = "constexpr int V = 8;") -> str | None:
    source = cuda(body, before=before)
    text = with_unit_strides(source)
    return None if text == source.text else " ".join(text.partition("int n) {")[2].rpartition("}")[0].split())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "for (int i = threadIdx.x * 4; i < n; i += blockDim.x * 4) {\n  out[i] = 1;\n}",
            "for (int i_4 = threadIdx.x; i_4 < (n + 4 - 1) / 4; i_4 += blockDim.x) { const int i = i_4 * 4; out[i] = 1; }",
        ),
        (
            "const unsigned first = V * threadIdx.x;\nfor (unsigned i = first; i < n * V; i += V * 64) out[i] = 1;",
            (
                "const unsigned first = V * threadIdx.x; "
                "for (unsigned i_V = threadIdx.x; i_V < n; i_V += 64) { const unsigned i = i_V * V; out[i] = 1; }"
            ),
        ),
        (
            "const int l = threadIdx.x % 32;\nfor (int i = l * V; i < 128; i += 32 * V) { out[i] = 1; }",
            "const int l = threadIdx.x % 32; for (int i_V = l; i_V < 128 / V; i_V += 32) { const int i = i_V * V; out[i] = 1; }",
        ),
        (
            "for (int i = 2 * (blockIdx.x * 64 + threadIdx.x); i < n; i += 128 * gridDim.x) { out[i] = 1; }",
            (
                "for (int i_2 = (blockIdx.x * 64 + threadIdx.x); i_2 < (n + 2 - 1) / 2; i_2 += gridDim.x * (64)) "
                "{ const int i = i_2 * 2; out[i] = 1; }"
            ),
        ),
    ],
)
def test_groups_are_counted(body: str, expected: str):
    assert _changed(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 1;",  # counts one by one already
        "for (int i = threadIdx.x * 4 + 1; i < n; i += blockDim.x * 4) out[i] = 1;",  # begins inside a group
        "for (int i = threadIdx.x * 4 + n * 4; i < n; i += blockDim.x * 4) out[i] = 1;",  # n may be below zero
        "for (int i = 4 - threadIdx.x * 4; i < n; i += blockDim.x * 4) out[i] = 1;",  # so may this
        "for (int i = threadIdx.x * 4; i <= n; i += blockDim.x * 4) out[i] = 1;",
        "for (int i = threadIdx.x * 4; i < n; i += blockDim.x * 2) out[i] = 1;",
        "for (int i = threadIdx.x * 4; i < n; i += blockDim.x * 4) { out[i] = 1; i += 4; }",
        "for (int i = threadIdx.x * n; i < n; i += blockDim.x * n) out[i] = 1;",
        "int f = threadIdx.x * 4; f += 1; for (int i = f; i < n; i += blockDim.x * 4) out[i] = 1;",
        "int i_4 = 0; for (int i = threadIdx.x * 4; i < n; i += blockDim.x * 4) out[i] = i_4;",  # the name is taken
    ],
)
def test_other_loops_stay(body: str):
    assert _changed(body) is None


def test_a_loop_inside_another_waits_for_its_turn():
    inner = "for (int j = threadIdx.x * 4; j < n; j += blockDim.x * 4) out[j] = 1;"
    found = _changed(f"for (int i = threadIdx.y * 4; i < n; i += blockDim.y * 4) {{ {inner} }}")
    assert found is not None
    assert inner in found
