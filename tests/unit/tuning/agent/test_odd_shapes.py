"""Which shapes are asked for beside the declared ones, and which sizes belong to a kernel's meaning."""

from dataclasses import replace

import pytest

from warpsmith.spec.kernel import Kernel, Reference, Workload
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.agent.odd_shapes import odd_shapes

SILU = load_kernel("silu_and_mul")  # told `d` by an argument, `tokens` by its grid


def one(kernel: Kernel, **sizes: int) -> Kernel:
    return replace(kernel, workloads=(Workload("only", sizes),))


def shapes(kernel: Kernel) -> list[dict[str, int]]:
    return [dict(w.sizes) for w in odd_shapes(kernel) if w.scale == 1.0]


def test_sizes_that_no_workload_changes_belong_to_the_meaning():
    kernel = load_kernel("rope")
    constant = {name for name in kernel.workloads[0].sizes if len({w.sizes[name] for w in kernel.workloads}) == 1}
    found = odd_shapes(kernel)
    assert {w.scale for w in found} == {1.0, 100.0}
    for workload in found:
        assert workload.sizes.keys() == kernel.workloads[0].sizes.keys()
        assert all(workload.sizes[name] == kernel.workloads[0].sizes[name] for name in constant)
    odd = next(w for w in found if w.name == "odd-1")
    assert all(size % 2 == 1 for name, size in odd.sizes.items() if name not in constant)


def test_a_single_workload_changes_what_the_kernel_is_told():
    found = shapes(one(SILU, tokens=512, d=11008))
    assert found[0] == {"tokens": 37, "d": 39}
    assert {"tokens": 64 * 3, "d": 64 * 5} in found
    assert len({tuple(shape.items()) for shape in found}) == len(found)


def test_without_a_reference_sizes_stay_multiples_of_what_they_were():
    found = shapes(replace(one(SILU, tokens=512, d=11008 * 8), reference=Reference()))
    assert found[0] == {"tokens": 64 * 3, "d": 64 * 5}
    assert found[1] == {"tokens": 512 * 3, "d": 1024 * 5}
    assert shapes(replace(one(SILU, tokens=7, d=1000), reference=Reference())) == [{"tokens": 37, "d": 8 * 39}]


def test_sizes_that_only_memory_has_are_compiled_into_the_kernel():
    launch = replace(SILU.launch, grid=SILU.launch.block)
    untold = replace(one(SILU, tokens=512, d=11008), launch=launch)
    assert all(shape["tokens"] == 512 and shape["d"] != 11008 for shape in shapes(untold))
    silent = replace(untold, arguments=untold.buffers, launch=replace(launch, grid=()))
    assert shapes(silent) == []


@pytest.mark.parametrize("reference", [SILU.reference, Reference()])
def test_large_multiples_are_no_larger_than_what_was_declared(reference):
    found = shapes(replace(one(SILU, tokens=1024, d=1024), reference=reference))
    assert {"tokens": 1024 * 3, "d": 1024 * 5} not in found
