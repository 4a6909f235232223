"""GPUs as products: compute units, memory bandwidth, peaks; each figure with its source.

Ours are in `gpus.toml` beside this file. Users add or correct theirs in `gpus.toml` in Warpsmith's home folder, in the same form.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from warpsmith.core.errors import InputError, Location
from warpsmith.settings import read_settings

FILE_NAME = "gpus.toml"


@dataclass(frozen=True, slots=True)
class CatalogueGpu:
    """`peaks` are floating-point operations a second by dtype, on the ordinary (vector) units; `sources` says where from.

    `clock_hz` is the boost clock, `cache_bytes` the last-level cache: with both, times can be estimated.
    """

    name: str
    description: str
    architecture: str
    compute_units: int
    bandwidth_bytes_per_s: float
    peaks: dict[str, float]
    sources: dict[str, str]
    clock_hz: float | None = None
    cache_bytes: int | None = None


class _Entry(BaseModel):
    """One table of the file; the units are those of data sheets."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str
    architecture: str
    compute_units: int = Field(gt=0)
    bandwidth_gb_per_s: float = Field(gt=0)
    clock_mhz: float | None = Field(default=None, gt=0)
    l2_mb: float | None = Field(default=None, gt=0)
    tflops: dict[str, float] = Field(default_factory=dict)
    sources: dict[str, str]


def load_catalogue() -> dict[str, CatalogueGpu]:
    """By name; the user's entries win. Raises InputError for a file that is wrong."""
    found = _read(Path(__file__).with_name(FILE_NAME))
    own = read_settings().home / FILE_NAME
    return {**found, **_read(own)} if own.is_file() else found


def _read(file: Path) -> dict[str, CatalogueGpu]:
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
        return {name: _gpu(name, _Entry.model_validate(table)) for name, table in tables.items()}
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", location=Location(file)) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{place}: {first['msg']}",
            location=Location(file),
            hint="a GPU needs description, architecture, compute_units, bandwidth_gb_per_s and sources",
        ) from error


def _gpu(name: str, entry: _Entry) -> CatalogueGpu:
    return CatalogueGpu(
        name=name,
        description=entry.description,
        architecture=entry.architecture,
        compute_units=entry.compute_units,
        bandwidth_bytes_per_s=entry.bandwidth_gb_per_s * 1e9,
        peaks={dtype: tflops * 1e12 for dtype, tflops in entry.tflops.items()},
        sources=entry.sources,
        clock_hz=entry.clock_mhz * 1e6 if entry.clock_mhz is not None else None,
        cache_bytes=int(entry.l2_mb * 2**20) if entry.l2_mb is not None else None,
    )
