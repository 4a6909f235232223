"""Which headers are parsed once for all configurations: only those that a source includes whatever its macros are."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.devices.cpu.clang import precompiled_headers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#include <cuda_fp16.h>\n", ("cuda_fp16.h",)),
        (
            '#ifndef VEC\n#define VEC 4\n#endif\n# include "cuda_bf16.h"  // wide\n#include <cuda_fp16.h>',
            ("cuda_fp16.h", "cuda_bf16.h"),
        ),
        ("#ifdef HALF\n#include <cuda_fp16.h>\n#endif\n#include <algorithm>\n", ("algorithm",)),
        ("#if A\n#if B\n#endif\n#include <cuda_fp16.h>\n#else\n#include <cuda_bf16.h>\n#endif\n", ()),
        ("#include <cuda_runtime.h>\n#include CONFIG\n", ()),
    ],
)
def test_only_what_is_included_for_certain(text: str, expected: tuple[str, ...]) -> None:
    assert precompiled_headers(text, []) == expected


def test_a_header_of_the_users_of_that_name_is_the_users(tmp_path: Path) -> None:
    (tmp_path / "cuda_fp16.h").touch()
    assert precompiled_headers("#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n", [tmp_path]) == ("cuda_bf16.h",)
