"""What a client may name, and where its things go."""

from __future__ import annotations

import pytest

from warpsmith.core.errors import InputError
from warpsmith.mcp.workspace import Workspace
from warpsmith.refactor.base import Tunable
from warpsmith.refactor.proposal import Proposal

FORM = Proposal(7, "__global__ void k() {}", ("n",), ("B",), tunables=(Tunable("B", (1, 2), 1, ""),), hypothesis="why not")


@pytest.mark.parametrize("named", ["/etc/passwd", "secret.toml", "folder", ".", ""])
def test_only_kernels_are_opened(workspace: Workspace, tmp_path, monkeypatch, named) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.toml").write_text("password = hunter2\n")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="is not a kernel") as caught:
        workspace.kernel(named)
    assert "hunter2" not in str(caught.value)
    assert (f"relative paths begin at {tmp_path}" in caught.value.hint) is not named.startswith("/")


def test_folders_are_new_below_the_root_whatever_they_are_called(workspace: Workspace) -> None:
    made = [workspace.new_folder("templates", name) for name in ("k", "k", "../../up", "..", "")]
    assert len(set(made)) == 5
    assert all(folder.parent == workspace.root / "templates" for folder in made)


def test_a_form_comes_back_for_the_kernel_it_was_written_for_and_no_other(workspace: Workspace) -> None:
    rope, softmax = workspace.kernel("rope"), workspace.kernel("softmax")
    name = workspace.keep_form(rope, FORM)
    assert workspace.form(rope, name, 3) == Proposal(**{f: getattr(FORM, f) for f in FORM.__slots__} | {"number": 3})
    with pytest.raises(InputError, match="was written for"):
        workspace.form(softmax, name, 1)
    for wrong in ("form-2", "../forms/form-1", ""):
        with pytest.raises(InputError, match="no form"):
            workspace.form(rope, wrong, 1)
