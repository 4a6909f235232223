"""Models are asked with a key that must turn up nowhere; nothing that they write is run, so no confinement is needed."""

import pytest


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret-of-mine")
    monkeypatch.setenv("WARPSMITH_CONFINEMENT", "best-effort")
