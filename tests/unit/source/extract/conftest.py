"""Preprocessing in this process: hundreds of workers would test nothing more. `test_extract_confined` starts them."""

from contextlib import nullcontext

import pytest

from warpsmith.devices._clang.binary import run_clang


def preprocess(text, flags):
    done = run_clang(text.encode(), flags)
    return done.output.decode(errors="replace"), done.log


@pytest.fixture(autouse=True)
def _unconfined(request, monkeypatch):
    if request.module.__name__ != "test_extract_confined":
        monkeypatch.setattr("warpsmith.source.extract.flatten.confined", lambda readable: nullcontext(preprocess))
