"""`SharedStore`: a folder or an object store to which several machines add their runs' measurements.

Nothing in it is ever changed. An entry is one run's evaluations as gzipped JSON, named by the hash of its bytes, under the hash
of kernel and device: adding the same twice is adding it once, nobody waits for anybody, and what was cut off or altered shows.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import UnavailableError
from warpsmith.core.fingerprint import fingerprint
from warpsmith.core.outcome import Evaluation
from warpsmith.record.codec import decode_outcome, encode_outcome

_VERSION = 1
_SUFFIX = ".json.gz"
_LARGEST_BYTES = 64 << 20
_LARGEST_UNPACKED_BYTES = 512 << 20


@dataclass(frozen=True, slots=True)
class Subject:
    """What measurements are of: the kernel, by the content of its files, and the device, by what it is called."""

    fingerprint: str
    device: str
    architecture: str | None

    @property
    def key(self) -> str:
        return fingerprint("shared runs", _VERSION, self.fingerprint, self.device, self.architecture)


@dataclass(frozen=True, slots=True)
class SharedRun:
    run: str
    kernel: str
    finished_at: float
    evaluations: tuple[Evaluation, ...]


class _Place(Protocol):
    def names(self, under: str) -> list[str]: ...

    def read(self, name: str) -> bytes: ...

    def add(self, name: str, content: bytes) -> None:
        """Whole or not at all; what is there already stays."""
        ...


class SharedStore:
    """`address`: a folder, or what fsspec knows (`s3://bucket/prefix`). Raises UnavailableError where it cannot be used."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._place: _Place = _Objects(address) if "://" in address else _Folder(Path(address).expanduser())

    def publish(self, subject: Subject, shared: SharedRun) -> str:
        """The entry's name."""
        content = gzip.compress(json.dumps(_as_json(subject, shared), sort_keys=True).encode(), mtime=0)
        name = f"{subject.key}/{fingerprint(content)}{_SUFFIX}"
        with self._told():
            self._place.add(name, content)
        return name

    def find(self, subject: Subject) -> tuple[list[SharedRun], list[str]]:
        """What is there of it, the latest first; and the entries that are not what they say, with why. Others are not read."""
        found, damaged = [], []
        with self._told():
            names = [name for name in self._place.names(subject.key) if name.endswith(_SUFFIX)]
            for name in sorted(names):
                try:
                    found.append(_read(self._place.read(name), name, subject))
                except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError, RecursionError) as error:
                    damaged.append(f"{name}: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
        return sorted(found, key=lambda shared: (-shared.finished_at, shared.run)), damaged

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            hint = "see WARPSMITH_SHARED"
            raise UnavailableError(f"the shared store {self.address} cannot be used: {error}", hint=hint) from None


class _Folder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self, under: str) -> list[str]:
        folder = self._folder / under
        return [f"{under}/{entry.name}" for entry in folder.iterdir()] if folder.is_dir() else []

    def read(self, name: str) -> bytes:
        with (self._folder / name).open("rb") as stream:
            return stream.read(_LARGEST_BYTES + 1)

    def add(self, name: str, content: bytes) -> None:
        target = self._folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            return
        fd, beginning = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
        try:
            with os.fdopen(fd, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            Path(beginning).chmod(0o644)  # a temporary file is its owner's alone
            Path(beginning).replace(target)  # two that add the same replace it by the same
        except BaseException:
            Path(beginning).unlink(missing_ok=True)
            raise


class _Objects:
    """By fsspec, whose objects appear whole."""

    def __init__(self, address: str) -> None:
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 - an extra
        except ImportError:
            raise UnavailableError(f"{address} needs fsspec", hint="pip install 'warpsmith[store]', or name a folder") from None
        try:
            self._files, root = url_to_fs(address)
        except (ImportError, ValueError) as error:  # a protocol without its package, or none at all
            raise UnavailableError(f"{address}: {error}", hint="fsspec's packages: s3fs, gcsfs, adlfs, …") from None
        self._root = str(root).rstrip("/")

    def names(self, under: str) -> list[str]:
        try:
            found: Sequence[Any] = self._files.ls(f"{self._root}/{under}", detail=False, refresh=True)
        except FileNotFoundError:
            return []
        return [f"{under}/{str(path).rpartition('/')[2]}" for path in found]

    def read(self, name: str) -> bytes:
        content: bytes = self._files.cat_file(f"{self._root}/{name}", start=0, end=_LARGEST_BYTES + 1)
        return content

    def add(self, name: str, content: bytes) -> None:
        if not self._files.exists(f"{self._root}/{name}"):
            self._files.pipe_file(f"{self._root}/{name}", content)


def _as_json(subject: Subject, shared: SharedRun) -> dict[str, Any]:
    evaluations = []
    for evaluation in shared.evaluations:
        kind, outcome = encode_outcome(evaluation.outcome)
        evaluations.append([evaluation.configuration.key, kind, json.loads(outcome), evaluation.seconds, evaluation.started_at])
    return {
        "version": _VERSION,
        "fingerprint": subject.fingerprint,
        "device": subject.device,
        "architecture": subject.architecture,
        "run": shared.run,
        "kernel": shared.kernel,
        "finished_at": shared.finished_at,
        "evaluations": evaluations,
    }


def _read(content: bytes, name: str, subject: Subject) -> SharedRun:
    """Raises ValueError, or what reading the wrong shape raises: others wrote it."""
    if len(content) > _LARGEST_BYTES:
        raise ValueError(f"larger than {_LARGEST_BYTES >> 20} MiB")
    if f"{fingerprint(content)}{_SUFFIX}" != name.rpartition("/")[2]:
        raise ValueError("its content does not match its name")
    with gzip.open(io.BytesIO(content)) as stream:
        text = stream.read(_LARGEST_UNPACKED_BYTES + 1)
    if len(text) > _LARGEST_UNPACKED_BYTES:
        raise ValueError(f"larger than {_LARGEST_UNPACKED_BYTES >> 20} MiB when decompressed")
    found = json.loads(text)
    if Subject(found["fingerprint"], found["device"], found["architecture"]) != subject:
        raise ValueError("for another kernel or device")
    evaluations = tuple(
        Evaluation(Configuration.from_key(key), decode_outcome(kind, json.dumps(outcome)), float(seconds), float(started_at))
        for key, kind, outcome, seconds, started_at in found["evaluations"]
    )
    return SharedRun(str(found["run"]), str(found["kernel"]), float(found["finished_at"]), evaluations)
