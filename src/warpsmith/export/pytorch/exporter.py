"""Assembles the package: sources, machine code for every target, and the code that dispatches and launches."""

from __future__ import annotations

import importlib.resources
from dataclasses import replace
from pathlib import Path

from warpsmith.analysis import parse_target
from warpsmith.compile.binding import Binder, Source
from warpsmith.compile.pool import CompileOutcome, CompilePool
from warpsmith.core.errors import InputError, Location, WarpsmithError
from warpsmith.core.hardware import Language, Resources
from warpsmith.devices.base import Binary
from warpsmith.export.base import Build, Shipment
from warpsmith.export.pytorch.project import front_text, package_name, project_text
from warpsmith.export.pytorch.table import Shipped, interface_of, table_text
from warpsmith.export.pytorch.verified import vouched
from warpsmith.export.source import SourceExporter
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Kernel, Replaces
from warpsmith.spec.load import load_kernel

_COPIED = ("description.py", "driver.py", "planning.py", "replacing.py", "tensors.py", "tuned.py")
_LEAST_ALIGNMENT = 16
_REGISTERS_OF_A_QUARTER = 16384  # of a multiprocessor


class PyTorchExporter:
    name = "torch"
    summary = "a Python package for PyTorch: machine code, a function of tensors, and a plug-in for SGLang or vLLM"

    def write(self, shipment: Shipment, folder: Path) -> tuple[Build, ...]:
        kernel = shipment.kernel
        _check(kernel)
        targets = _targets(shipment)
        interface, replaces = interface_of(kernel), _replaces(shipment)
        package = folder / package_name(kernel)
        (package / "source").mkdir(parents=True)
        (package / "code").mkdir()
        general, *others = SourceExporter().write(shipment, package / "source")
        # Others are for exactly the sizes that they were verified with.
        builds = (replace(general, conditions=(*general.conditions, *vouched(shipment, general))), *others)
        plain = untouched(kernel)
        compiled = {target: _compiled(plain, builds, device) for target, device in targets.items()}
        shipped = []
        for index, build in enumerate(builds):
            code = {}
            for target, binaries in compiled.items():
                file = f"{build.file.stem}.{target}.cubin"
                (package / "code" / file).write_bytes(binaries[index].code)
                code[target.rstrip("af")] = (file, binaries[index].entry)  # sm_90a is what an sm_90 can do beside the common
            used = [binaries[index].resources for binaries in compiled.values()]
            alignment = max(_LEAST_ALIGNMENT, *(each.load_bytes or 0 for each in used))
            static_shared_bytes = max(each.shared_bytes or 0 for each in used)
            shipped.append(Shipped(build, code, alignment, min(map(most_threads, used)), static_shared_bytes))
        for name in _COPIED:
            text = importlib.resources.files("warpsmith.export.pytorch").joinpath("package", name).read_text(encoding="utf-8")
            (package / name).write_text(text, encoding="utf-8")
        (package / "table.py").write_text(table_text(shipment, interface, shipped, replaces), encoding="utf-8")
        (package / "__init__.py").write_text(front_text(shipment, interface, replaces), encoding="utf-8")
        (folder / "pyproject.toml").write_text(project_text(kernel, replaces), encoding="utf-8")
        return builds


def most_threads(used: Resources) -> int:
    """Of a block: registers come by the warp, eight to a thread at a time, from the quarter that the warp runs on."""
    warps = _REGISTERS_OF_A_QUARTER // (-(-(used.registers or 1) // 8) * 8 * 32) * 4
    return min(used.max_threads or 1024, warps * 32, 1024)


def _check(kernel: Kernel) -> None:
    where = Location(kernel.path)
    if kernel.language is Language.OPENCL:
        raise InputError("a package for PyTorch is for CUDA and HIP kernels", location=where, hint="--format source")
    if kernel.constants:
        raise InputError(
            f"the kernel reads the symbol {kernel.constants[0].name!r}, which this format does not fill",
            location=where,
            hint="--format source",
        )


def _targets(shipment: Shipment) -> dict[str, str]:
    """The NVIDIA architectures that the run kept to, each with its compiling device. Raises InputError where there is none."""
    found = (parse_target(name).device.split(":") for name in shipment.targets)
    targets = {parts[1]: ":".join(parts) for parts in found if parts[0] == "cuda" and len(parts) > 1}
    if not targets:
        raise InputError(
            f"the run was on {shipment.provenance['device']} alone, but a package for PyTorch has machine code for NVIDIA GPUs",
            location=Location(shipment.kernel.path),
            hint="tune with --device cuda, or name the target GPUs: --also-compile sm_90",
        )
    return targets


def _replaces(shipment: Shipment) -> Replaces | None:
    """As the user's kernel.toml says now: where a kernel goes may be decided after its run."""
    file = shipment.kernel_file
    return load_kernel(file).replaces if file is not None and file.is_file() else shipment.kernel.replaces


def _compiled(plain: Kernel, builds: tuple[Build, ...], device: str) -> list[Binary]:
    """The files as they were written, each compiled for one architecture: no GPU is needed for that."""
    folder = builds[0].file.parent
    with CompilePool(device, cache_dir=None, folders=[folder]) as pool:
        limits = pool.describe().limits
        futures = []
        for build in builds:
            alone = build.alone(plain)
            source = Source(read_source(build.file), build.file)
            workload = next(w for w in alone.workloads if w.name in build.workloads)
            request = Binder(alone, limits).request(source, alone.default_configuration, workload, {})
            futures.append(pool.submit(request))
        return [_binary(build, future.result(), device) for build, future in zip(builds, futures, strict=True)]


def _binary(build: Build, outcome: CompileOutcome, device: str) -> Binary:
    if not isinstance(outcome, Binary):
        raise WarpsmithError(f"{build.file.name} does not compile for {device}: {outcome.reason}", location=Location(build.file))
    return outcome
