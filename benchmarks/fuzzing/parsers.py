"""What reads inputs of others, each with real inputs to begin with: fed a mutated one, it gives a value or a WarpsmithError."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from benchmarks.fuzzing import inputs
from benchmarks.fuzzing.mutations import mutated
from warpsmith.agents.llm import replies
from warpsmith.agents.llm.problem import Problem
from warpsmith.agents.llm.reading import parsed
from warpsmith.core.errors import InputError, WarpsmithError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Language, Limits
from warpsmith.devices.base import Original
from warpsmith.devices.cpu.assembly import without_assembly
from warpsmith.export.earlier import read_export
from warpsmith.export.manifest import VERSION
from warpsmith.mcp.reading import findings_of, summary_of
from warpsmith.mcp.server import make_server
from warpsmith.measure.roofline import needs_of
from warpsmith.record.conversation import read_conversations
from warpsmith.record.foreign import load_recording
from warpsmith.record.lock import as_seen
from warpsmith.record.store import Store
from warpsmith.refactor.allowed import require_allowed
from warpsmith.refactor.untouched import untouched
from warpsmith.replay.trial import run_trial
from warpsmith.settings import Settings
from warpsmith.source.extract.model import ExtractRequest
from warpsmith.source.extract.program import Program
from warpsmith.source.extract.run import extract
from warpsmith.spec.bundled import bundled_names, bundled_path
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.kernel_tuner.draft import draft
from warpsmith.spec.launch_notes import launch_notes
from warpsmith.spec.load import load_kernel
from warpsmith.spec.skeleton import skeleton
from warpsmith.template import template_of
from warpsmith.tuning.agent.prospects import passes_for
from warpsmith.tuning.result import shown_result

_LIMITS = Limits(1024, 48 << 10, 32, 2048, 65536, 8, 1)
_SUFFIX = {Language.CUDA: ".cu", Language.HIP: ".hip", Language.OPENCL: ".cl"}


def _nothing(_place: Path) -> None: ...


@dataclass(frozen=True)
class Parser:
    """`feed(data, seed, place)`: one input, made of the seed of that name, in a folder that may be written to."""

    name: str
    seeds: Mapping[str, bytes]
    feed: Callable[[bytes, str, Path], object]
    words: Sequence[bytes] = inputs.SOURCE_WORDS
    others: Sequence[bytes] = inputs.TOML_WORDS
    share: int = 10  # of a hundred or so
    answers: tuple[type[Exception], ...] = ()  # what it answers with beside WarpsmithError
    prepare: Callable[[Path], object] = _nothing
    mutate: Callable[[bytes, Random], bytes] | None = field(default=None)


def all_parsers() -> list[Parser]:
    tomls = {name: _bundled(name).read_bytes() for name in bundled_names()}
    sources = {name: load_kernel(name).source.read_bytes() for name in bundled_names()}
    words = {"words": inputs.EXPRESSION_WORDS, "others": inputs.SCRIPT_WORDS}
    recordings = {"cache.json": inputs.kernel_tuner_cache(), "t4.json": inputs.t4_results()}
    database = {"runs": inputs.run_database()}
    return [
        Parser("kernel.toml", tomls, _kernel_toml, inputs.TOML_WORDS, inputs.EXPRESSION_WORDS, 20, prepare=_copy_examples),
        Parser("source", sources, _source, share=10, prepare=_copy_examples),
        Parser("own template", sources | _templates(), _own_template, share=5, prepare=_copy_examples),
        Parser("inspection", sources, _inspection, share=3, prepare=_copy_examples),
        Parser("passes", sources, _passes, share=1, prepare=_copy_examples),
        Parser("require_allowed", sources, _allowed, share=6),
        Parser("assembly", {"ptx": _ASSEMBLY}, _assembly, share=3),
        Parser("expression", dict(enumerate_names(inputs.EXPRESSIONS)), _expression, share=15, **words),
        Parser("recording", recordings, _recording, inputs.CONFIGURATION_WORDS, inputs.SCRIPT_WORDS, 15),
        Parser(
            "conversation", {"talk.jsonl": inputs.CONVERSATION}, _conversation, inputs.CONFIGURATION_WORDS, inputs.TOML_WORDS, 5
        ),
        Parser("script", {"tune.py": inputs.SCRIPT}, _script, inputs.SCRIPT_WORDS, inputs.SOURCE_WORDS, 10),
        Parser("T1", {"add.json": inputs.T1}, _script, inputs.SCRIPT_WORDS, inputs.EXPRESSION_WORDS, 8, prepare=_add_source),
        Parser("host code", {"host.cu": inputs.HOST_CODE, **_with_hip(sources)}, _host_code, share=10),
        Parser("extract: syntax", {"host.cu": inputs.HOST_CODE, **sources}, _program, share=6),
        Parser("extract", {"host.cu": inputs.HOST_CODE}, _extract, share=1),
        Parser("run database", database, _database, mutate=_database_mutated, share=12, answers=(sqlite3.Error,)),
        Parser("export.json", {"export.json": _export()}, _read_export, inputs.CONFIGURATION_WORDS, inputs.TOML_WORDS, 4),
        Parser(
            "model's reply",
            {"reply": inputs.REPLY, "words": inputs.REPLY_IN_WORDS},
            _reply,
            inputs.TOML_WORDS,
            inputs.SOURCE_WORDS,
            6,
            (Problem, ValidationError),
        ),
        Parser("MCP arguments", _calls(), _mcp, inputs.TOML_WORDS, inputs.SOURCE_WORDS, 4, prepare=_a_home),
    ]


def enumerate_names(texts: Sequence[bytes]) -> list[tuple[str, bytes]]:
    return [(str(number), text) for number, text in enumerate(texts)]


# ── kernels ──


def _bundled(name: str) -> Path:
    path = bundled_path(name)
    assert path is not None
    return path


def _templates() -> dict[str, bytes]:
    found = {name: load_kernel(name).template_source for name in bundled_names()}
    return {name: file.read_bytes() for name, file in found.items() if file is not None}


def _copy_examples(place: Path) -> None:
    for name in bundled_names():
        shutil.copytree(_bundled(name).parent, place / name)


def _kernel_toml(data: bytes, seed: str, place: Path) -> object:
    (place / seed / "kernel.toml").write_bytes(data)
    return _read(load_kernel(place / seed))


def _read(kernel: Kernel) -> object:
    template = template_of(kernel)
    needs = [needs_of(kernel, workload) for workload in kernel.workloads]
    return template, launch_notes(kernel), needs


def _with_source(data: bytes, seed: str, place: Path) -> Kernel:
    """The example whose source says this."""
    file = place / seed / load_kernel(place / seed).source.name if not (place / seed / "source").exists() else None
    if file is None:
        file = place / seed / (place / seed / "source").read_text()
    else:
        (place / seed / "source").write_text(file.name)
    file.write_bytes(data)
    return load_kernel(place / seed)


def _source(data: bytes, seed: str, place: Path) -> object:
    return _read(_with_source(data, seed, place))


def _own_template(data: bytes, seed: str, place: Path) -> object:
    kernel = load_kernel(place / seed)
    (kernel.template_source or kernel.source).write_bytes(data)
    return _read(load_kernel(place / seed))


def _inspection(data: bytes, seed: str, place: Path) -> object:
    kernel = _with_source(data, seed, place)
    return summary_of(kernel), findings_of(kernel)


def _passes(data: bytes, seed: str, place: Path) -> object:
    return passes_for(untouched(_with_source(data, seed, place)), _LIMITS)


@cache
def _original(seed: str) -> tuple[Original, Language]:
    kernel = load_kernel(seed)
    return Original(kernel.source.read_text(), kernel.defines), kernel.language


def _allowed(data: bytes, seed: str, _place: Path) -> object:
    original, language = _original(seed)
    return require_allowed(data.decode("utf-8-sig", errors="replace"), original, language)


_ASSEMBLY = rb"""
__device__ float f(float a, int b) {
    float r; int i; unsigned long l;
    asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    asm("{ .reg .pred p; .reg .b32 t<3>; setp.ne.b32 p, %1, 0; @p add.s32 %0, %1, 3; mad.lo.s32 t0, %1, 2; }" : "=r"(i) : "r"(b));
    asm volatile("ld.global.cg.v2.f32 {%0, %1}, [%2+8];" : "=f"(r), "=f"(a) : "l"(l) : "memory");
    asm ("fma.rn.f16x2 %0,%1,%2,%3;\n\t" : "+r"(i) : "r"(b), "r"(3), "r"(0x3c003c00));
    asm volatile("" ::: "memory"); asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b) : "f"(a)); asm("mov.u32 %0, %%laneid;" : "=r"(i));
    return r + i;
}
"""


def _assembly(data: bytes, _seed: str, _place: Path) -> object:
    return without_assembly(data.decode(errors="replace"))


def _program(data: bytes, _seed: str, _place: Path) -> object:
    return Program(data.decode(errors="replace")).kernels()


def _with_hip(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    return {load_kernel(name).source.name: data for name, data in sources.items()}


def _host_code(data: bytes, seed: str, place: Path) -> object:
    file = place / seed
    file.write_bytes(data)
    return skeleton(file)


def _extract(data: bytes, seed: str, place: Path) -> object:
    file = place / seed
    file.write_bytes(data)
    return extract(ExtractRequest(file, "scale", "scale<float, 8>"))


# ── expressions ──


def _expression(data: bytes, _seed: str, _place: Path) -> object:
    expression = Expression.parse(data.decode(errors="replace"))
    names = {"n": 1000, "d": 11008, "BLOCK": 128, "VEC": 4, "FAST": True, "warp_size": 32, "max_threads": 1024}
    with suppress(InputError):
        expression.evaluate(names)
    columns = {**names, "BLOCK": np.array([32, 64, 0, 2**40]), "VEC": np.array([1, -2, 4, 0]), "n": 2**62}
    return expression.evaluate_many(columns)


# ── other tuners' files ──


def _conversation(data: bytes, seed: str, place: Path) -> object:
    (place / seed).write_bytes(data)
    return read_conversations(place / seed)


def _recording(data: bytes, seed: str, place: Path) -> object:
    file = place / seed
    file.write_bytes(data)
    recording = load_recording(file)
    return run_trial(recording, "random", np.random.default_rng(3), evaluations=4)


def _script(data: bytes, seed: str, place: Path) -> object:
    file = place / seed
    file.write_bytes(data)
    return draft(file)


def _add_source(place: Path) -> None:
    (place / "add.cu").write_bytes(inputs.T1_SOURCE)


# ── the record ──


def _database_mutated(data: bytes, rng: Random) -> bytes:
    """Bytes anywhere, a file that was cut off, or one field of one row, written as SQLite would and not as we do."""
    match rng.randrange(4):
        case 0:
            at = rng.randrange(len(data))
            return data[:at] + bytes(rng.randrange(256) for _ in range(rng.choice((1, 1, 4, 100)))) + data[at + 1 :]
        case 1:
            return data[: rng.choice((0, 1, 15, 16, 99, 100, rng.randrange(len(data))))]
        case _:
            return _one_field_changed(data, rng)


def _one_field_changed(data: bytes, rng: Random) -> bytes:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.deserialize(data)
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = rng.choice([t for t in tables if connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0]])
    column = rng.choice([row[1] for row in connection.execute(f"PRAGMA table_info({table})")])
    row, old = rng.choice(connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall())
    text = old.encode() if isinstance(old, str) else json.dumps(old).encode()
    new = mutated(text, rng, inputs.CONFIGURATION_WORDS, inputs.TOML_WORDS)
    value: Any = rng.choice((new.decode(errors="replace"), new, "", "{}", "[]", "null", None, 1e999, -1, "\0", b"\xff"))
    with suppress(sqlite3.Error, OverflowError):
        connection.execute("PRAGMA ignore_check_constraints = ON")
        blob = value if isinstance(value, bytes) else None
        # A TEXT column of a STRICT table takes bytes that are no UTF-8 only so.
        what = "CAST(? AS TEXT)" if blob is not None and isinstance(old, str) else "?"
        connection.execute(f"UPDATE {table} SET {column} = {what} WHERE rowid = ?", (value, row))
    found = connection.serialize()
    connection.close()
    return found


def _database(data: bytes, _seed: str, place: Path) -> object:
    for old in place.glob("runs.sqlite*"):
        old.unlink()
    (place / "runs.sqlite").write_bytes(data)
    settings = Settings(place)
    with Store(settings.database, reading=True) as store:
        for record in store.runs():
            as_seen(record, settings.run_folder(record.run))
        for name in ("kernel0", "kernel1", "kernel2", "last"):
            with suppress(WarpsmithError):
                record = store.find(name)
                json.dumps(shown_result(record, store), default=str)
                store.rounds(record.run), store.messages(record.run), store.adversaries(record.run), store.sources(record.run)
    return None


def _export() -> bytes:
    entry = {
        "config": {"BLOCK": 64}, "file": "k.cu", "entry": "k", "grid": ["ceildiv(n, 64)"], "block": ["64"], "shared": "0",
        "median_us": 1.0, "speedup": 2.0,
    }  # fmt: skip
    arguments = [{"name": "n", "dtype": "i32", "value": "n"}, {"name": "out", "dtype": "f32", "shape": ["n"], "role": "out"}]
    found = {"version": VERSION, "provenance": {"run": "r"}, "general": entry, "dispatch": {"w": entry}, "arguments": arguments}
    return json.dumps(found).encode()


def _read_export(data: bytes, seed: str, place: Path) -> object:
    (place / seed).write_bytes(data)
    (place / "k.cu").write_text("")
    export = read_export(place)
    return export.run, export.builds(_silu())


@cache
def _silu() -> Kernel:
    return load_kernel("silu_and_mul")


# ── models and agents ──


def _reply(data: bytes, _seed: str, _place: Path) -> object:
    text = data.decode(errors="replace")
    found = []
    for schema in (replies.AnalysisReply, replies.PlanReply, replies.FormReply, replies.TestsReply):
        with suppress(Problem, ValidationError):
            found.append(parsed(text, schema, "stop"))
    return found


def _calls() -> dict[str, bytes]:
    """Calls of tools that start nothing."""
    calls = {
        "draft_kernel": {"source": inputs.HOST_CODE.decode(), "file_name": "scale.cu", "kernel": "scale"},
        "inspect_kernel": {"kernel": "silu_and_mul"},
        "list_passes": {"kernel": "softmax", "device": "nothing"},
        "check_kernel": {"kernel": "nowhere", "device": "cpu"},
        "submit_form": {
            "kernel": "nowhere", "source": "__global__ void k() {}", "grid": ["n"], "block": [64], "shared": "0",
            "parameters": [{"name": "B", "values": [1, 2], "default": 1}], "constraints": [{"expr": "n % B == 0", "reason": ""}],
        },
        "start_tuning": {"kernel": "nowhere", "evaluations": 5, "seconds": 1.0, "device": "cpu", "seed": 0, "warm": ["last"]},
        "job_status": {"job": "1"},
        "get_result": {"run": "last"},
        "explain": {"run": "last", "configuration": {"BLOCK": 64}},
        "profile": {"run": "last"},
        "export_result": {"run": "last", "format_name": "source", "force": False},
    }  # fmt: skip
    return {name: json.dumps(arguments).encode() for name, arguments in calls.items()}


def _a_home(place: Path) -> None:
    os.environ["WARPSMITH_HOME"] = str(place / "home")
    (place / "home").mkdir()
    (place / "home" / "runs.sqlite").write_bytes(inputs.run_database())
    logging.disable(logging.CRITICAL)


def _mcp(data: bytes, seed: str, place: Path) -> object:
    try:
        arguments = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(arguments, dict) or (
        seed in {"check_kernel", "submit_form", "start_tuning"} and _names_a_kernel(arguments)
    ):
        return None
    try:
        return asyncio.run(_server(place).call_tool(seed, arguments))
    except ToolError as error:
        if (
            str(error).startswith("Error executing tool")
            and error.__cause__ is not None
            and not isinstance(error.__cause__, ToolError | ValidationError)
        ):
            raise error.__cause__ from None
        return None


def _names_a_kernel(arguments: Mapping[str, Any]) -> bool:
    return str(arguments.get("kernel")) in bundled_names()


@cache
def _server(place: Path) -> Any:
    return make_server(place / "workspace")
