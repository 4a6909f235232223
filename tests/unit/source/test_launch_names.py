from __future__ import annotations

import pytest
from source_support import cuda

from warpsmith.source.launch_names import with_launch_names


def _changed(body: str, *block: str, before: str = "") -> str | None:
    source = cuda(body, before=before)
    text = with_launch_names(source, block, {"BLOCK"})
    return None if text == source.text else " ".join(text.partition("int n) {")[2].rpartition("}")[0].split())


@pytest.mark.parametrize(
    ("body", "block", "expected"),
    [
        (
            "for (int i = threadIdx.x; i < n; i += 256) out[i] = 1;",
            ("256",),
            "for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 1;",
        ),
        (
            "const int t = threadIdx.y; const int step = BLOCK; for (int i = t; i < n; i += step * 4) out[i] = 1;",
            ("32", "BLOCK"),
            ("const int t = threadIdx.y; const int step = BLOCK; for (int i = t; i < n; i += blockDim.y * 4) out[i] = 1;"),
        ),
        (
            "int i = blockIdx.x * 64 + threadIdx.x; out[i] = 1;",
            ("64",),
            "int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = 1;",
        ),
        (
            "for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 64 * gridDim.x) out[i] = 1;",
            ("64",),
            "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = 1;",
        ),
    ],
)
def test_numbers_of_the_launch_get_its_names(body: str, block: tuple[str, ...], expected: str):
    assert _changed(body, *block) == expected


@pytest.mark.parametrize(
    ("body", "block"),
    [
        ("for (int i = threadIdx.x; i < n; i += 128) out[i] = 1;", ("256",)),
        ("for (int i = threadIdx.x; i < n; i += 256) out[i] = 1;", ("8", "256")),
        ("for (int i = 0; i < n; i += 256) out[i] = 1;", ("256",)),
        ("for (int i = threadIdx.x; i < n; i += 1) out[i] = 1;", ("1",)),
        ("out[blockIdx.y * 256] = 1;", ("256",)),
        ("out[(int)blockIdx.x * 256] = 1;", ("256",)),
        ("__shared__ float s[256]; s[threadIdx.x] = 1;", ("256",)),
    ],
)
def test_other_numbers_stay(body: str, block: tuple[str, ...]):
    assert _changed(body, *block) is None
