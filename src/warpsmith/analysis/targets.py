"""What `--target` names: an architecture (`sm_90`, `gfx942`), a GPU of the catalogue (`h100-sxm`), or a device (`cpu`)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from warpsmith.analysis.catalogue import CatalogueGpu, load_catalogue
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language, Limits
from warpsmith.devices.registry import device_names

_NVIDIA = re.compile(r"sm_\d+[af]?")
_AMD = re.compile(r"gfx[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Target:
    """`device` is the name under which the compile pool knows it; `gpu` is the product, where one was named."""

    name: str
    device: str
    gpu: CatalogueGpu | None = None

    def limits(self, of_device: Limits) -> Limits:
        """An architecture has no number of compute units of its own; a product has."""
        return of_device if self.gpu is None else replace(of_device, compute_units=self.gpu.compute_units)

    def require_language(self, language: Language, taken: Collection[Language]) -> None:
        """Raises InputError: said once, instead of by every configuration."""
        if language not in taken:
            raise InputError(
                f"{self.name} does not take {language} kernels, only {', '.join(sorted(taken))}",
                hint="--target cpu compiles all of them",
            )


def parse_target(text: str) -> Target:
    """Raises InputError."""
    name = text.strip().lower()
    device = _architecture_device(name)
    if device is not None:
        return Target(name, device)
    if name.partition(":")[0] in device_names():
        return Target(name, name)
    catalogue = load_catalogue()
    # The first of a family, where a name is the beginning of several: `a100`.
    gpu = catalogue.get(name) or next((found for known, found in catalogue.items() if known.startswith(f"{name}-")), None)
    if gpu is None:
        near = difflib.get_close_matches(name, [*catalogue, *device_names()], n=1)
        known = f"name an architecture (sm_90, gfx942), a device (cpu) or a GPU ({', '.join(catalogue)})"
        raise InputError(f"no target named {text!r}", hint=f"did you mean {near[0]!r}?" if near else known)
    of_product = _architecture_device(gpu.architecture)
    if of_product is None:
        raise InputError(
            f"{name} has an unknown architecture: {gpu.architecture!r}", hint="expected a name such as sm_90 or gfx942"
        )
    return Target(gpu.name, of_product, gpu)


def _architecture_device(name: str) -> str | None:
    if _NVIDIA.fullmatch(name):
        return f"cuda:{name}"
    return f"hip:{name}" if _AMD.fullmatch(name) else None
