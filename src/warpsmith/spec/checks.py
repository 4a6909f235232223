"""Consistency of a kernel.toml: names used and known, sizes above zero, outputs, an allowed default."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.spec.kernel import Buffer, Constraint, Kernel, Role, Scalar
from warpsmith.spec.problems import Problems, nearest
from warpsmith.spec.source_checks import check_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from warpsmith.core.configuration import Configuration, Value
    from warpsmith.spec.document import Document
    from warpsmith.spec.toml_positions import TomlPath


def check_kernel(kernel: Kernel, document: Document, problems: Problems) -> None:
    check = _Checks(kernel, document, problems)
    check.distinct_names()
    check.workloads()
    if kernel.workloads and check.names() and not problems:
        # Names are checked only where there are workloads, values only once all names are known.
        check.values()
        check.constraints()
    check_source(kernel, document, problems)
    if not problems:
        # A missing argument explains a missing output.
        check.outputs()


class _Checks:
    def __init__(self, kernel: Kernel, document: Document, problems: Problems) -> None:
        self._kernel = kernel
        self._at = document.at
        self._problems = problems
        self._limits = Limits.known_names()
        self._parameters = frozenset(p.name for p in kernel.parameters)
        sizes = [set(w.sizes) for w in kernel.workloads]
        self._sizes = frozenset(set.intersection(*sizes)) if sizes else frozenset()

    def distinct_names(self) -> None:
        """A name in an expression has one meaning: a size, a parameter, a define or a limit.

        Exception: a template may have a parameter for a define of the original; its values then replace the define.
        """
        own = self._parameters if self._kernel.template_source is not None else frozenset[str]()
        owners: list[tuple[str, dict[str, TomlPath | None]]] = [
            ("a device limit", dict.fromkeys(self._limits)),
            ("a parameter", {p.name: ("parameters", p.name) for p in self._kernel.parameters}),
            ("a define", {name: ("kernel", "defines", name) for name in self._kernel.defines if name not in own}),
            (
                "a workload size",
                {size: ("workloads", w.name, size) for w in reversed(self._kernel.workloads) for size in w.sizes},
            ),
        ]
        for parameter in self._kernel.parameters:
            given = self._kernel.defines.get(parameter.name, parameter.default)
            if parameter.name in own and parameter.default != given:
                found = f"the default {parameter.default} of {parameter.name} differs from the original's, which is {given}"
                self._problems.add(found, self._at.key(("parameters", parameter.name)), "make the two equal")
        seen: dict[str, str] = {}
        for owner, names in owners:
            for name, path in names.items():
                if name in seen and path is not None:
                    self._problems.add(f"{name!r} is {owner} and also {seen[name]}", self._at.key(path), "rename one of the two")
                seen.setdefault(name, owner)
        symbols = {a.name for a in self._kernel.arguments}
        for constant in self._kernel.constants:
            if constant.name in symbols:
                found = f"{constant.name!r} is both an argument and a constant"
                self._problems.add(found, self._at.key(("constants", constant.name)), "rename one of the two")

    def workloads(self) -> None:
        everywhere = self._kernel.workloads
        if not self._kernel.tuning_workloads:
            what = "all workloads are held out" if everywhere else "no workload"
            self._problems.add(what, self._at.key(("workloads",)), "at least one workload is needed for tuning")

    def names(self) -> bool:
        """Report every unknown name in every expression."""
        fine = True
        for expression, known in self._expressions():
            for name in sorted(expression.names - known):
                fine = False
                self._unknown(expression, name, known)
        return fine

    def _expressions(self) -> Iterator[tuple[Expression, frozenset[str]]]:
        kernel = self._kernel
        for argument in (*kernel.arguments, *kernel.constants):
            match argument:
                case Buffer(shape=shape, init=init):
                    yield from ((extent, self._sizes) for extent in shape)
                    yield from ((bound, self._sizes) for bound in (init.low, init.high) if isinstance(bound, Expression))
                case Scalar(value=value):
                    yield value, self._sizes | self._parameters
        for traffic in (kernel.traffic.bytes, kernel.traffic.flops):
            if traffic is not None:
                yield traffic, self._sizes
        everything = self._sizes | self._parameters | self._limits
        for expression in (*kernel.launch.grid, *kernel.launch.block, kernel.launch.shared_bytes):
            yield expression, everything
        for constraint in (*kernel.constraints, *kernel.likely):
            yield constraint.expression, everything

    def _unknown(self, expression: Expression, name: str, known: frozenset[str]) -> None:
        if name in self._parameters:
            hint: str | None = "shapes and traffic must not depend on the configuration: use workload sizes only"
        elif name in self._limits:
            hint = "device limits can be used in [launch], [[constraints]] and [[likely]]"
        elif any(name in w.sizes for w in self._kernel.workloads):
            without = next(w.name for w in self._kernel.workloads if name not in w.sizes)
            hint = f"workload {without!r} has no size {name!r}; expressions can only use sizes that every workload has"
        else:
            hint = nearest(name, known) or nearest(name, known | self._limits)
        try:
            # Evaluating it with all other names known locates this one.
            expression.evaluate({other: 1 for other in expression.names if other != name})
        except InputError as error:
            place = error.location if "unknown name" in error.message else expression.location
            self._problems.add(f"unknown name {name!r} in {str(expression)!r}", place, hint)
        else:
            self._problems.add(f"unknown name {name!r} in {str(expression)!r}", expression.location, hint)

    def values(self) -> None:
        """Evaluate shapes, scalars and launch at the defaults, for every workload."""
        kernel = self._kernel
        for workload in kernel.workloads:
            names: dict[str, Value] = {**kernel.default_configuration, **workload.sizes}
            for argument in (*kernel.arguments, *kernel.constants):
                match argument:
                    case Buffer(name=name, shape=shape):
                        for extent in shape:
                            self._integer(extent, names, 1, f"an extent of {name!r}", workload.name)
                    case Scalar(name=name, dtype=dtype, value=value):
                        self._scalar(name, dtype, value, names, workload.name)
            self._amount(kernel.traffic.bytes, names, "bytes", workload.name)
            self._amount(kernel.traffic.flops, names, "flops", workload.name)
            launch = kernel.launch
            for what, entries in (("grid", launch.grid), ("block", launch.block)):
                for entry in self._without_limits(entries):
                    self._integer(entry, names, 1, f"the {what}", workload.name)
            for entry in self._without_limits([launch.shared_bytes]):
                self._integer(entry, names, 0, "shared", workload.name)

    def _without_limits(self, expressions: Iterable[Expression]) -> list[Expression]:
        # Expressions that depend on the device are checked when the space is built for one.
        return [e for e in expressions if not e.names & self._limits]

    def _evaluate(self, expression: Expression, names: dict[str, Value], workload: str) -> Value | None:
        try:
            return expression.evaluate(names)
        except InputError as error:
            message = f"{error.message} (workload {workload!r}, parameters at their defaults)"
            self._problems.add(message, error.location or expression.location, error.hint)
            return None

    def _integer(self, expression: Expression, names: dict[str, Value], least: int, what: str, workload: str) -> None:
        value = self._evaluate(expression, names, workload)
        if value is None:
            return
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            given = _given(expression, names)
            found = f"{what}, {str(expression)!r}, is {value!r} for workload {workload!r}{given}"
            hint = "int(…) makes it an integer" if isinstance(value, float) else f"expected an integer of at least {least}"
            self._problems.add(found, expression.location, hint)

    def _amount(self, expression: Expression | None, names: dict[str, Value], what: str, workload: str) -> None:
        """Check an amount of traffic. A kernel may do no arithmetic, but it writes something."""
        value = self._evaluate(expression, names, workload) if expression is not None else None
        if expression is None or value is None:
            return
        least = 1 if what == "bytes" else 0
        if not isinstance(value, int | float) or not least <= value < math.inf:
            found = f"{what}, {str(expression)!r}, is {value!r} for workload {workload!r}{_given(expression, names)}"
            self._problems.add(found, expression.location, f"expected a number of at least {least}")

    def _scalar(self, name: str, dtype: DType, expression: Expression, names: dict[str, Value], workload: str) -> None:
        value = self._evaluate(expression, names, workload)
        if value is None:
            return
        found = f"{name!r} = {value!r} for workload {workload!r}{_given(expression, names)}"
        if isinstance(value, str):
            self._problems.add(f"{found} is text", expression.location, "a scalar is a number")
        elif not dtype.is_float and dtype is not DType.BOOL:
            range_ = np.iinfo(dtype.numpy)
            if value != int(value) or not range_.min <= value <= range_.max:
                hint = f"{dtype.value} holds whole numbers from {range_.min} to {range_.max}"
                self._problems.add(f"{found} does not fit {dtype.value}", expression.location, hint)

    def outputs(self) -> None:
        if all(buffer.role is Role.IN for buffer in self._kernel.buffers):
            hint = 'set role = "out" or role = "inout" on what the kernel writes'
            found = "no argument is an output: there is nothing to verify"
            self._problems.add(found, self._at.key(("arguments",)), hint)

    def constraints(self) -> None:
        """The default is the original kernel: it must be allowed on every workload, as far as that is known without a device."""
        default = self._kernel.default_configuration
        for constraint in self._kernel.constraints:
            if not constraint.expression.names & self._limits:
                self._constraint(constraint, default)

    def _constraint(self, constraint: Constraint, default: Configuration) -> None:
        expression = constraint.expression
        for workload in self._kernel.workloads:
            names: dict[str, Value] = {**default, **workload.sizes}
            value = self._evaluate(expression, names, workload.name)
            if value is None:
                return
            if not value:
                why = f": {constraint.reason}" if constraint.reason else ""
                where = f" (workload {workload.name!r})" if expression.names & workload.sizes.keys() else ""
                fact = f"{expression} does not hold{_given(expression, names)}{where}{why}"
                hint = "the default is the original kernel: it must run on every workload"
                self._problems.add(f"the default configuration is not allowed: {fact}", expression.location, hint)
                return


def _given(expression: Expression, names: dict[str, Value]) -> str:
    given = ", ".join(f"{name}={names[name]}" for name in sorted(expression.names) if name in names)
    return f" ({given})" if given else ""
