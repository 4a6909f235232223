"""The OpenCL device on whatever platform is there (the CPU runtime's wheel, where the system has none)."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_support import compile_kernel, device, launch, request

from warpsmith.core.errors import InputError, UnsupportedFeature
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import CompileError, ContextLost, LaunchError

OUT = np.zeros(64, np.float32)
RAMP = np.arange(64, dtype=np.float32)
SOURCE = """#define UNUSED 1
__kernel void k(__global float* o, __global const float* a, const int n) {
  int i = get_global_id(0);
  if (i < n) o[i] = a[i] * SCALE;
}
__kernel void other(__global float* o, __local float* s) { s[0] = 1; o[0] = s[0]; }
"""
ARGUMENTS = [OUT, RAMP, np.int32(60)]
OPENCL = {"language": Language.OPENCL, "defines": {"SCALE": 2}, "on": "opencl"}


@pytest.mark.parametrize("name", ["opencl", "opencl:0"])
def test_runs_opencl_c(name: str) -> None:
    out = launch(SOURCE, ARGUMENTS, grid=4, block=16, **(OPENCL | {"on": name}))
    np.testing.assert_array_equal(out, np.where(RAMP < 60, 2 * RAMP, 0))


BY_VALUE = """typedef struct { int by; float2 scale; } Move;
__kernel void k(__global float* o, __global const float* a, const float4 c, Move m, __local float* s) {
  int i = get_global_id(0), l = get_local_id(0);
  RETURN
  s[l] = a[i] * c.s2 + c.s3 + m.scale.y;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[i] = s[l] + m.by;
}
"""
MOVE = np.frombuffer(np.int32([7, 0]).tobytes() + np.float32([0, 0.5]).tobytes(), np.uint8)


@pytest.mark.parametrize(("name", "early"), [("opencl", ""), ("cpu", ""), ("cpu", "if (i >= 60) return;")])
def test_vectors_and_structures_are_passed_by_value(name: str, early: str) -> None:
    """The CPU device compiles kernels with an early return another way."""
    arguments = [OUT, RAMP, np.float32([0, 0, 2, 3]), MOVE]
    source = BY_VALUE.replace("RETURN", early)
    out = launch(source, arguments, grid=4, block=16, shared_bytes=64, language=Language.OPENCL, on=name)
    np.testing.assert_array_equal(out, np.where((RAMP >= 60) & bool(early), 0, 2 * RAMP + 10.5))


@pytest.mark.parametrize("early", ["", "__local int s; if (get_local_id(0) > 3) return; s = 1; barrier(CLK_LOCAL_MEM_FENCE);"])
def test_images_are_refused_by_name(early: str) -> None:
    source = f"__kernel void k(__read_only image2d_t a, __global float* o) {{ {early} o[0] = get_image_width(a); }}"
    with pytest.raises(UnsupportedFeature, match=r"kernel.cl: parameter 1 of k is of type image2d_t"):
        compile_kernel(source, [OUT, OUT], language=Language.OPENCL)


def test_what_the_runtime_refuses_is_named() -> None:
    source = "__kernel void k(__global float* o, float3 c) { o[0] = c.y; }"
    with pytest.raises(LaunchError, match="parameter 2 does not take the argument of 12 bytes"):
        launch(source, [OUT, np.ones(3, np.float32)], language=Language.OPENCL)
    source = "__attribute__((reqd_work_group_size(16, 1, 1))) __kernel void k(__global float* o) { o[0] = 1; }"
    with pytest.raises(LaunchError, match=r"reqd_work_group_size asks for \(16, 1, 1\)"):
        launch(source, [OUT], block=8, language=Language.OPENCL)
    with pytest.raises(LaunchError, match=r"at most \d+ work-items"):
        launch("__kernel void k(__global float* o) { o[0] = 1; }", [OUT], block=1 << 20, language=Language.OPENCL)


def test_a_device_with_memory_of_its_own_gets_the_guards_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: the kernel writes past the end of a copy, which has to be seen in the host's memory afterwards."""
    source = "__kernel void k(__global uchar* o) { o[get_global_id(0)] += 1; }"
    session = device("opencl").open()
    monkeypatch.setattr(session._session, "_shares_host_memory", False)
    whole = memoryview(bytearray(3 * 4096))
    view = whole[4096 : 4096 + 100]
    session.surround(view, whole)
    compiled = compile_kernel(source, [np.zeros(1, np.uint8)], language=Language.OPENCL, on="opencl")
    session.load(compiled).launch((view,), Geometry((1, 1, 1), (104, 1, 1)))
    assert bytes(whole) == bytes(4096) + bytes([1] * 104) + bytes(2 * 4096 - 104)


def test_what_shows_when_waiting_ends_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a GPU's kernel strays: every later call would fail, too."""
    opened = device("opencl").open()
    program = opened.load(compile_kernel(SOURCE, ARGUMENTS, **OPENCL))
    cl = opened._session.cl
    failed = cl.UserEvent(opened._session.context)
    failed.set_status(cl.status_code.OUT_OF_RESOURCES)
    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", lambda *_arguments: failed)
    with pytest.raises(ContextLost, match=r"global size \(1, 1, 1\)"):
        program.launch((None, None, b"\1\0\0\0"), Geometry((1, 1, 1), (1, 1, 1)))


def test_description() -> None:
    info = device("opencl").describe()
    assert info.languages == {Language.OPENCL}
    assert info.limits.max_threads_per_block >= 1
    assert info.limits.warp_size >= 1


def test_mistakes_are_explained() -> None:
    with pytest.raises(UnsupportedFeature, match="OpenCL C, not cuda"):
        compile_kernel("__global__ void k() {}", [], on="opencl")
    with pytest.raises(CompileError, match=r"kernel.cl:4: use of undeclared identifier 'SCALE'"):
        compile_kernel(SOURCE, ARGUMENTS, language=Language.OPENCL, on="opencl")
    with pytest.raises(CompileError, match="no kernel 'missing'; it has: k, other"):
        compile_kernel(SOURCE, ARGUMENTS, entry="missing", **OPENCL)
    with pytest.raises(CompileError, match=r"takes 3 parameters.*; 2 are given"):
        compile_kernel(SOURCE, ARGUMENTS[:2], **OPENCL)
    with pytest.raises(LaunchError, match="parameter 2 is __local and has no size"):
        launch(SOURCE, [OUT], entry="other", **OPENCL)
    with pytest.raises(InputError, match="no OpenCL device '99'"):
        device("opencl:99").describe()


def test_tokens_after_preprocessing() -> None:
    asked = request("#ifndef N\n#define N 1\n#endif\nint x = N; // end", [], language=Language.OPENCL, defines={"N": 8})
    assert device("opencl").preprocess(asked) == ["int", "x", "=", "8", ";"]


def test_the_launch_is_no_part_of_the_key() -> None:
    key = device("opencl").compile_key
    narrow, wide = (request(SOURCE, ARGUMENTS, block=block, language=Language.OPENCL) for block in (16, 64))
    assert key(narrow) == key(wide)
    assert key(narrow) != key(request(SOURCE, ARGUMENTS, block=16, language=Language.OPENCL, defines={"SCALE": 3}))
