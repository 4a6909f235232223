"""The example notebook, in a real kernel of Jupyter's: progress while it works, the result as a table."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook" / "tune.ipynb"


def test_the_example(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = {cell["id"]: cell.get("outputs", []) for cell in notebook.cells}
    progress, shown = outputs["tune"]
    assert "done" in progress["data"]["text/html"]
    table = shown["data"]["text/html"]
    for words in ("scale on cpu", "general configuration", "odd (held out)", "every time verified"):
        assert words in table
    [printed] = outputs["rows"]
    assert "'BLOCK': " in printed["text"]
    assert "'large (µs)': " in printed["text"]
