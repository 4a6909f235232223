"""The least time of a launch: only what is shown to move, less what caches keep, at the fastest that was measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from warpsmith.core.hardware import Geometry
from warpsmith.measure.caches import Caches, host_caches
from warpsmith.measure.floor import certain_bytes, floor_of
from warpsmith.measure.influence import _least_share
from warpsmith.measure.roofline import Probed, needs_of
from warpsmith.spec.kernel import Workload
from warpsmith.spec.load import load_kernel
from warpsmith.verify.prepared import PreparedWorkload

SILU = replace(load_kernel("silu_and_mul"), workloads=(Workload("w", {"tokens": 64, "d": 1024}),))
ONE = Geometry((1, 1, 1), (1, 1, 1))
READ, WRITTEN = 4 * 64 * 2048, 4 * 64 * 1024
SMALL, LARGE = Caches(1000, 10_000), Caches(1 << 20, 1 << 30)
STREAM_US = 100.0


@pytest.fixture
def ready():
    with PreparedWorkload.prepare(SILU, SILU.workloads[0], 0, ONE) as prepared:
        yield prepared


def floor(ready: PreparedWorkload, caches: Caches | None, *, share: float = 1.0, is_cold: bool = False, us_per_flop: float = 0.0):
    certain = certain_bytes(ready, {"input": share})
    probed = Probed({"w": 2 * STREAM_US}, us_per_flop, {"w": STREAM_US})
    found = floor_of(ready, needs_of(SILU, SILU.workloads[0]), probed, certain, caches, is_cold=is_cold)
    assert found is not None
    return found


def test_all_that_must_change_is_written_and_what_matters_is_read(ready):
    certain = certain_bytes(ready, {"input": 0.25})
    assert (certain.read_bytes, certain.written_bytes) == (READ / 4, WRITTEN)
    assert certain.partly == ("input",)


def test_stores_count_twice_in_the_speed_and_caches_keep_their_part(ready):
    peak = (READ + 2 * WRITTEN) / STREAM_US
    assert floor(ready, SMALL).us == pytest.approx((READ + WRITTEN - 10_000) / peak)
    assert floor(ready, SMALL).us < STREAM_US, "a good kernel is not refused"


def test_within_the_cache_twice_the_speed_is_believed(ready):
    outside = floor(ready, SMALL)
    inside = floor(ready, replace(LARGE, private_bytes=1000))
    assert inside.us == pytest.approx(outside.us / 2, rel=0.05)
    assert any("fit in the last-level cache" in doubt for doubt in inside.doubts)
    assert floor(ready, LARGE).us == 0.0, "all of it fits into the first caches"
    assert floor(ready, None).us == 0.0


def test_nothing_is_faster_than_an_operation_for_four_bytes(ready):
    assert floor(ready, LARGE, us_per_flop=1e-3).us == pytest.approx((READ + WRITTEN) / 4 * 1e-3)


def test_an_emptied_cache_keeps_only_what_is_stored(ready):
    cold = floor(ready, None, is_cold=True)
    assert cold.us == pytest.approx(READ / ((READ + 2 * WRITTEN) / STREAM_US))
    assert cold.doubts == ()


def test_what_the_result_does_not_depend_on_need_not_move(ready):
    assert any("does not depend on all of input" in doubt for doubt in floor(ready, SMALL, share=0.1).doubts)


@pytest.mark.parametrize(("found", "least"), [(32, 0.911), (0, 0.0), (16, 0.344)])
def test_the_share_is_the_lower_end_of_an_interval(found, least):
    assert _least_share(found, 32) == pytest.approx(least, abs=2e-3)


def test_caches_as_linux_tells_them(tmp_path: Path):
    for cpu in (0, 1):
        for index, (level, kind, size, shared) in enumerate(
            [
                (1, "Data", "32K", str(cpu)),
                (1, "Instruction", "64K", str(cpu)),
                (2, "Unified", "1M", str(cpu)),
                (3, "Unified", "32768K", "0-1"),
            ]
        ):
            folder = tmp_path / f"cpu{cpu}" / "cache" / f"index{index}"
            folder.mkdir(parents=True)
            for name, text in {"level": level, "type": kind, "size": size, "shared_cpu_list": shared}.items():
                (folder / name).write_text(f"{text}\n")
    found = host_caches(tmp_path)
    assert found == Caches(2 * (32 << 10) + 2 * (1 << 20), 2 * (32 << 10) + 2 * (1 << 20) + (32 << 20))
    assert host_caches(tmp_path / "cpu9") is None
