"""Writes a `TuningProblem` as a kernel.toml, with its origins and a mark at everything that could not be followed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core.configuration import Value
from warpsmith.core.plain_text import on_one_line
from warpsmith.spec.build import LANGUAGES
from warpsmith.spec.comments import used_identifiers
from warpsmith.spec.declarations import Declarations, KernelDeclaration
from warpsmith.spec.entry import split_entry
from warpsmith.spec.includes import included_files
from warpsmith.spec.kernel_tuner.argument_lines import ArgumentLines
from warpsmith.spec.kernel_tuner.defaults import default_of, defined_in, with_own_values
from warpsmith.spec.kernel_tuner.problem import BLOCK_SIZES, ScriptNumber, TuningProblem
from warpsmith.spec.kernel_tuner.sizes import Sizes, sizes_of
from warpsmith.spec.kernel_tuner.sources import relative
from warpsmith.spec.kernel_tuner.space_lines import constraint_lines, kept_conditions, parameter_lines
from warpsmith.spec.kernel_tuner.toml_text import is_writable, quoted_unless_number
from warpsmith.spec.skeleton import instance_of
from warpsmith.spec.skeleton_arguments import arguments_of, constant_lines
from warpsmith.spec.toml_writing import toml_value

_GRID_NAMES = ("grid_size_x", "grid_size_y", "grid_size_z")
_SMALLER = 16  # a held-out size is less than the script's by a part of so many


@dataclass(frozen=True)
class Written:
    """`folder` is where the kernel.toml will be, `source` where the kernel's source is or will be."""

    problem: TuningProblem
    declarations: Declarations
    kernel: KernelDeclaration
    source: Path
    folder: Path

    def text(self) -> str:
        problem = self.problem
        defines = self._defines()
        sizes = sizes_of(problem, defines)
        used = self._used()
        parameters = with_own_values([p for p in problem.parameters if p.name in used], self.declarations.text)
        conditions = [c.text for c in kept_conditions(problem) if c.text is not None]
        default = default_of(parameters, conditions, problem.block)
        lines = [
            f"# from {problem.place}{problem.written}; FILL IN marks what was not understood, and what only you know",
            *(f"# {on_one_line(note)}" for note in (*problem.notes, *self._source_notes(sizes))),
            "",
            *self._kernel_lines(defines),
            "",
            *self._argument_lines(sizes),
            "",
            *self._launch_lines(sizes),
            "",
            "[workloads]   # FILL IN: the shapes that matter; held-out ones only judge the result",
            *self._workload_lines(sizes),
            *parameter_lines(parameters, default),
            *(f"# {p.name}: neither the source nor the launch uses it" for p in problem.parameters if p.name not in used),
            *constraint_lines(problem, is_met=default is not None),
            "",
            *self._reference_lines(),
        ]
        return "\n".join(lines)

    # ── [kernel] ──

    def _kernel_lines(self, defines: dict[str, Value]) -> list[str]:
        plain = self.kernel.plain_name
        file = relative(self.source, self.folder)
        entry, note = self._entry()
        folders = ", ".join(toml_value(folder) for folder in self.problem.include_dirs)
        defined = ", ".join(f"{name} = {toml_value(value)}" for name, value in defines.items())
        return [
            "[kernel]",
            f"name   = {toml_value(plain)}",
            f"source = {toml_value(file)}",
            f"entry  = {toml_value(entry)}{note}",
            *([] if self._has_language else [f'language = "{self.declarations.language.value}"']),
            *([f"defines = {{ {defined} }}"] if defined else []),
            *([f"include_dirs = [{folders}]"] if folders else []),
        ]

    @property
    def _has_language(self) -> bool:
        return LANGUAGES.get(self.source.suffix.lower()) is self.declarations.language

    def _entry(self) -> tuple[str, str]:
        """With a note. Parameters among the template's arguments stay there: they are macros as elsewhere."""
        _, instance = split_entry(self.problem.kernel_name or "")
        if not self.kernel.template:
            return self.kernel.name, ""
        if instance:
            return f"{self.kernel.name}<{', '.join(instance)}>", ""
        guessed = ", ".join(instance_of(p, self.kernel) for p in self.kernel.template)
        return f"{self.kernel.name}<{guessed}>", "   # FILL IN: the instance to tune"

    def _defines(self) -> dict[str, Value]:
        """The extra macros that Kernel Tuner defines, if the source uses them."""
        names, source = self.problem.parameter_names, self.declarations.text
        found = {n: v for n, v in self.problem.defines.items() if n not in names and re.fullmatch(r"[A-Za-z_]\w*", n)}
        own = defined_in(source)
        for name, value in {**BLOCK_SIZES, "kernel_tuner": 1}.items():
            if name not in {*names, *own, *found} and re.search(rf"\b{name}\b", source):
                found[name] = value
        return found

    def _used(self) -> frozenset[str]:
        """Names that the source, its headers or the launch use: a parameter without any of them has no effect."""
        problem = self.problem
        folders = [self.folder / folder for folder in problem.include_dirs]
        headers = [text for _, text in included_files(self.source, self.declarations.text, folders)]
        expressions = [*(problem.size or ()), *problem.block, problem.shared, *(a.value for a in problem.arguments or ())]
        expressions += [text for texts in problem.divisors for text in texts or ()]
        expressions += [condition.text for condition in problem.conditions]
        named = frozenset(word for e in expressions if isinstance(e, str) for word in re.findall(r"[A-Za-z_]\w*", e))
        return named.union(*map(used_identifiers, (self.declarations.text, *headers, problem.kernel_name or "")))

    def _source_notes(self, sizes: Sizes) -> list[str]:
        source = self.declarations.text
        notes = [
            f"FILL IN: the source uses {name}, which Kernel Tuner defines and kernel.toml cannot: gridDim has it"
            for name in _GRID_NAMES
            if re.search(rf"\b{name}\b", source) and name not in {*self.problem.parameter_names, *self.problem.defines}
        ]
        told = {sizes.text(a.value) for a in self.problem.arguments or () if isinstance(a.value, ScriptNumber)}
        untold = [n for n in sizes.values if not any(re.search(rf"\b{n}\b", text) for text in told)]
        for value in dict.fromkeys(sizes.values[n] for n in untold):
            if re.search(rf"\b{value}\b", source):
                names = " and ".join(n for n in untold if sizes.values[n] == value)
                notes.append(
                    f"the source has {value} in it, and no argument tells it {names}: another size may need other source"
                )
        return notes

    # ── [arguments], [launch], [workloads] ──

    def _argument_lines(self, sizes: Sizes) -> list[str]:
        problem = self.problem
        _, instance = split_entry(problem.kernel_name or "")
        template = {p.name: instance_of(p, self.kernel) for p in self.kernel.template}
        template |= dict(zip(template, instance, strict=False))
        arguments = arguments_of(self.declarations, self.kernel, template)
        guess = [quoted_unless_number(sizes.text(e)) for e in problem.size or () if isinstance(e, ScriptNumber)] or ["1024"]
        known = frozenset(sizes.values) | problem.parameter_names
        lines = ArgumentLines(sizes, guess, known, is_compared=problem.compared is not None and any(problem.compared))
        passed = list(problem.arguments or ())
        compared = list(problem.compared or ())
        width = max((len(a.name) for a in arguments), default=0)
        head = ["[arguments]   # in the kernel's order"]
        if len(passed) > len(arguments):
            head.append(f"# FILL IN: {problem.place} passes {len(passed)} arguments, the kernel takes {len(arguments)}")
        rows = [
            lines.line(
                argument,
                passed[place] if place < len(passed) else None,
                width,
                compared=place < len(compared) and compared[place],
            )
            for place, argument in enumerate(arguments)
        ]
        return [*head, *rows, *self._constant_lines(lines)]

    def _constant_lines(self, lines: ArgumentLines) -> list[str]:
        own = {row.partition(" ")[0]: row for row in constant_lines(self.declarations)[2:]}
        given = {name: lines.constant(name, passed) for name, passed in self.problem.constants.items()}
        rows = {name: given.get(name, row) for name, row in own.items()} | given
        return ["", "[constants]", *rows.values()] if rows else []

    def _launch_lines(self, sizes: Sizes) -> list[str]:
        problem = self.problem
        note = ""
        if problem.size is None:
            grid, note = ["1"], "   # FILL IN: problem_size could not be followed"
        else:
            grid = [_divided(sizes.text(extent), self._divisors(axis)) for axis, extent in enumerate(problem.size)]
        found = [
            f"[launch]   # {problem.place}",
            f"grid  = [{', '.join(map(quoted_unless_number, grid))}]{note}",
            f"block = [{', '.join(map(quoted_unless_number, problem.block))}]",
        ]
        if problem.shared is not None:
            found.append(f"shared = {quoted_unless_number(sizes.text(problem.shared))}")
        elif re.search(r"\bextern\s+(?:__align__\s*\([^)]*\)\s*)?__shared__", self.kernel.body_text) or any(
            p.is_local for p in self.kernel.parameters
        ):
            found.append("shared = 1024   # FILL IN: bytes of dynamic shared memory")
        return found

    def _divisors(self, axis: int) -> list[str]:
        own = self.problem.divisors[axis] if axis < len(self.problem.divisors) else ()
        if own is not None:
            return [text for text in own if text != "1"]
        block = self.problem.block[axis] if axis < len(self.problem.block) else "1"
        return [block] if not block.isdigit() else []  # a block that no parameter has divides nothing in Kernel Tuner

    def _workload_lines(self, sizes: Sizes) -> list[str]:
        name = "t1" if self.problem.file.suffix == ".json" else "script"
        values = sizes.values
        lines = {n: sizes.origins[root].line for root, n in sizes.names.items()}
        places = [f"{n} from {self.problem.file.name}:{line}" for n, line in lines.items() if line]
        note = f"   # {'; '.join(places)}" if places else ""
        other = {n: value - value // _SMALLER - 8 if value >= 64 else value for n, value in values.items()}
        found = [f"{name} = {{ {_table(values)} }}{note}" if values else f"{name} = {{}}"]
        if other != values:
            found.append(f"# odd = {{ {_table(other)}, heldout = true }}   # if the kernel takes any size")
        return found

    # ── [reference] ──

    def _reference_lines(self) -> list[str]:
        problem, plain = self.problem, self.kernel.plain_name
        oracle = "without `python` the original kernel, at its defaults, is the oracle"
        answer = (
            ["# the script's `answer` is an array and cannot be kept: a function that computes it can"]
            if problem.compared
            else []
        )
        is_set = problem.atol is not None and is_writable(problem.atol) and problem.atol >= 0
        return [
            *answer,
            f"[reference]   # {oracle}" if is_set else f"# [reference]   # {oracle}",
            f'# python = "reference.py:{plain}"',
            *([f"atol = {toml_value(problem.atol)}"] if is_set and problem.atol is not None else []),
            *([f"# `warpsmith tune . --warm {problem.cache}` starts from the script's cache"] if problem.cache else []),
            "",
        ]


def _divided(size: str, divisors: list[str]) -> str:
    if not divisors:
        return size
    held = [d if re.fullmatch(r"\w+", d) or len(divisors) == 1 else f"({d})" for d in divisors]
    return f"ceildiv({size}, {' * '.join(held)})"


def _table(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())
