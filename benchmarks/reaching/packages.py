"""Public packages with GPU kernels, as sources: downloaded by pip once, unpacked in the user's cache, never built."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from platformdirs import user_cache_path

# Wheels that carry their kernels as sources; of the others the source distribution.
WHEELS = ("sglang==0.5.23", "flashinfer-python==0.7.2.post1", "gsplat==1.5.3", "exllamav2==0.3.2")
SOURCES = (
    "vllm==0.33.0",
    "llama-cpp-python==0.3.36",
    "mmcv==2.2.0",
    "torch-scatter==2.1.2",
    "torch-cluster==1.6.3",
    "torch-sparse==0.6.18",
    "torch-spline-conv==1.2.2",
    "deepspeed==0.19.8",
    "xformers==0.0.35",
    "auto-gptq==0.7.1",
    "mamba-ssm==2.3.2.post1",
    "causal-conv1d==1.7.0",
    "lightgbm==4.7.0",
    "xgboost==3.2.0",
    "MinkowskiEngine==0.5.4",
    "torchsort==0.1.10",
    "cupy==14.2.0",
    "fairseq==0.12.2",
    "natten==0.21.7",
    "pyopencl==2026.1.4",
)
PACKAGES = (*WHEELS, *SOURCES)
_DEADLINE_S = 600


def plain_name(requirement: str) -> str:
    return requirement.partition("==")[0]


def folder_of(requirement: str) -> Path | str:
    """The unpacked package; or why there is none, in one line."""
    folder = user_cache_path("warpsmith") / "benchmarks" / "reach" / "packages" / requirement.replace("==", "-")
    if not (folder / ".complete").exists():
        problem = _download(requirement, folder)
        if problem is not None:
            return problem
        (folder / ".complete").touch()
    return folder


def _download(requirement: str, folder: Path) -> str | None:
    """Why it could not be had; None when it is there.

    pip runs a source distribution's setup to learn its name, which mostly fails without that package's own dependencies. It need
    not succeed: `--no-clean` leaves what was unpacked.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    kind = ("--only-binary", ":all:") if requirement in WHEELS else ("--no-binary", ":all:")
    options = ("--quiet", "--no-clean", "--no-deps", "--no-build-isolation", *kind, "--dest", str(folder))
    command = (sys.executable, "-m", "pip", "download", *options, requirement)
    try:
        done = subprocess.run(
            command, env={**os.environ, "TMPDIR": str(folder)}, capture_output=True, text=True, timeout=_DEADLINE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not downloaded within {_DEADLINE_S} s"
    for archive in (*folder.glob("*.whl"), *folder.glob("*.tar.gz")):
        shutil.unpack_archive(archive, folder / "unpacked", "zip" if archive.suffix == ".whl" else "gztar")
        archive.unlink()
    if any(file for file in folder.rglob("*.c*") if file.suffix in {".cu", ".cuh", ".cl"}):
        return None
    said = re.search(r"^ERROR: (.*)", done.stderr, re.MULTILINE)
    shutil.rmtree(folder, ignore_errors=True)
    return said[1] if said else "it has no kernels as sources"
