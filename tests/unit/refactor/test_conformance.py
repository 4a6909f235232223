"""Every installed pass keeps to what passes promise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from warpsmith.refactor.base import Pass
from warpsmith.refactor.registry import load_passes
from warpsmith.spec.kernel import Kernel
from warpsmith.testing.passes import PassConformance


# Pass by pass: what one test applied, the next ones in the same process know.
@pytest.mark.parametrize("name", sorted(transform.name for transform in load_passes()), scope="class")
class TestInstalledPasses(PassConformance):
    @pytest.fixture(autouse=True)
    def _chosen(self, name: str) -> None:
        (self._transform,) = load_passes([name])

    def make(self) -> Pass:
        return self._transform

    def kernels(self, folder: Path) -> Iterator[Kernel]:
        # Half of the bundled kernels, of every kind: the others take as long and told nothing new.
        left_out = {"conv2d", "matmul_opencl", "silu_and_mul", "softmax"}
        kernels = super().kernels(folder)
        return (k for k in kernels if k.name not in left_out and not k.name.endswith(("_f16", "_bf16", "_hip")))
