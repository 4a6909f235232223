"""What others write is held to the original wherever it is compiled: as a form, as a whole template, and as it ships."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from twice import SOURCE, twice

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError, WarpsmithError
from warpsmith.core.outcome import CompileFailed
from warpsmith.devices.base import Binary
from warpsmith.export.base import Build, Standalone
from warpsmith.mcp.own_template import lay_down
from warpsmith.refactor.base import Tunable
from warpsmith.refactor.on_form import everywhere
from warpsmith.refactor.proposal import FORM, Proposal, ProposedForms
from warpsmith.refactor.registry import load_passes
from warpsmith.space import space_of
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.afterwards.choices import OfTemplate
from warpsmith.tuning.afterwards.recheck import Adversaries, recheck
from warpsmith.tuning.templates.probes import Lab, laboratory
from warpsmith.tuning.templates.templating import templatize
from warpsmith.tuning.templates.workbench import Workbench

BODY = """
__global__ void twice(float* out, const float* in, int n) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * EACH;
  for (int k = 0; k < EACH; ++k) {
    if (first + k < n) out[first + k] = 2 * in[first + k];
  }
}
"""
FORM_OF_IT = Proposal(
    number=1, source=BODY, grid=("ceildiv(n, 128 * EACH)",), block=("128",), tunables=(Tunable("EACH", (1, 2, 4), 2, "elements"),)
)
CHEATS = {
    "__device__ float f(float), kept[256];\n": "kept would outlive",
    "constinit __attribute__((device)) int kept = 0;\n": "kept would outlive",
    "struct Memo { mutable int n; };\n__device__ const Memo memo{0};\n": "n is mutable",
    "__device__ int f() { static auto kept = [n = 0]() mutable { return ++n; }; return kept(); }\n": "kept would outlive",
    "__host__ __device__ int boo() { return 1; }\nenum E { A } e = (E)boo();\n": "code for the host",
    "struct S { int a; constexpr S() : a(0) {} ~S() {} };\nconstinit S s;\n": "code for the host",
    "__host__ __device__ int main() { return 0; }\n": "code for the host",
    "__device__ int f() { return __CUDA_ARCH__; }\n": "__CUDA_ARCH__",
    "__device__ const char* f() { return __DATE__; }\n": "__DATE__",
}
ONLY_WITH_FOUR = "#if EACH == 4\n__device__ int kept;\n#endif\n"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    return twice(tmp_path_factory.mktemp("twice"))


@pytest.fixture(scope="module")
def lab(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with laboratory(kernel, "cpu", binary_cache=tmp_path_factory.mktemp("binaries")) as ready:
        yield ready


@pytest.mark.parametrize(("text", "said"), CHEATS.items())
def test_a_form_that_cheats_comes_back_with_the_reason(kernel: Kernel, lab: Lab, text: str, said: str):
    assert said in (Workbench(kernel, lab).problem_of(replace(FORM_OF_IT, source=text + BODY)) or "")


def test_every_configuration_of_a_form_is_held_to_the_original_as_it_is_compiled(kernel: Kernel, lab: Lab, tmp_path: Path):
    hidden = replace(FORM_OF_IT, source=ONLY_WITH_FOUR + BODY)
    assert Workbench(kernel, lab).problem_of(hidden) is None, "at its defaults nothing speaks against it"
    made = templatize(kernel, lab, passes=[ProposedForms((hidden,))], folder=tmp_path)
    assert "FORM=1 EACH=4 does not compile: kept would outlive" in " ".join(made.applications[0].notes)
    space = space_of(made.kernel, made.template, lab.info.limits)
    assert {tuple(dict(space.decode(row)).values()) for row in space.rows} == {(0, 2), (1, 1), (1, 2)}
    assert made.kernel.template_foreign
    requests = OfTemplate.of(made.kernel).builder(lab.info.limits, lab.pool).requests
    of_form, of_original = (Configuration.of({FORM: form, "EACH": 1}) for form in (1, 0))
    [workload] = made.kernel.workloads[:1]
    assert requests.of(of_form, [workload])[workload.name].held_to is not None
    assert requests.of(of_original, [workload])[workload.name].held_to is None


def test_passes_still_work_on_forms(kernel: Kernel, lab: Lab, tmp_path: Path):
    """In a worker of their own: what comes back is what they make of any text."""
    passes = [ProposedForms((FORM_OF_IT,)), *everywhere(load_passes(["block_size"]), (1,))]
    made = templatize(kernel, lab, passes=passes, folder=tmp_path)
    assert {done.name for done in made.applications if done.applied} == {"proposals", "block_size", "block_size@1"}
    of_form = next(branch for branch in made.draft.branches if branch.guard.get(FORM))
    assert {tunable.name for tunable in of_form.variant.tunables} == {"EACH", "BLOCK_F1"}


def whole(text: str) -> Proposal:
    source = f"#ifndef EACH\n#define EACH 1\n#endif\n#if EACH == 4\n__device__ int four();\n#endif\n{text}{SOURCE}"
    return replace(
        FORM_OF_IT, source=source, grid=("ceildiv(n, 64)",), block=("64",), tunables=(Tunable("EACH", (1, 4), 1, "?"),)
    )


def test_so_is_a_template_that_a_client_wrote(kernel: Kernel, lab: Lab, tmp_path: Path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    with pytest.raises(InputError, match="code for the host"):
        lay_down(kernel, whole("int z = 1;\n"), tmp_path / "a", lab)
    hidden = lay_down(kernel, whole("#if EACH == 4\nint z = 1;\n#endif\n"), tmp_path / "b", lab)
    assert "code for the host" in hidden.left_out["EACH=4"]
    assert hidden.kernel.template_foreign


class _Tampered(OfTemplate):
    """What ships is not what was compiled."""

    def standalone(self, configuration: Configuration, *, from_template: bool = False) -> Standalone:
        found = super().standalone(configuration, from_template=from_template)
        return replace(found, text=found.text + "int z = 1;\n")


def test_so_is_what_ships(kernel: Kernel, lab: Lab, tmp_path: Path):
    made = templatize(kernel, lab, passes=[ProposedForms((FORM_OF_IT,))], folder=tmp_path / "made")
    configuration = Configuration.of({FORM: 1, "EACH": 1})
    for choices in (OfTemplate.of(made.kernel), _Tampered.of(made.kernel)):
        alone = OfTemplate.of(made.kernel).standalone(configuration)
        file = tmp_path / "shipped.cu"
        file.write_text(alone.text)
        names = tuple(workload.name for workload in kernel.workloads)
        build = Build(file, configuration, alone.entry, alone.launch, alone.arguments, names)
        if isinstance(choices, _Tampered):
            with pytest.raises(WarpsmithError, match="code for the host"):
                recheck(choices, [build], "cpu", binary_cache=tmp_path / "cache", adversaries=Adversaries())
        else:
            assert recheck(choices, [build], "cpu", binary_cache=tmp_path / "cache", adversaries=Adversaries())["files"]


def test_an_outcome_says_it(kernel: Kernel, lab: Lab, tmp_path: Path):
    made = templatize(kernel, lab, passes=[ProposedForms((FORM_OF_IT,))], folder=tmp_path)
    requests = OfTemplate.of(made.kernel).builder(lab.info.limits, lab.pool).requests
    [workload] = made.kernel.workloads[:1]
    request = requests.of(Configuration.of({FORM: 1, "EACH": 1}), [workload])[workload.name]
    changed = replace(request, source=request.source + "__device__ int kept;\n", meaning=None)
    outcome = lab.pool.compile(changed)
    assert isinstance(outcome, CompileFailed)
    assert outcome.reason.startswith("kept would outlive")
    assert isinstance(lab.pool.compile(replace(changed, held_to=None)), Binary)
