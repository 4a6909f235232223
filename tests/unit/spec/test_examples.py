"""The bundled kernels without a device: they load, and their spaces are worth searching on a GPU's limits too."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest

from warpsmith.core.hardware import Limits
from warpsmith.space import Space
from warpsmith.spec.bundled import bundled_names
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of

GPU = Limits(1024, 1024, 1024, 64, 48 * 1024, 32, 72)
CPU = Limits(8192, 8192, 8192, 8192, 256 * 1024, 32, 2)


def test_all_promised_kernels_are_there():
    cuda = {"fused_add_rmsnorm", "softmax", "rope", "matmul", "transpose", "conv2d", "reduction", "silu_and_mul"}
    merges = {f"merge_attn_states_lse{suffix}" for suffix in ("", "_f16", "_bf16")}
    assert set(bundled_names()) == cuda | merges | {"matmul_opencl", "convolution_opencl", "silu_and_mul_hip"}


@pytest.mark.parametrize("name", bundled_names())
@pytest.mark.parametrize("limits", [GPU, CPU], ids=["gpu", "cpu"])
def test_spaces_are_worth_searching_and_hold_the_original(name: str, limits: Limits):
    kernel = load_kernel(name)
    space = Space.build(kernel.parameters, kernel.constraints, kernel.launch, kernel.workloads, limits)
    assert 50 <= len(space) <= 2000
    assert kernel.default_configuration in space
    assert template_of(kernel).default == kernel.default_configuration


def test_arrays_of_a_size_that_a_gpu_does_not_compile_are_no_part_of_a_space():
    """What a kernel may opt in to is for dynamic shared memory alone."""
    kernel = load_kernel("matmul")
    large = replace(GPU, shared_bytes_per_block=227 * 1024, static_shared_bytes_per_block=48 * 1024)
    space = Space.build(kernel.parameters, kernel.constraints, kernel.launch, kernel.workloads, large)
    sizes = [4 * int(c["TILE_K"]) * (int(c["TILE_M"]) + int(c["TILE_N"])) for c in space]
    assert max(sizes) <= 48 * 1024
    assert CPU.static_shared_bytes_per_block == CPU.shared_bytes_per_block


@pytest.mark.parametrize("name", bundled_names())
def test_workloads_are_tuned_and_held_out(name: str):
    kernel = load_kernel(name)
    assert len(kernel.tuning_workloads) >= 2
    assert kernel.heldout_workloads
    for workload in kernel.workloads:
        extents = [[int(e.evaluate(workload.sizes)) for e in b.shape] for b in kernel.buffers]
        total = sum(b.dtype.itemsize * prod(shape) for b, shape in zip(kernel.buffers, extents, strict=True))
        assert total < 200e6
