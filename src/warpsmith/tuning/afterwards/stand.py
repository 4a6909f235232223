"""A device prepared for verification: compilers, and a bench with workloads of seeded inputs. Nothing is timed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.devices.base import DeviceInfo
from warpsmith.export.base import Build
from warpsmith.measure.bench import Bench
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.tuning.afterwards.choices import OfTemplate, RunChoices
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.cores import all_cores
from warpsmith.tuning.templates.probes import require_language
from warpsmith.verify.prepared import PreparedWorkload


@dataclass(frozen=True, slots=True)
class Stand:
    """`plain` is the kernel as it was, which everything is compared with where there is no reference."""

    device: str
    pool: CompilePool
    info: DeviceInfo
    plain: Kernel

    def builder(self, choices: RunChoices) -> Builder:
        return choices.builder(self.info.limits, self.pool)

    @property
    def builder_of_original(self) -> Builder:
        return self.builder(OfTemplate.of(self.plain))

    def builder_of_export(self, build: Build) -> Builder:
        return self.builder(OfTemplate.of(build.alone(self.plain)))

    @contextmanager
    def bench(self, seeded: Iterable[tuple[Workload, int]]) -> Iterator[tuple[Bench, dict[str, PreparedWorkload]]]:
        """For these workloads, each with inputs of its seed."""
        with self.prepared(seeded) as prepared, Bench(self.device, list(prepared.values())) as bench:
            yield bench, prepared

    @contextmanager
    def prepared(self, seeded: Iterable[tuple[Workload, int]]) -> Iterator[dict[str, PreparedWorkload]]:
        binder, default = Binder(self.plain, self.info.limits), self.plain.default_configuration
        with ExitStack() as stack:
            yield {
                w.name: stack.enter_context(PreparedWorkload.prepare(self.plain, w, seed, binder.geometry(default, w)))
                for w, seed in seeded
            }

    @property
    def oracle(self) -> str:
        return "the NumPy reference" if self.plain.reference.file else "the original kernel"


@contextmanager
def stand_for(choices: RunChoices, device: str, *, binary_cache: Path | None) -> Iterator[Stand]:
    """Raises UnavailableError when the device is not there, InputError when it does not run such kernels."""
    kernel = choices.plain
    with CompilePool(device, workers=all_cores(), cache_dir=binary_cache, folders=kernel.folders) as pool:
        info = pool.describe()
        require_language(kernel, info)
        yield Stand(device, pool, info, kernel)
