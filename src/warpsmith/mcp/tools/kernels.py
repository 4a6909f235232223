"""Read-only tools: devices, a kernel, and whether it can be tuned."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from pydantic import Field

from warpsmith import api
from warpsmith.api.checking import FindingLevel
from warpsmith.core.errors import InputError, UnavailableError
from warpsmith.mcp import replies
from warpsmith.mcp.labs import Labs
from warpsmith.mcp.reading import findings_of, summary_of
from warpsmith.mcp.workspace import Workspace
from warpsmith.measure.roofline import needs_of
from warpsmith.refactor.untouched import untouched
from warpsmith.space import space_of
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Argument, Buffer, Kernel, Workload
from warpsmith.spec.skeleton import skeleton
from warpsmith.template import template_of
from warpsmith.tuning.agent.prospects import passes_for

_LONGEST_DRAFTED = 400_000
_LONGEST_SOURCE = 20_000  # characters: what is still read with profit in one piece

KernelName = Annotated[str, Field(description="A folder with a kernel.toml, that file, or the name of a bundled kernel.")]
DeviceName = Annotated[str, Field(description="A name from list_devices.")]
ProvedOnly = Annotated[bool, Field(description="Skip changes that are only tested, not proved.")]


class KernelTools:
    def __init__(self, workspace: Workspace, labs: Labs) -> None:
        self._workspace = workspace
        self._labs = labs

    def list_devices(self) -> replies.Devices:
        """The devices here with their limits, and why others are unavailable. Call it first: `cpu` runs CUDA kernels too."""
        return replies.Devices(
            devices=[
                replies.Device(device=name, available=False, problem=str(answer))
                if isinstance(answer, UnavailableError)
                else replies.Device(
                    device=name,
                    available=True,
                    description=answer.description,
                    languages=sorted(answer.languages),
                    limits=asdict(answer.limits),
                )
                for name, answer in api.list_devices().items()
            ]
        )

    def draft_kernel(
        self,
        source: Annotated[str, Field(max_length=_LONGEST_DRAFTED, description="The text of a file that contains the kernel.")],
        file_name: Annotated[str, Field(pattern=r"^[\w.+-]+\.\w+$", description="The file's name, without folders: `scale.cu`.")],
        kernel: Annotated[str | None, Field(description="Kernel name, if the file has several.")] = None,
    ) -> replies.Draft:
        """Draft a kernel.toml for source that has none: facts from the text, guesses for the rest, FILL IN at every guess.

        Nothing is written or run: save the text as kernel.toml in the source's folder, fill in what it marks (shapes, launch, the
        workloads that matter to the user) as the code that launches the kernel has it, and call check_kernel on the folder.
        """
        with TemporaryDirectory(prefix="warpsmith-") as folder:
            file = Path(folder) / file_name
            file.write_text(source, encoding="utf-8")
            try:
                text = skeleton(file, kernel)
            except InputError as error:
                raise InputError(f"{file_name}: {error.message}", hint=error.hint) from error
        then = "save it as kernel.toml beside the source, fill in what is marked FILL IN, then check_kernel on that folder"
        return replies.Draft(kernel_toml=text, next=then)

    def inspect_kernel(self, kernel: KernelName) -> replies.Inspection:
        """Read a kernel before you change anything: source, arguments, launch, workloads, loops, accesses, barriers, findings.

        Nothing is compiled or run. For figures of a finished run use profile.
        """
        loaded = self._workspace.kernel(kernel)
        text = read_source(loaded.source)
        parts = summary_of(loaded)
        return replies.Inspection(
            kernel=loaded.name,
            path=str(loaded.path),
            language=loaded.language,
            entry=loaded.entry,
            source_path=str(loaded.source),
            source=text if len(text) <= _LONGEST_SOURCE else None,
            arguments={a.name: _argument(a) for a in loaded.arguments},
            grid=list(map(str, loaded.launch.grid)),
            block=list(map(str, loaded.launch.block)),
            shared=str(loaded.launch.shared_bytes),
            workloads=[_workload(loaded, workload) for workload in loaded.workloads],
            tolerance=_tolerance(loaded),
            oracle="a NumPy reference" if loaded.reference.file else "the original kernel itself",
            parameters={p.name: list(p.values) for p in loaded.parameters},
            loops=parts.loops,
            accesses=parts.accesses,
            barriers=parts.barriers,
            shared_arrays=parts.shared_arrays,
            findings=findings_of(loaded),
        )

    def check_kernel(self, kernel: KernelName, device: DeviceName = "cpu") -> replies.Check:
        """Whether a kernel can be tuned: its kernel.toml is right, and the original runs and agrees with its oracle.

        The smallest workloads are launched. Use it before anything else on a kernel you have not seen, and after editing one.
        """
        loaded = self._workspace.kernel(kernel)
        template = template_of(loaded)
        findings = api.check_kernel(loaded)
        if any(finding.level is FindingLevel.MISTAKE for finding in findings):
            raise InputError("\n".join(map(str, findings)))
        with self._labs.lab(loaded, device) as lab:
            space = space_of(loaded, template, lab.info.limits)
            return replies.Check(
                kernel=loaded.name,
                path=str(loaded.path),
                feasible=space.size,
                all=space.cartesian_size,
                verified_on=list(lab.prepared),
                findings=list(map(str, findings)),
                next="inspect_kernel and list_passes, or start_tuning for a first result without further work",
            )

    def list_passes(self, kernel: KernelName, device: DeviceName = "cpu") -> replies.Passes:
        """The refactoring passes that apply to this kernel, and why others do not. Nothing is compiled.

        Prefer passes to code of your own: they keep the meaning, and your forms get them too. make_template applies them.
        """
        loaded = self._workspace.kernel(kernel)
        found = passes_for(untouched(loaded), api.describe_device(device).limits)
        return replies.Passes(
            kernel=loaded.name,
            passes=[
                replies.PassFacts(
                    name=p.name, summary=p.summary, concerns=sorted(p.concerns), applies=p.declined is None, reason=p.declined
                )
                for p in sorted(found, key=lambda p: p.declined is not None)
            ],
        )


def _argument(argument: Argument) -> str:
    if isinstance(argument, Buffer):
        return f"{argument.dtype}[{', '.join(map(str, argument.shape))}] {argument.role}"
    return f"{argument.dtype} = {argument.value}"


def _workload(kernel: Kernel, workload: Workload) -> replies.WorkloadFacts:
    needs = needs_of(kernel, workload)
    return replies.WorkloadFacts(
        name=workload.name,
        sizes=dict(workload.sizes),
        weight=workload.weight,
        heldout=workload.heldout,
        bytes_moved=needs.read_bytes + needs.written_bytes + 2 * needs.in_place_bytes,
        flops=needs.flops or None,
    )


def _tolerance(kernel: Kernel) -> str:
    given = {"rtol": kernel.reference.rtol, "atol": kernel.reference.atol}
    said = ", ".join(f"{name} {value:g}" for name, value in given.items() if value is not None)
    return said or "the dtype's default"
