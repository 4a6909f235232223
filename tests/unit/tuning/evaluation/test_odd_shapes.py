"""Which shapes are asked for beside the declared ones, and which sizes belong to a kernel's meaning."""

import math
from dataclasses import replace

import numpy as np
import pytest

from warpsmith.spec.kernel import Kernel, Reference, Workload
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.evaluation.odd_shapes import larger_shapes, most_bytes, odd_shapes
from warpsmith.verify.inputs import nbytes_of

SILU = load_kernel("silu_and_mul")  # told `d` by an argument, `tokens` by its grid


def one(kernel: Kernel, **sizes: int) -> Kernel:
    return replace(kernel, workloads=(Workload("only", sizes),))


def drawn(kernel: Kernel, seed: int = 0) -> tuple[Workload, ...]:
    return odd_shapes(kernel, np.random.default_rng(seed))


def shapes(kernel: Kernel, seed: int = 0) -> list[dict[str, int]]:
    return [dict(w.sizes) for w in drawn(kernel, seed) if w.scale == 1.0]


def divisor_of(sizes: dict[str, int]) -> int:
    """The largest power of two in all of them."""
    return math.gcd(*(size & -size for size in sizes.values()))


def test_sizes_that_no_workload_changes_belong_to_the_meaning():
    kernel = load_kernel("rope")
    constant = {name for name in kernel.workloads[0].sizes if len({w.sizes[name] for w in kernel.workloads}) == 1}
    found = drawn(kernel)
    assert {w.scale for w in found} == {1.0, 100.0}
    for workload in found:
        assert workload.sizes.keys() == kernel.workloads[0].sizes.keys()
        assert all(workload.sizes[name] == kernel.workloads[0].sizes[name] for name in constant)
    odd = next(w for w in found if w.name == "odd-1")
    assert all(size % 2 == 1 for name, size in odd.sizes.items() if name not in constant)


def test_the_last_shape_keeps_what_each_declared_size_is_a_multiple_of():
    sizes = ({"tokens": 4096, "d": 4096}, {"tokens": 11008, "d": 2048}, {"tokens": 77, "d": 384})
    kernel = replace(SILU, workloads=tuple(Workload(f"w{n}", each) for n, each in enumerate(sizes)))
    for seed in range(10):
        found = {w.name: w.sizes for w in drawn(kernel, seed)}["odd-common"]
        assert found["tokens"] % 2 == 1
        assert found["d"] % 256 == 128
        assert nbytes_of(kernel, Workload("x", found)) <= 64 << 20


def test_nobody_knows_the_sizes_without_the_seed():
    assert shapes(SILU, 7) == shapes(SILU, 7)
    by_class = zip(*(shapes(SILU, seed) for seed in range(20)), strict=True)
    assert min(len({tuple(sizes.items()) for sizes in found}) for found in by_class) > 8  # few multiples of 64 are small


@pytest.mark.parametrize("seed", range(20))
def test_sizes_are_odd_multiples_of_what_a_kernel_may_need_and_within_what_was_declared(seed):
    for divisor, sizes in zip((1, 8, 64), shapes(SILU, seed)[:3], strict=True):
        assert divisor_of(sizes) == divisor
        assert sizes["tokens"] <= max(w.sizes["tokens"] for w in SILU.workloads)
        assert sizes["tokens"] != sizes["d"]
        assert sizes not in [dict(w.sizes) for w in SILU.workloads]


@pytest.mark.parametrize("name", ["conv2d", "merge_attn_states_lse", "rope"])
def test_where_sizes_multiply_the_shape_shrinks_until_it_fits(name):
    kernel = load_kernel(name)
    for seed in range(10):
        for workload in drawn(kernel, seed):
            assert nbytes_of(kernel, workload) <= most_bytes(kernel), workload


def test_a_constant_size_takes_its_share_of_the_memory():
    """1,021 x 64 rows of 32,768 would take 8 GB."""
    workloads = tuple(Workload(f"w{n}", {"tokens": n, "d": 32768}) for n in (64, 65536))
    kernel = replace(SILU, workloads=workloads)
    found = shapes(kernel)
    assert [sizes["d"] for sizes in found] == [32768] * 3
    assert all(nbytes_of(kernel, w) <= 64 << 20 for w in drawn(kernel))
    assert all(sizes["tokens"] % 2 for sizes in found[:1])


def test_a_single_workload_changes_what_the_kernel_is_told():
    found = shapes(one(SILU, tokens=512, d=11008))
    assert [divisor_of(sizes) for sizes in found] == [1, 8, 64, 256]  # 512 and 11008 are multiples of 512 and 256
    assert all(sizes["tokens"] != 512 and sizes["d"] != 11008 for sizes in found[:3])
    assert len({tuple(shape.items()) for shape in found}) == len(found)


def test_without_a_reference_sizes_stay_multiples_of_what_they_were():
    found = shapes(replace(one(SILU, tokens=512, d=11008 * 8), reference=Reference()))
    assert [(sizes["tokens"] & -sizes["tokens"], sizes["d"] & -sizes["d"]) for sizes in found] == [(64, 64), (512, 1024)]
    (odd,) = shapes(replace(one(SILU, tokens=7, d=1000), reference=Reference()))
    assert (odd["tokens"] % 2, odd["d"] & -odd["d"]) == (1, 8)


def test_sizes_that_only_memory_has_are_compiled_into_the_kernel():
    launch = replace(SILU.launch, grid=SILU.launch.block)
    untold = replace(one(SILU, tokens=512, d=11008), launch=launch)
    assert all(shape["tokens"] == 512 and shape["d"] != 11008 for shape in shapes(untold))
    silent = replace(untold, arguments=untold.buffers, launch=replace(launch, grid=()))
    assert shapes(silent) == []


@pytest.mark.parametrize("reference", [SILU.reference, Reference()])
def test_large_multiples_are_no_larger_than_what_was_declared(reference):
    kernel = replace(one(SILU, tokens=1024, d=1024), reference=reference)
    found = [w for seed in range(10) for w in drawn(kernel, seed) if divisor_of(dict(w.sizes)) > 64]
    assert all(nbytes_of(kernel, w) <= nbytes_of(kernel, kernel.workloads[0]) for w in found)


@pytest.mark.parametrize("seed", range(10))
def test_a_larger_shape_is_beyond_what_was_declared_in_one_size(seed):
    found = larger_shapes(SILU, np.random.default_rng(seed))
    most = {name: max(w.sizes[name] for w in SILU.workloads) for name in ("tokens", "d")}
    assert [w.name.split("-")[2] for w in found] == ["1", "1", "8", "8", "64", "64"]
    for workload in found:
        (beyond,) = (name for name in most if workload.sizes[name] > most[name])
        _, size, divisor = workload.name.split("-")
        assert beyond == size
        assert workload.sizes[beyond] & -workload.sizes[beyond] == int(divisor)
        assert nbytes_of(SILU, workload) <= 64 << 20
    assert {w.name.split("-")[1] for w in found} == {"tokens", "d"}


def test_what_is_too_large_beyond_what_was_declared_is_not_offered():
    assert larger_shapes(load_kernel("reduction"), np.random.default_rng(0)) == ()
