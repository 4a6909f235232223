"""Every installed pass keeps to what passes promise."""

from __future__ import annotations

import pytest

from warpsmith.refactor.base import Pass
from warpsmith.refactor.registry import load_passes, pass_names
from warpsmith.testing.passes import PassConformance


@pytest.mark.parametrize("name", pass_names())
class TestInstalledPasses(PassConformance):
    @pytest.fixture(autouse=True)
    def _chosen(self, name: str) -> None:
        (self._transform,) = load_passes([name])

    def make(self) -> Pass:
        return self._transform
