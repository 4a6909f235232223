from __future__ import annotations

import pytest
from source_support import cuda

from warpsmith.source.canonical_loops import with_plain_loops


def _changed(body: str, before: str = "") -> str | None:
    source = cuda(body, before=before)
    text = with_plain_loops(source)
    return None if text == source.text else " ".join(text.partition("int n) {")[2].rpartition("}")[0].split())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  int i;\n  for (i = 0; i < n; i++) out[i] = 0;", "for (int i = 0; i < n; i++) out[i] = 0;"),
        (
            "  unsigned int i, j, last = 2;\n  for (i = 0; i < n; ++i) for (j = i; j < n; ++j) out[j] = last;",
            "unsigned int last = 2; for (unsigned int i = 0; i < n; ++i) for (unsigned int j = i; j < n; ++j) out[j] = last;",
        ),
        ("  int row;\n  row = threadIdx.x;\n  out[row] = row;", "int row = threadIdx.x; out[row] = row;"),
        (
            "  int t = threadIdx.x;\n  while (t < n) {\n    out[t] = 1;\n    t += blockDim.x;\n  }",
            "for (int t = threadIdx.x; t < n; t += blockDim.x) { out[t] = 1; }",
        ),
        (
            "  int s = blockDim.x / 2;\n  while (s != 0) {\n    if (threadIdx.x < s) out[0] = s;\n    s /= 2;\n  }",
            "for (int s = blockDim.x / 2; s != 0; s /= 2) { if (threadIdx.x < s) out[0] = s; }",
        ),
        ("  int i, spare;\n  for (i = 0; i < n; i++) out[i] = 0;", "for (int i = 0; i < n; i++) out[i] = 0;"),
    ],
)
def test_counters_are_declared_where_they_begin(body: str, expected: str):
    assert _changed(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        "  int i;\n  for (i = 0; i < n; i++) if (in[i] > 0) break;\n  out[0] = i;",  # its last value is wanted
        "  int i;\n  for (i = 0; i < n; i++) for (i = 1; i < 3; i++) out[i] = 0;",
        "  int i;\n  read(&i);\n  for (i = 0; i < n; i++) out[i] = 0;",
        "  int i = 3;\n  for (i = i + 1; i < n; i++) out[i] = 0;",
        "  int row;\n  if (n > 2) row = 1;\n  out[row] = 1;",
        "  int row;\n  row = 1;\n  row += n;\n  out[row] = 1;",
        "  int t = 0;\n  while (t < n) {\n    if (in[t] > 0) continue;\n    t += 1;\n  }",
        "  int t = 0;\n  while (t < n) {\n    const int by = out[t];\n    t += by;\n  }",
        "  int t = n;\n  n = 5;\n  while (t < n) {\n    out[t] = 1;\n    t += 1;\n  }",
        "  int t = 0;\n  while (t < n) {\n    out[t] = 1;\n    t += 1;\n  }\n  out[t] = 2;",
        "  float s;\n  for (s = 0; s < n; s += 0.5f) out[0] = s;",
    ],
)
def test_what_may_mean_something_else_is_left_alone(body: str):
    assert _changed(body) is None


def test_a_macro_may_use_a_counter_by_name():
    assert _changed("  int i;\n  for (i = 0; i < n; i++) out[AT] = 0;", before="#define AT (i * 2)") is None
