"""Path rules for clients: kernels are read in place, everything written goes below one folder."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from warpsmith.core.errors import InputError, Location
from warpsmith.core.file_names import as_file_name
from warpsmith.refactor.proposal import Proposal
from warpsmith.spec.bundled import FILE_NAME, bundled_path
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.order import kernel_fingerprint

_LONGEST_NAME = 200
_LONGEST_PATH = 4_000  # what no file system has
_FORM_NAME = re.compile(r"form-\d+")


def _from_here(path: Path) -> str:
    """A client may have started the server anywhere: without this nobody could tell what a relative path begins at."""
    return "" if path.is_absolute() else f"relative paths begin at {Path.cwd()}: use absolute ones; "


@dataclass(frozen=True, slots=True)
class Workspace:
    """`root` is a folder of the server's own, or the one that the user named when starting it."""

    root: Path

    def kernel(self, named: str) -> Kernel:
        """A bundled kernel, a folder with a kernel.toml, or that file. Raises InputError for anything else.

        Other files are not even opened: what a parser says about a file is part of what stands in it.
        """
        path = Path(named if len(named) <= _LONGEST_PATH else "").expanduser()
        is_kernel = path.name == FILE_NAME and path.is_file()
        if not is_kernel and not (path / FILE_NAME).is_file() and bundled_path(named) is None:
            shown = named if len(named) <= _LONGEST_NAME else f"{named[:_LONGEST_NAME]}…"
            raise InputError(
                f"{shown!r} is not a kernel",
                hint=f"{_from_here(path)}name a folder with a {FILE_NAME}, that file, or a bundled kernel such as rope;"
                f" draft_kernel begins a {FILE_NAME} for source that has none",
            )
        return load_kernel(named)

    def owns(self, kernel: Kernel) -> bool:
        """Whether a client's tools wrote it: then parts of it may be a model's."""
        return kernel.path.resolve().is_relative_to(self.root.resolve())

    def new_folder(self, kind: str, name: str) -> Path:
        """Empty, with a number of its own."""
        stem = as_file_name(name, "kernel")
        parent = self.root / kind
        parent.mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            folder = parent / f"{stem}-{number}"
            try:
                folder.mkdir()
            except FileExistsError:
                number += 1
            else:
                return folder

    # ── forms ──

    def keep_form(self, kernel: Kernel, proposal: Proposal) -> str:
        """A form that was tried and found right, by the name under which it can be asked for again."""
        folder = self.new_folder("forms", "form")
        entry = {"kernel": str(kernel.path), "fingerprint": kernel_fingerprint(kernel), "form": asdict(proposal)}
        (folder / "form.json").write_text(json.dumps(entry), encoding="utf-8")
        (folder / f"form{kernel.source.suffix}").write_text(proposal.source, encoding="utf-8")
        return folder.name

    def form(self, kernel: Kernel, name: str, number: int) -> Proposal:
        """Raises InputError for a form that is not there, or that is of another kernel."""
        file = self.root / "forms" / name / "form.json"
        if _FORM_NAME.fullmatch(name) is None or not file.is_file():
            raise InputError(f"no form {name!r}", hint="submit_form answers with a form's name")
        entry = json.loads(file.read_text(encoding="utf-8"))
        if entry["fingerprint"] != kernel_fingerprint(kernel):
            raise InputError(
                f"{name} was written for {entry['kernel']}, or for an earlier version of it",
                location=Location(kernel.path),
                hint="submit it again for this kernel",
            )
        return Proposal.from_record({**entry["form"], "number": number})
