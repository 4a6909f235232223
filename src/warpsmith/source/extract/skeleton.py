"""The kernel.toml to start from: `spec.skeleton` shown the instance with its template arguments filled in."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpsmith.devices._clang.tokens import Kind, Token, tokenize
from warpsmith.source.extract.closure import Closure
from warpsmith.source.extract.declarations import Kind as Declared
from warpsmith.source.extract.tensor_types import of_toolkit
from warpsmith.source.tokens.syntax import past_brackets, past_template
from warpsmith.spec.skeleton import skeleton

_BY_VALUE = "by value; a structure without pointers is a buffer with its bytes"  # what the skeleton says of a structure


@dataclass(frozen=True, slots=True)
class Subject:
    """The kernel's text, and what its template parameters stand for; `launch` is how the code base launches it, if seen."""

    name: str
    source_name: str
    entry: str
    text: str
    bindings: Mapping[str, str]
    launch: str | None
    block: Sequence[str] | None = None  # of that launch, where it is known


def kernel_toml(subject: Subject, closure: Closure) -> str:
    """Written from a file that holds the kernel's text alone, types spelled out: dtypes and roles can then be read off it."""
    types = {**_aliases(closure), **subject.bindings}
    name = subject.name
    text = " ".join(_spelled(token, types) for token in _alone(name, list(tokenize(subject.text))))
    with tempfile.TemporaryDirectory(prefix="warpsmith-extract-") as folder:
        alone = Path(folder) / subject.source_name
        alone.write_text(f"__global__ void {text}\n", encoding="utf-8")
        written = skeleton(alone, name)
    written = written.replace(_BY_VALUE, f"{_BY_VALUE}: `warpsmith extract --unpack` passes its members")
    if subject.launch is not None:
        written = re.sub(r"^\[launch\].*$", lambda match: f"{match[0]}\n# {subject.launch}", written, count=1, flags=re.MULTILINE)
    if subject.block is not None:
        written = re.sub(r"^block = .*$", f"block = [{', '.join(subject.block)}]", written, count=1, flags=re.MULTILINE)
    return re.sub(r"^entry  = .*$", lambda _: f'entry  = "{subject.entry}"', written, count=1, flags=re.MULTILINE)


def _alone(name: str, tokens: Sequence[Token]) -> list[Token]:
    """From its launch bounds or its name on: macros before them may stand for anything."""
    position = past_template(tokens)
    bounds: Sequence[Token] = ()
    while position + 1 < len(tokens) and not (tokens[position].text == name and tokens[position + 1].text == "("):
        if tokens[position].text == "__launch_bounds__":
            bounds = tokens[position : past_brackets(tokens, position + 1)]
        position += 1
    return [*bounds, *tokens[position:]]


def _spelled(token: Token, types: Mapping[str, str]) -> str:
    text = token.text
    for _ in range(8):
        if text not in types:
            break
        text = types[text]
    if token.kind is Kind.DIRECTIVE:
        return f"\n{text}\n"
    return of_toolkit(text.rsplit("::", 1)[-1].strip()) if re.fullmatch(r"\w+(?:\s*::\s*\w+)*", text) else text


def _aliases(closure: Closure) -> dict[str, str]:
    """`using fp16_t = __half;`, `typedef unsigned int count_t;`: of types that are words alone."""
    found = {}
    for declaration in closure.declarations:
        if declaration.kind is not Declared.ALIAS:
            continue
        match [token.text for token in declaration.item.tokens]:
            case ["using", name, "=", *target, ";"] | ["typedef", *target, name, ";"] if target:
                if all(text == "::" or re.fullmatch(r"\w+", text) for text in target):
                    found[name] = " ".join(target).replace(" :: ", "::")
    return found
