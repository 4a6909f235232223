"""What device tests share: starting a compiler's process takes longer than most of what they compile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from warpsmith.compile.pool import CompilePool
from warpsmith.spec.bundled import bundled_names
from warpsmith.spec.load import load_kernel


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where tests write small kernels, each over the last one's: a folder of its own would cost the pool a worker."""
    return tmp_path_factory.mktemp("workshop")


@pytest.fixture(scope="session")
def pool(workshop: Path) -> Iterator[CompilePool]:
    """Open to these and the bundled kernels from the beginning, so that they do not cost it a worker each."""
    folders = {workshop, *(folder for name in bundled_names() for folder in load_kernel(name).folders)}
    with CompilePool("cpu", cache_dir=None, folders=folders) as pool:
        yield pool
