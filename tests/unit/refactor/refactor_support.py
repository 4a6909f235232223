"""A small kernel and passes as simple as passes can be, to see what the framework makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from warpsmith.core.hardware import Limits
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel

LIMITS = Limits(1024, 1024, 1024, 64, 49152, 32, 4)

SOURCE = """#include "factor.h"

__global__ void scale(float* out, const float* in, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) {
    out[i] = FACTOR * in[i];
  }
}
"""

TOML = """
[kernel]
name = "scale"
source = "scale.cu"
entry = "scale"
include_dirs = ["include"]

[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
in = { dtype = "f32", shape = ["n"], role = "in", init = { python = "inputs.py:ramp" } }
n = { dtype = "i32", value = "n" }

[launch]
grid = ["ceildiv(n, 128)"]
block = [128]

[workloads]
small = { n = 4096, weight = 2 }
odd = { n = 1000, heldout = true }

[reference]
python = "inputs.py:scaled"
rtol = 1e-5
"""

INPUTS = """
import numpy as np

def ramp(shape):
    return np.arange(shape[0], dtype=np.float32)

def scaled(**arguments):
    return 3 * arguments["in"]
"""


def scale_kernel(folder: Path, toml: str = TOML, source: str = SOURCE) -> Kernel:
    (folder / "include").mkdir(parents=True, exist_ok=True)
    (folder / "include" / "factor.h").write_text("#define FACTOR 3.0f\n")
    (folder / "scale.cu").write_text(source)
    (folder / "inputs.py").write_text(INPUTS)
    (folder / "kernel.toml").write_text(toml)
    return load_kernel(folder)


class _Pass:
    summary = "for tests"
    stage = Stage.RESTRUCTURE
    concerns = frozenset({Concern.PARALLELISM})


@dataclass
class Naming(_Pass):
    """A number in text and launch becomes a parameter."""

    number: str = "128"
    parameter: str = "BLOCK"
    values: tuple[int, ...] = (32, 64, 128, 256)
    rules: tuple[Rule, ...] = ()
    name: str = "naming"
    stage: Stage = Stage.LIFT

    def apply(self, subject: Subject) -> Answer:
        found = subject.variant
        if self.number not in found.text:
            return Declined(f"there is no {self.number}", line=1)
        tunable = Tunable(self.parameter, self.values, int(self.number), "threads of a block", line=4)
        return Rewrite(
            replace(
                found,
                text=found.text.replace(self.number, self.parameter),
                grid=tuple(extent.replace(self.number, self.parameter) for extent in found.grid),
                block=tuple(extent.replace(self.number, self.parameter) for extent in found.block),
                tunables=(*found.tunables, tunable),
                rules=(*found.rules, *self.rules),
            )
        )


@dataclass
class Choosing(_Pass):
    """Other texts for a line, by value; values with the same text are the same form."""

    line: str
    texts: Mapping[int, str]
    parameter: str = "MAP"
    name: str = "choosing"
    rules: tuple[Rule, ...] = ()
    grid: str | None = None
    shared: str | None = None
    tunables: tuple[Tunable, ...] = field(default=())

    def apply(self, subject: Subject) -> Answer:
        found = subject.variant
        if self.line not in found.text:
            return Declined(f"there is no {self.line!r}", line=2)
        made = {
            value: replace(
                found,
                text=found.text.replace(self.line, text),
                grid=found.grid if self.grid is None else (self.grid,),
                shared=found.shared if self.shared is None else self.shared,
                rules=(*found.rules, *self.rules),
                tunables=(*found.tunables, *self.tunables),
            )
            for value, text in self.texts.items()
        }
        return Rewrite(found, Tunable(self.parameter, (0, *self.texts), 0, "how it is done"), made)


class Failing(_Pass):
    name = "failing"

    def apply(self, subject: Subject) -> Answer:
        raise ZeroDivisionError("a bug")
