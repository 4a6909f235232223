"""The preprocessing worker of `warpsmith extract`: `python -m warpsmith.source.extract.worker`. Runs clang, confined."""

from __future__ import annotations

from warpsmith.devices._clang.binary import run_clang
from warpsmith.isolation.serving import serve
from warpsmith.source.extract.preprocessor import Preprocessed, Rewrite


def _rewrite(job: Rewrite, _blobs: tuple[bytes, ...], _fds: tuple[int, ...]) -> tuple[Preprocessed, tuple[bytes, ...]]:
    done = run_clang(job.text.encode(), job.flags)
    return Preprocessed(done.log), (done.output,)


if __name__ == "__main__":
    serve({Rewrite: _rewrite})
