"""Counts named as in NVIDIA's profiler (ncu), where they mean the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpsmith.devices.cuda.execution.code import Instruction
from warpsmith.devices.cuda.execution.kinds import Class, Pipe, is_atomic, is_load, is_store, space
from warpsmith.devices.cuda.execution.tally import Column, Rows

_SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"


def metrics(instructions: Sequence[Instruction], rows: Rows) -> dict[str, float]:
    """From rows of counts, each with its instruction."""
    warps, threads = float(rows[:, Column.WARPS].sum()), float(rows[:, Column.THREADS].sum())
    found = {
        "smsp__inst_executed.sum": warps,
        "smsp__thread_inst_executed.sum": threads,
        "smsp__thread_inst_executed_per_inst_executed.ratio": threads / warps if warps else 0.0,
        "smsp__thread_inst_executed_pred_on.sum": float(rows[:, Column.ACTIVE].sum()),
    }
    groups = np.array([i.kind.group for i in instructions])
    pipes = np.array([i.kind.pipe for i in instructions])
    for group in Class:
        found[_SASS.format(group)] = float(rows[groups == group, Column.ACTIVE].sum())
    for pipe in Pipe:
        if pipe is not Pipe.NONE:
            found[f"smsp__inst_executed_pipe_{pipe}.sum"] = float(rows[pipes == pipe, Column.WARPS].sum())
    for where in ("global", "local", "shared"):
        for letters, is_one in (("ld", is_load), ("st", is_store)):
            chosen = np.array([is_one(i.name) and space(i.name) == where for i in instructions], bool)
            found |= _access(where, letters, rows[chosen])
    copies = rows[np.array([i.name == "LDGSTS" for i in instructions], bool)]
    found["l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum"] = float(copies[:, Column.REQUESTS].sum())
    found["l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"] = float(copies[:, Column.SECTORS].sum())
    atomic = rows[np.array([is_atomic(i.name) for i in instructions], bool)]
    found["l1tex__t_requests_pipe_lsu_mem_atomic.sum"] = float(atomic[:, Column.REQUESTS].sum())
    reads = rows[np.array([is_load(i.name) or i.name == "LDGSTS" for i in instructions], bool)]
    writes = rows[np.array([is_store(i.name) and space(i.name) == "global" for i in instructions], bool)]
    found["lts__t_sectors_op_read.sum"] = float(reads[:, Column.MISSED].sum())
    found["lts__t_sectors_op_write.sum"] = float(writes[:, Column.SECTORS].sum())
    return found


def _access(where: str, letters: str, rows: Rows) -> dict[str, float]:
    requests, sectors = float(rows[:, Column.REQUESTS].sum()), float(rows[:, Column.SECTORS].sum())
    if where == "shared":
        return {
            f"smsp__inst_executed_op_shared_{letters}.sum": requests,
            f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{letters}.sum": sectors,
        }
    return {
        f"l1tex__t_requests_pipe_lsu_mem_{where}_op_{letters}.sum": requests,
        f"l1tex__t_sectors_pipe_lsu_mem_{where}_op_{letters}.sum": sectors,
    }
