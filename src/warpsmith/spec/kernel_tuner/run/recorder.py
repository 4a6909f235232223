"""Converts a `tune_kernel` call and its values, computed or read, into a `RecordedCall`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from warpsmith.core import configuration
from warpsmith.spec.kernel_tuner.options import define_value
from warpsmith.spec.kernel_tuner.problem import Extent, Passed
from warpsmith.spec.kernel_tuner.recording import RecordedCall, RecordedSource
from warpsmith.spec.kernel_tuner.run.describing import number_of, passed, value_of
from warpsmith.spec.kernel_tuner.run.site import CallSite
from warpsmith.spec.kernel_tuner.run.space import SpaceRecorder, Written, tunables
from warpsmith.spec.kernel_tuner.run.tracing import Tracing
from warpsmith.spec.kernel_tuner.run.unknown import Unknown
from warpsmith.spec.kernel_tuner.sources import looks_like_a_file
from warpsmith.spec.kernel_tuner.toml_text import LARGEST_FLOAT

_NOT_KEPT = (  # noqa: SIM905 - as words they can be read
    "verify compiler iterations strategy strategy_options metrics observers objective objective_higher_is_better objectives "
    "texmem_args simulation_mode"
).split()


@dataclass(frozen=True)
class Recorder:
    """`opened` gives the name of a file that the script opened and that has this text, `unread` one that it could not open."""

    site: CallSite
    tracing: Tracing
    written: Callable[[Any], Written | None]
    opened: Callable[[str], str | None]
    unread: str | None = None

    def recorded(self, values: Mapping[str, Any]) -> RecordedCall:
        given = {name: value for name, value in values.items() if value is not None}
        lines = self.site.lines(given)
        if "**" in values:
            self.site.notes.append(
                f"FILL IN: {self.site.place(self.site.call.lineno)} passes ** of something that could not be followed"
            )
        space = SpaceRecorder(
            tunables(given.get("tune_params"), self.site, lines["tune_params"]), self.site, self.tracing, self.written
        )
        atol = number_of(given.get("atol"), self.tracing)
        answer, options = given.get("answer"), given.get("compiler_options")
        return RecordedCall(
            line=self.site.call.lineno,
            kernel_name=_text(given.get("kernel_name")),
            source=self._source(given.get("kernel_source"), lines["kernel_source"]),
            language=_text(given.get("lang")),
            size=space.size(given.get("problem_size")),
            divisors=tuple(
                space.divisors(name, given.get(name), lines[name]) for name in ("grid_div_x", "grid_div_y", "grid_div_z")
            ),
            block_names=self._block_names(given.get("block_size_names"), lines["block_size_names"]),
            parameters=tuple(space.parameters),
            conditions=space.conditions(given.get("restrictions"), lines["restrictions"]),
            arguments=self._arguments(given.get("arguments"), lines["arguments"]),
            origins=tuple(self.tracing.origins.items()),
            shared=self._shared(given.get("smem_args"), lines["smem_args"], space),
            constants={n: self._passed(v, lines["cmem_args"]) for n, v in _entries(given.get("cmem_args"))},
            compared=tuple(item is not None for item in answer) if isinstance(answer, list | tuple) else None,
            atol=float(atol.value) if atol is not None and abs(atol.value) < LARGEST_FLOAT else None,
            compiler_options=tuple(o for o in options if isinstance(o, str)) if isinstance(options, list | tuple) else (),
            defines=self._defines(given.get("defines"), lines["defines"], {p.name for p in space.parameters}),
            cache=_text(given.get("cache")),
            not_kept=tuple(name for name in _NOT_KEPT if name in given),
            lines=lines,
            notes=tuple(self.site.notes),
        )

    def _source(self, given: Any, line: int) -> RecordedSource:
        more = 0
        if isinstance(given, list | tuple) and given:
            given, more = given[0], len(given) - 1
        if isinstance(given, Unknown):
            return RecordedSource(line, file=self.unread)
        if hasattr(given, "__fspath__"):
            return RecordedSource(line, file=str(given), more=more)
        if not isinstance(given, str) or not given.strip():
            return RecordedSource(line, is_function=callable(given))
        file = given if looks_like_a_file(given) else self.opened(given)
        return RecordedSource(line, file=file, text=None if file is not None else given, more=more)

    def _arguments(self, given: Any, line: int) -> tuple[Passed, ...] | None:
        if not isinstance(given, list | tuple):
            self.site.not_followed("the arguments", line)
            return None
        return tuple(self._passed(item, line) for item in given)

    def _passed(self, value: Any, line: int) -> Passed:
        return passed(value, self.tracing, self.site.file, line)

    def _block_names(self, given: Any, line: int) -> tuple[str, ...]:
        names = tuple(n for n in given if isinstance(n, str)) if isinstance(given, list | tuple) else ()
        if given is not None and not names:
            self.site.not_followed("block_size_names", line)
        return names

    def _shared(self, given: Any, line: int, space: SpaceRecorder) -> Extent | None:
        found = space.extent(given.get("size")) if isinstance(given, Mapping) else None
        if given is not None and found is None:
            self.site.not_followed("smem_args", line)
        return found

    def _defines(self, given: Any, line: int, parameters: set[str]) -> dict[str, configuration.Value]:
        """Names in `defines` other than the parameters, which are defined anyway."""
        found: dict[str, configuration.Value] = {}
        for name, value in _entries(given):
            known = value_of(value)
            if known is None and name not in parameters:
                self.site.not_followed(f"the define {name}", line)
            elif known is not None and name not in parameters:
                found[name] = define_value(known) if isinstance(known, str) else known
        return found


def _entries(table: Any) -> list[tuple[str, Any]]:
    return [(str(name), value) for name, value in table.items() if isinstance(name, str)] if isinstance(table, Mapping) else []


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str) else None
