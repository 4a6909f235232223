"""Checks `[arguments]` against the kernel's parameters: number, order and kind, and dtypes where the declaration determines
them.

Only certain mistakes are problems. Names in kernel.toml are free, a dtype describes memory, and anything unclear in the source
(unknown types, macros, conditionals) is accepted; compilers know more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from warpsmith.core.errors import InputError, Location
from warpsmith.spec.cpp_types import CppType, cpp_type, may_be_memory, may_be_value
from warpsmith.spec.declarations import Declarations, KernelDeclaration, ParameterDeclaration, TemplateParameter, refused_handle
from warpsmith.spec.entry import split_entry
from warpsmith.spec.kernel import Argument, Buffer, Kernel, Role, Scalar

if TYPE_CHECKING:
    from warpsmith.spec.problems import Problems
    from warpsmith.spec.toml_positions import Positions

_AS_BITS = re.compile(r"\b__\w+_as_\w+|\bas_u?(?:int|long|short|char)\w*\s*\(|\bbit_cast\b|\bunion\b")
_QUALIFIERS = re.compile(r"\b(?:const|volatile|(?:__)?(?:global|constant|local|private|restrict)(?:__)?)\b")


def check_signature(kernel: Kernel, declarations: Declarations, at: Positions, problems: Problems) -> None:
    """Of several declarations of one name (overloads, `#if` branches) one must match."""
    name, instance = split_entry(kernel.entry)
    plain = name.rsplit("::", 1)[-1]
    declared = [k for k in declarations.kernels if k.plain_name == plain]
    declared = [k for k in declared if k.name.endswith(name)] or declared
    if len(declared) == 1 and declared[0].handle is not None:
        problems.add_error(refused_handle(declared[0], kernel.source))
        return
    if declared and all(_open_parameters(k, instance) for k in declared):
        opened = _open_parameters(declared[0], instance)
        example = ", ".join([*instance, *("float" if p.kind in {"typename", "class"} else "4" for p in opened)])
        message = f"{plain!r} is a template, and {', '.join(p.name for p in opened)} has no argument"
        problems.add(message, at.text(("kernel", "entry")), f'name an instance, such as entry = "{name}<{example}>"')
        return
    if not declared or not all(k.is_plain for k in declared):
        return
    aliases = _aliases(kernel, declarations)
    found = [list(_Comparison(kernel, k, {**aliases, **_bindings(k, instance)}, at).findings()) for k in declared]
    if all(found):
        for finding in found[0]:
            problems.add_error(finding)


def _aliases(kernel: Kernel, declarations: Declarations) -> dict[str, str | None]:
    """Includes `-D` defines and parameters, whose names have no fixed meaning in the file."""
    return declarations.aliases() | dict.fromkeys(kernel.defines) | {p.name: None for p in kernel.parameters}


def _open_parameters(declared: KernelDeclaration, instance: list[str]) -> list[TemplateParameter]:
    """Template arguments that an entry must name: calls deduce them, a launch by name cannot."""
    return [p for p in declared.template[len(instance) :] if p.default is None and not p.is_pack]


def _bindings(declared: KernelDeclaration, instance: list[str]) -> dict[str, str | None]:
    bound: dict[str, str | None] = {}
    for place, parameter in enumerate(declared.template):
        if parameter.is_pack:
            bound |= {p.name: None for p in declared.template[place:]}
            break
        bound[parameter.name] = instance[place] if place < len(instance) else parameter.default
    # An argument with the same name as its parameter carries no information.
    return {name: target if target != name else None for name, target in bound.items()}


@dataclass(frozen=True)
class _Comparison:
    kernel: Kernel
    declared: KernelDeclaration
    aliases: Mapping[str, str | None]
    at: Positions

    @cached_property
    def parameters(self) -> list[ParameterDeclaration]:
        return [p for p in self.declared.parameters if not p.is_local]

    @cached_property
    def names(self) -> list[str]:
        return [p.name for p in self.parameters]

    def findings(self) -> Iterator[InputError]:
        arguments = self.kernel.arguments
        if len(arguments) != len(self.parameters):
            yield self._count()
        elif sorted(self.names) == sorted(a.name for a in arguments) and self.names != [a.name for a in arguments]:
            yield self._order()
        else:
            for argument, parameter in zip(arguments, self.parameters, strict=True):
                if (finding := self._pair(argument, parameter)) is not None:
                    yield finding

    # ── number and order ──

    def _count(self) -> InputError:
        arguments = self.kernel.arguments
        counts = f"the kernel takes {_counted(len(self.parameters))}, kernel.toml has {len(arguments)}"
        local = next((p for p in self.declared.parameters if p.is_local and p.name in {a.name for a in arguments}), None)
        if local is not None:
            hint = "omit a __local parameter; give its bytes in [launch] shared"
            return self._error(f"{counts}: `{local.text}` is not one of them", ("arguments", local.name), hint)
        if len(arguments) > len(self.parameters):
            extra = self._first_extra()
            return self._error(f"{counts}: it has no {extra.name!r}", ("arguments", extra.name), self._whole)
        place = self._first_missing()
        where = f"after {arguments[place - 1].name!r}" if place else "first"
        path = ("arguments", arguments[place - 1].name) if place else ("arguments",)
        return self._error(f"{counts}: {where} the kernel has `{self.parameters[place].text}`", path, self._whole)

    def _first_missing(self) -> int:
        """By name if kernel.toml uses the kernel's names; else where a pointer meets a value; else the end."""
        given = {a.name for a in self.kernel.arguments}
        if given <= set(self.names):
            twice = (i for i, name in enumerate(self.names) if name in self.names[:i])  # which no compiler takes
            return next((i for i, name in enumerate(self.names) if name not in given), next(twice, len(given)))
        pairs = list(zip(self.kernel.arguments, self.parameters, strict=False))
        return next((i for i, (a, p) in enumerate(pairs) if self._kind(a, p) is not None), len(pairs))

    def _first_extra(self) -> Argument:
        arguments = self.kernel.arguments
        strangers = [a for a in arguments if a.name not in self.names]
        if len(strangers) == len(arguments) - len(self.parameters):
            return strangers[0]
        pairs = zip(arguments, self.parameters, strict=False)
        return next((a for a, p in pairs if self._kind(a, p) is not None), arguments[len(self.parameters)])

    def _order(self) -> InputError:
        pairs = zip(self.kernel.arguments, self.parameters, strict=True)
        argument, parameter = next((a, p) for a, p in pairs if a.name != p.name)
        found = f"{argument.name!r} stands where the kernel has `{parameter.text}`"
        return self._error(found, ("arguments", argument.name), f"the kernel's order: {', '.join(self.names)}")

    # ── one argument and its parameter ──

    def _pair(self, argument: Argument, parameter: ParameterDeclaration) -> InputError | None:
        return self._kind(argument, parameter) or self._dtype(argument, parameter) or self._constness(argument, parameter)

    def _kind(self, argument: Argument, parameter: ParameterDeclaration) -> InputError | None:
        path = ("arguments", argument.name)
        match argument:
            case Scalar(name=name) if parameter.depth > 0:
                hint = 'a pointer has a shape: shape = ["n"]; null = true passes a null pointer'
                return self._error(f"{name!r} has a value, but the kernel has `{parameter.text}`", (*path, "value"), hint)
            case Buffer(name=name) if parameter.depth == 0:
                # A by-value structure is described by its bytes.
                known = self._type(parameter)
                if known is None or known.lanes > 1:
                    return None
                hint = f'a scalar has a value: {name} = {{ dtype = "{known.dtype.value}", value = … }}'
                return self._error(f"{name!r} has a shape, but the kernel has `{parameter.text}`", (*path, "shape"), hint)
            case _:
                return None

    def _dtype(self, argument: Argument, parameter: ParameterDeclaration) -> InputError | None:
        known = self._type(parameter)
        if known is None or parameter.depth > 1 or (isinstance(argument, Buffer) and (argument.null or parameter.depth == 0)):
            return None
        if self._fits(argument, parameter, known):
            return None
        stands = "" if re.fullmatch(r"\w+", parameter.type) is None else self._meaning(parameter.type)
        found = f"{argument.name!r} is {argument.dtype.value}, but the kernel has `{parameter.text}`{stands}"
        hint = f'expected dtype = "{known.dtype.value}"'
        if isinstance(argument, Scalar) and known.lanes > 1:
            described = f'{{ dtype = "{known.dtype.value}", shape = [{known.elements(self.kernel.language)}] }}'
            hint = f"a vector is described by its elements: {argument.name} = {described}"
        elif isinstance(argument, Scalar):
            hint += ": a GPU gets a scalar's bytes as they are"
        return self._error(found, ("arguments", argument.name, "dtype"), hint)

    def _fits(self, argument: Argument, parameter: ParameterDeclaration, known: CppType) -> bool:
        if isinstance(argument, Scalar):
            return may_be_value(known, argument.dtype)
        as_bits = _AS_BITS.search(self.declared.body_text) is not None
        if may_be_memory(known, argument.dtype, as_bits=as_bits):
            return True
        seen_as = (self._named(text) for text in self._casts(parameter.name))
        return any(t is None or may_be_memory(t, argument.dtype, as_bits=as_bits) for t in seen_as)

    def _constness(self, argument: Argument, parameter: ParameterDeclaration) -> InputError | None:
        is_output = isinstance(argument, Buffer) and argument.role is Role.OUT
        if not is_output or not parameter.is_const or parameter.depth != 1:
            return None
        if any("const" not in text.split() for text in self._casts(parameter.name, whole=True)):
            return None
        found = f'{argument.name!r} has role "out", but the kernel has `{parameter.text}`, which it cannot write'
        return self._error(found, ("arguments", argument.name, "role"), self._whole)

    def _type(self, parameter: ParameterDeclaration) -> CppType | None:
        return self._named(parameter.type)

    def _named(self, text: str) -> CppType | None:
        return cpp_type(text, self.kernel.language, self.aliases)

    def _meaning(self, name: str) -> str:
        known, target = self._named(name), self.aliases.get(name)
        return f" ({name} is {target})" if known is not None and target is not None else ""

    def _casts(self, name: str, *, whole: bool = False) -> Iterator[str]:
        """The types to which the kernel casts the pointer; with qualifiers if they are wanted whole."""
        for pattern in (
            r"_cast\s*<([^;{{}}()]*?)\*[^;{{}}()*]*>\s*\(\s*[&(\s]*{0}\b",
            r"\(([\w\s:<>,]+?)\*[\s\w]*\)[&(\s]*{0}\b",
        ):
            for match in re.finditer(pattern.format(re.escape(name)), self.declared.body_text):
                yield match[1] if whole else _QUALIFIERS.sub(" ", match[1]).strip()

    @property
    def _whole(self) -> str:
        listed = ", ".join(p.text for p in self.parameters)
        return f"{self.kernel.source.name}:{self.declared.line}: {self.declared.plain_name}({listed})"

    def _error(self, found: str, path: tuple[str, ...], hint: str) -> InputError:
        place: Location = self.at.key(path) if path[-1] not in {"dtype", "role"} else self.at.value(path)
        return InputError(found, location=place, hint=hint)


def _counted(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"
