"""Conformance tests of refactoring passes. A plug-in subclasses the suite and creates its pass:

class TestMine(PassConformance):
    def make(self):
        return Mine()

The kernels are the bundled originals and a few awkward ones; override `kernels` to add more. No device is needed:
whether the result *computes* the right thing is tested by `warpsmith templatize` on a device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from warpsmith.compile.binding import Binder, Source
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Limits
from warpsmith.devices.registry import load_device
from warpsmith.refactor.base import Concern, Pass, Stage, Subject, Variant
from warpsmith.refactor.drafting.application import apply_pass
from warpsmith.refactor.drafting.combine import combined
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.drafting.emit import template_text
from warpsmith.refactor.drafting.values import space_of_refactored
from warpsmith.source import parse_kernel
from warpsmith.spec.bundled import bundled_names
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.template import first_difference

_LIMITS = Limits(1024, 1024, 1024, 64, 49152, 32, 4)

_TOML = """
[kernel]
name = "awkward"
source = "awkward.cu"
entry = "k"

[arguments]
out = { dtype = "f32", shape = ["n"], role = "inout" }
n = { dtype = "i32", value = "n" }

[launch]
grid = ["ceildiv(n, 128)"]
block = [128]

[workloads]
only = { n = 1000 }
"""

# No work, control flow in macros, a body on one line, conditionals, and names that passes like to use.
AWKWARD = {
    "empty": """
__global__ void k(float* out, int n) {}
""",
    "macro": """
#define FOR(i, n) for (int i = threadIdx.x; i < n; i += blockDim.x)
__global__ void k(float* out, int n) {
  FOR(i, n) out[i] *= 2.0f;
}
""",
    "one_line": """
__global__ void k(float* out, int n) { for (int i = 0; i < 4; ++i) if (i < n) out[i] = 1; }
""",
    "conditionals": """
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#if defined(FAST) && FAST > 1
  if (i >= n) return;
#else
  if (!(i < n)) { return; }
#endif
  out[i] = i;
}
""",
    "taken_names": """
#define BLOCK 128
__device__ const int VEC = 1, ITEMS = 2, UNROLL = 3, ROWS = 4, MAP = 5, TILE = 6;
__global__ void k(float* out, int n) {
  for (int i = threadIdx.x + BLOCK * blockIdx.x; i < n; i += gridDim.x * BLOCK)
    out[i] += VEC + ITEMS + UNROLL + ROWS + MAP + TILE;
}
""",
}


@cache
def _bundled() -> tuple[Kernel, ...]:
    """Cached: reading them takes longer than most passes."""
    return tuple(map(load_kernel, bundled_names()))


# Applying a pass is slow: each is applied once to each kernel, whichever test comes first.
_KNOWN: dict[tuple[type[Pass], str, Variant], Draft] = {}


class PassConformance:
    def make(self) -> Pass:
        raise NotImplementedError

    def kernels(self, folder: Path) -> Iterator[Kernel]:
        """What the pass is tried on; `folder` is empty and private to the test."""
        yield from _bundled()
        for name, text in AWKWARD.items():
            own = folder / name
            own.mkdir()
            (own / "awkward.cu").write_text(text)
            (own / "kernel.toml").write_text(_TOML)
            yield load_kernel(own)

    def test_it_says_what_it_is(self) -> None:
        transform = self.make()
        assert re.fullmatch(r"[a-z][a-z0-9_]*", transform.name)
        assert transform.summary
        assert "\n" not in transform.summary
        assert isinstance(transform.stage, Stage)
        assert transform.concerns
        assert all(isinstance(concern, Concern) for concern in transform.concerns)

    def test_it_applies_or_says_why_not(self, tmp_path: Path) -> None:
        for before, after in self._applied(tmp_path):
            done = after.applications[-1]
            assert done.applied or (done.reason or "").strip(), before.kernel.path
            assert done.applied or "the pass failed" not in str(done.reason), (before.kernel.path, done)
            assert not any(": " in note and note.count("left out") for note in done.notes), (before.kernel.path, done)

    def test_it_is_a_function_of_what_it_sees(self, tmp_path: Path) -> None:
        for before, after in self._applied(tmp_path):
            assert apply_pass(before, self.make()) == after, before.kernel.path

    def test_its_default_is_the_kernel_as_it_was(self, tmp_path: Path) -> None:
        device = load_device("cpu")
        for before, after in self._applied(tmp_path):
            if not after.origins:
                continue
            kernel, workload = before.kernel, before.kernel.workloads[0]
            binder, default = Binder(kernel, before.limits), Configuration(())
            texts = (before.branches[0].variant.text, template_text(combined(after)))
            requests = (binder.request(Source(text, kernel.source), default, workload, {}) for text in texts)
            difference = first_difference(*map(device.preprocess, requests))
            assert difference is None, (kernel.path, difference)

    def test_what_it_makes_can_be_read_again(self, tmp_path: Path) -> None:
        """Later passes read it, this one among them; those that decorate come last and may write directives."""
        for before, after in self._applied(tmp_path):
            original, language = before.branches[0].variant, before.kernel.language
            if not after.origins or parse_kernel(original.text, language, original.entry).has_errors():
                continue
            for branch in after.branches:
                variant = branch.variant
                if self.make().stage is not Stage.DECORATE:
                    read = parse_kernel(variant.text, language, variant.entry)
                    assert not read.has_errors(), (before.kernel.path, dict(branch.guard), variant.text)
                self.make().apply(Subject(before.kernel, before.limits, variant))

    def test_its_default_is_allowed_and_not_alone(self, tmp_path: Path) -> None:
        for before, after in self._applied(tmp_path):
            if after.origins:
                assert space_of_refactored(combined(after)).size > 1, before.kernel.path

    def _applied(self, folder: Path) -> Iterator[tuple[Draft, Draft]]:
        """Each kernel before and after."""
        for kernel in self.kernels(folder):
            before = Draft.of(kernel, _LIMITS)
            key = (type(self.make()), kernel.source.name, before.branches[0].variant)
            if key not in _KNOWN:
                _KNOWN[key] = apply_pass(before, self.make())
            yield before, replace(_KNOWN[key], kernel=before.kernel)
