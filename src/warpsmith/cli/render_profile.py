"""Output of `warpsmith profile`: counters per launch and source line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from warpsmith.cli.terminal import terminal
from warpsmith.report.wording import configuration_text

_LINES = 15
_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_SHARED_REQUESTS = "smsp__inst_executed_op_shared_{}.sum"
_LOCAL = "l1tex__t_sectors_pipe_lsu_mem_local_op_{}.sum"
_OP = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_CLASSES = ("fp32", "fp64", "fp16", "integer", "conversion", "control", "memory", "inter_thread_communication", "misc")
_EXECUTED = "smsp__inst_executed.sum"


def render_profile(facts: Mapping[str, Any]) -> None:
    console = terminal()
    console.print(Text(f"{facts['kernel']} on {facts['target']}: {facts['description']}", style="bold"))
    console.print(
        Text(f"{configuration_text(facts['config']) or 'the original'}; counted by executing its machine code, not measured")
    )
    for launch in facts["workloads"]:
        console.print()
        console.print(Text(f"{launch['workload']}: {_shape(launch)}", style="bold"))
        for line in _words(launch):
            console.print(Text(f"  {line}"))
        if launch["lines"]:
            console.print(_table(launch))


def _shape(launch: Mapping[str, Any]) -> str:
    grid, block = (" × ".join(map(str, launch[name])) for name in ("grid", "block"))
    occupancy = f", occupancy {launch['occupancy']:.0%} ({launch['limiter']})" if launch["occupancy"] is not None else ""
    return f"{grid} blocks of {block} threads, {launch['registers']} registers{occupancy}"


def _words(launch: Mapping[str, Any]) -> Iterator[str]:
    found = launch["metrics"]
    lanes = found["smsp__thread_inst_executed_per_inst_executed.ratio"]
    yield f"{_short(found[_EXECUTED])} instructions of warps, {lanes:.1f} of 32 lanes active"
    total = sum(found[_OP.format(name)] for name in _CLASSES) or 1.0
    shares = [(found[_OP.format(name)] / total, name.replace("_", " ")) for name in _CLASSES]
    yield ", ".join(f"{share:.0%} {name}" for share, name in sorted(shares, reverse=True) if share >= 0.01)
    for letters, verb in (("ld", "loads"), ("st", "stores")):
        requests, sectors = found[_GLOBAL.format("requests", letters)], found[_GLOBAL.format("sectors", letters)]
        if requests:
            yield f"global {verb}: {_short(requests)} requests, {sectors / requests:.1f} sectors of 32 bytes each"
        asked, wavefronts = found[_SHARED_REQUESTS.format(letters)], found[_SHARED.format(letters)]
        if asked:
            yield f"shared {verb}: {_short(asked)} requests, {wavefronts / asked:.1f} wavefronts each"
    local = sum(found[_LOCAL.format(letters)] for letters in ("ld", "st"))
    if local:
        yield f"local memory: {_short(local)} sectors"
    if launch["depends_on"]:
        yield f"addresses or branches depend on {', '.join(launch['depends_on'])}, with the inputs of verification"
    yield f"{launch['blocks_executed']}blocks were executed as a sample"


def _table(launch: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("instructions", "share", "sectors\na request", "wavefronts\na request"):
        table.add_column(name, justify="right")
    table.add_column("line")
    total = launch["metrics"][_EXECUTED] or 1.0
    lines = sorted(launch["lines"], key=lambda line: -line["metrics"].get(_EXECUTED, 0.0))[:_LINES]
    for line in sorted(lines, key=lambda line: (line["file"], line["line"])):
        counts = line["metrics"]
        executed = counts.get(_EXECUTED, 0.0)
        sectors = _ratio(counts, _GLOBAL.format("sectors", "{}"), _GLOBAL.format("requests", "{}"))
        wavefronts = _ratio(counts, _SHARED, _SHARED_REQUESTS)
        place = f"{Path(line['file']).name}:{line['line']}"
        table.add_row(_short(executed), f"{executed / total:.1%}", sectors, wavefronts, place)
    return table


def _ratio(counts: Mapping[str, float], what: str, of: str) -> str:
    asked = sum(counts.get(of.format(letters), 0.0) for letters in ("ld", "st"))
    return f"{sum(counts.get(what.format(letters), 0.0) for letters in ('ld', 'st')) / asked:.1f}" if asked else ""


def _short(count: float) -> str:
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g} {letter}"
    return f"{count:.0f}"
