"""Which kernel is meant, and which instance: found by name, checked against its template, written with all names qualified."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warpsmith.core.errors import InputError, Location
from warpsmith.devices._clang.tokens import Kind, Token, tokenize
from warpsmith.source.extract.declarations import Declaration, Scope, plain
from warpsmith.source.extract.declarations import Kind as Declared
from warpsmith.source.extract.elsewhere import definition_of
from warpsmith.source.extract.flatten import Unit
from warpsmith.source.extract.model import ExtractRequest
from warpsmith.source.extract.program import Program
from warpsmith.source.tokens.syntax import parameter_name, past_angles, split_commas, template_parameters
from warpsmith.source.tokens.uses import Use, is_keyword
from warpsmith.spec.problems import nearest

_SHOWN = 4  # instances in use, as examples


@dataclass(frozen=True, slots=True)
class Instance:
    """`declarations` are the kernel's definition and its overloads; `bindings` map template parameters to arguments."""

    kernel: Declaration
    declarations: tuple[Declaration, ...]
    entry: str
    arguments: tuple[Token, ...]
    bindings: dict[str, str]
    name: str


def find_instance(request: ExtractRequest, unit: Unit, program: Program) -> Instance:
    """Raises InputError: no such kernel, several, or an instance that does not fit."""
    found = _find(request, unit, program)
    kernel = found[-1]
    name = request.kernel.rsplit("::", 1)[-1]
    scope = plain(kernel.scope)
    full_name = "::".join([*scope, name])
    parameters = template_parameters(list(tokenize(program.text_of(kernel))))
    arguments = _arguments(request, unit, kernel, parameters, program)
    entry = full_name
    if parameters:
        entry = f"{full_name}<{_qualified(arguments, program, scope)}>"
    texts = [" ".join(token.text for token in part) for part in split_commas(arguments)]
    names = [parameter_name(part) for part in parameters]
    values = [*texts, *(_default(part) for part in parameters[len(texts) :])]
    bindings = {key: value for key, value in zip(names, values, strict=False) if key and value}
    return Instance(kernel, tuple(found), entry, tuple(arguments), bindings, name)


def _find(request: ExtractRequest, unit: Unit, program: Program) -> list[Declaration]:
    *wanted_scope, wanted = request.kernel.split("::")
    kernels = program.kernels()
    named = [
        k
        for k in kernels
        if wanted in k.names and plain(k.scope)[len(plain(k.scope)) - len(wanted_scope) :] == tuple(wanted_scope)
    ]
    if not named:
        raise InputError(
            f"no kernel {request.kernel!r}{_others(unit, kernels)}",
            location=Location(request.source),
            hint=_hint(request, unit, kernels),
        )
    scopes = list(dict.fromkeys(plain(k.scope) for k in named))
    if len(scopes) > 1:
        listed = "".join(f"\n  {'::'.join([*plain(k.scope), wanted])} ({unit.location(k.start)})" for k in named)
        raise InputError(
            f"{len(scopes)} kernels are called {wanted!r}:{listed}",
            location=Location(request.source),
            hint="name one with its namespace",
        )
    defined = [k for k in named if k.item.body or k.kind is Declared.MACRO_CALL]
    if not defined:
        raise InputError(
            f"{request.kernel!r} is declared but not defined",
            location=unit.location(named[0].start),
            hint=f"extract from the file with its body{_elsewhere(request)}",
        )
    meant = _overload(request, unit, program, [k for k in defined if not k.is_specialisation])
    others = [k for k in named if k not in defined] if meant is None or len(defined) == 1 else []
    return [*others, *(k for k in defined if k.is_specialisation), *([meant] if meant is not None else [])]


def _overload(request: ExtractRequest, unit: Unit, program: Program, defined: Sequence[Declaration]) -> Declaration | None:
    """Of kernels that differ in their parameters only, the one that is meant; no compiler would know by the name."""
    if request.line is not None:
        lines = [(k, unit.origin(k.start).line, unit.origin(k.end - 1).line) for k in defined]
        fitting = [k for k, first, last in lines if first <= request.line <= last]
    else:
        given = [part for part in split_commas(list(tokenize((request.instance or "").partition("<")[2]))[:-1]) if part]
        takes = [(k, template_parameters(list(tokenize(program.text_of(k))))) for k in defined]
        fitting = [k for k, parameters in takes if len(given) <= len(parameters)] or list(defined)
    if len(fitting) == 1 or not defined:
        return fitting[0] if fitting else None
    listed = "".join(f"\n  {unit.location(k.start)}" for k in defined)
    line = unit.origin(defined[0].start).line
    raise InputError(
        f"{len(defined)} kernels are called {request.kernel!r} and differ in their parameters:{listed}",
        location=Location(request.source),
        hint=f"say which by a line of it: --kernel {request.kernel}:{line}",
    )


def _others(unit: Unit, kernels: Sequence[Declaration]) -> str:
    listed = [f"\n  {'::'.join([*plain(k.scope), *sorted(k.names)])} ({unit.location(k.start)})" for k in kernels[:20]]
    more = f"\n  and {len(kernels) - 20} more" if len(kernels) > 20 else ""
    return f"; there are:{''.join(listed)}{more}" if listed else ""


def _hint(request: ExtractRequest, unit: Unit, kernels: Sequence[Declaration]) -> str | None:
    """Where the name does stand, if an `#if` has taken it out; else the name that is most like it."""
    name = request.kernel.rsplit("::", 1)[-1]
    pattern = re.compile(rf"__global__[^;{{}}]*?\b{re.escape(name)}\s*\(")
    for file, text in unit.texts.items():
        if match := pattern.search(text):
            line = text.count("\n", 0, match.end()) + 1
            return f"{file}:{line} has it in a branch of an #if that is not taken; -D NAME=VALUE changes that"
    if place := _elsewhere(request):
        return f"it is elsewhere{place}"
    return (
        nearest(name, [known for k in kernels for known in k.names])
        or "a kernel is marked __global__; headers are found through -I"
    )


def _elsewhere(request: ExtractRequest) -> str:
    place = definition_of(request.kernel.rsplit("::", 1)[-1], request.source)
    return f": {place}" if place else ""


def _arguments(
    request: ExtractRequest, unit: Unit, kernel: Declaration, parameters: Sequence[Sequence[Token]], program: Program
) -> list[Token]:
    """The template arguments of the instance asked for."""
    location = unit.location(kernel.start)
    needed = [part for part in parameters if _default(part) is None and "..." not in {token.text for token in part}]
    shown = ", ".join(" ".join(token.text for token in part) for part in parameters)
    tokens = list(tokenize(request.instance or ""))
    opening = next((index for index, token in enumerate(tokens) if token.text == "<"), None)
    if not parameters:
        if opening is not None:
            raise InputError(
                f"{request.kernel!r} is not a template, but the instance has arguments",
                location=location,
                hint="leave --instance out",
            )
        return []
    if opening is None:
        if not needed:
            return []
        raise InputError(
            f"{request.kernel!r} is a template <{shown}>",
            location=location,
            hint=f'choose its arguments: --instance "{request.kernel}<…>"{_in_use(program, request.kernel)}',
        )
    named = "".join(token.text for token in tokens[:opening]).rsplit("::", 1)[-1]
    if named != request.kernel.rsplit("::", 1)[-1] or tokens[-1].text not in {">", ">>"}:
        raise InputError(
            f"the instance {request.instance!r} is not of {request.kernel!r}",
            location=location,
            hint=f'as in "{request.kernel}<…>"',
        )
    arguments = _inside(tokens, opening)
    given = [part for part in split_commas(arguments) if part]
    takes_any = any("..." in {token.text for token in part} for part in parameters)
    if len(given) < len(needed) or (len(given) > len(parameters) and not takes_any):
        raise InputError(
            f"the instance has {len(given)} arguments, the template <{shown}> takes {len(needed)} to {len(parameters)}",
            location=location,
            hint=_in_use(program, request.kernel).removeprefix("; ") or None,
        )
    return arguments


def _in_use(program: Program, kernel: str) -> str:
    """How the code base itself writes instances; first those that name nothing but numbers, types and constants it declares."""
    name, tokens = kernel.rsplit("::", 1)[-1], program.tokens
    found: dict[str, int] = {}
    for index, token in enumerate(tokens[:-1]):
        if token.text == name and tokens[index + 1].text == "<":
            inside = tokens[index + 2 : past_angles(tokens, index + 1) - 1]
            unclear = [t for t in inside if t.kind is Kind.WORD and not is_keyword(t.text) and not program.declares(t.text)]
            found.setdefault(f"{name}<{_joined(t.text for t in inside)}>", len(unclear))
    shown = sorted(found, key=lambda use: found[use])[:_SHOWN]
    return f"; the code has {', '.join(shown)}" if shown else ""


def _inside(tokens: Sequence[Token], opening: int) -> list[Token]:
    """Between the first `<` and the last `>`; of a final `>>` the first half stays."""
    inside = list(tokens[opening + 1 : -1])
    last = tokens[-1]
    if last.text == ">>":
        inside.append(Token(Kind.PUNCTUATION, ">", last.start, last.line))
    return inside


def _default(parameter: Sequence[Token]) -> str | None:
    texts = [token.text for token in parameter]
    return " ".join(texts[texts.index("=") + 1 :]) if "=" in texts else None


def _qualified(arguments: Sequence[Token], program: Program, scope: Scope) -> str:
    """The arguments with the names that only the kernel's own namespace knows spelled out from the outside."""
    pieces: list[str] = []
    for index, token in enumerate(arguments):
        text = token.text
        is_bare = token.kind is Kind.WORD and (index == 0 or arguments[index - 1].text != "::")
        if is_bare:
            homes = {plain(d.scope) for d in program.candidates(Use(text), scope, frozenset())}
            if not homes and program.is_namespace(text):
                homes = {
                    outer[:-1] for outer in program.namespaces if outer[-1] == text and outer[:-1] == scope[: len(outer) - 1]
                }
            if homes and () not in homes:
                text = "::".join([*max(homes, key=len), text])
        pieces.append(text)
    return _joined(pieces)


def _joined(pieces: Iterable[str]) -> str:
    joined = " ".join(pieces)
    joined = re.sub(r"\s*(::|<|>|\(|\)|\.)\s*", r"\1", joined)
    return re.sub(r"\s*,\s*", ", ", joined)
