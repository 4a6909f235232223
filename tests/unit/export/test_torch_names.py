"""Names that Python, TOML or a package index would not take as they are: a package is made of them all the same."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.export.base import Shipment
from warpsmith.export.parts import parts_of
from warpsmith.export.pytorch.project import front_text, package_name, project_text
from warpsmith.export.pytorch.table import Shipped, interface_of, table_text
from warpsmith.spec.kernel import Buffer, Kernel, Workload
from warpsmith.spec.load import load_kernel
from warpsmith.testing.exporters import shipment_of_kernel

ARGUMENTS = ("in", "in_", "KERNEL", "self", "s", "shapes", "None")
AWKWARD = ['"""', "'", '\\"', "\\", "\n", "\r", "\n    import this\n", "2dconv", "class", "load", "torch", "a.b-c", "²", "日"]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    folder = tmp_path_factory.mktemp("names")
    listed = "\n".join(f'{name} = {{ dtype = "f32", shape = ["n"], role = "out" }}' for name in ARGUMENTS)
    (folder / "k.cu").write_text(f"__global__ void k({', '.join(f'float* a{i}' for i in range(len(ARGUMENTS)))}) {{}}\n")
    (folder / "kernel.toml").write_text(
        f'[kernel]\nname = "k"\nsource = "k.cu"\nentry = "k"\n[arguments]\n{listed}\n[launch]\ngrid = ["n"]\nblock = ["B"]\n'
        "[workloads]\none = { n = 8 }\ntwo = { n = 16 }\n[parameters]\nB = { values = [1, 2], default = 1 }\n"
    )
    return load_kernel(folder)


def texts(shipment: Shipment) -> tuple[str, str, str]:
    interface = interface_of(shipment.kernel)
    built = [part.build(Path("k.cu")) for part in parts_of(shipment)]
    shipped = [Shipped(build, {"sm_90": ("k.cubin", "k")}, 16) for build in built]
    table = table_text(shipment, interface, shipped, None)
    return table, front_text(shipment, interface, None), project_text(shipment.kernel, None)


def shipment(kernel: Kernel, workload: str = "one") -> Shipment:
    first, *others = kernel.workloads
    named = replace(kernel, workloads=(Workload(workload, first.sizes), *others))
    return shipment_of_kernel(named, Configuration.of({"B": 1}), {workload: Configuration.of({"B": 2})})


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(AWKWARD) | st.text(min_size=1), st.sampled_from(AWKWARD) | st.text(min_size=1), st.sampled_from(AWKWARD))
def test_any_name_makes_a_package(kernel: Kernel, name: str, workload: str, gpu: str):
    made = shipment(replace(kernel, name=name), workload)
    table, front, project = texts(replace(made, provenance={**made.provenance, "device_description": gpu}))
    functions = [node for node in ast.parse(front).body if not isinstance(node, ast.Expr | ast.Assign)]
    assert [type(node).__name__ for node in functions] == ["ImportFrom", *["FunctionDef"] * 3]  # and nothing that a name brought
    assert len({node.name for node in functions[1:] if isinstance(node, ast.FunctionDef)}) == 3
    written = [type(node).__name__ for node in ast.parse(table).body]
    assert written == ["Expr", "Import", *["ImportFrom"] * 5, "FunctionDef", "Assign", "Assign"]
    about = tomllib.loads(project)["project"]
    assert about["name"].replace("-", "").isalnum()
    assert about["name"].isascii()
    assert package_name(made.kernel).isidentifier()


def test_arguments_keep_their_names_where_python_lets_them(kernel: Kernel):
    _, front, _ = texts(shipment(kernel))
    assert "def k(*, in_=None, in__=None, KERNEL_=None, self=None, s=None, shapes=None, None_=None):" in front
    assert "{'in': in_, 'in_': in__, 'KERNEL': KERNEL_, 'self': self," in front


def test_a_size_that_has_to_be_said_needs_a_name_of_its_own(kernel: Kernel):
    first = kernel.buffers[0]
    flat = replace(first, name="n", shape=(first.shape[0].parse("n * n"),))
    assert isinstance(flat, Buffer)
    with pytest.raises(InputError, match="the size 'n' must be passed in a call"):
        interface_of(replace(kernel, arguments=(flat,)))
