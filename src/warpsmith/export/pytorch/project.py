"""`pyproject.toml` and `__init__.py` of a package: what pip installs, and how SGLang and vLLM find it by themselves."""

from __future__ import annotations

from warpsmith.export.base import Shipment
from warpsmith.export.pytorch.table import Interface, call_text, function_name, plain_word
from warpsmith.export.pytorch.text import prose
from warpsmith.spec.kernel import Kernel, Replaces

# Both call every function of their group once in each process that they start.
_PLUGINS = {"sglang": "sglang.srt.plugins", "vllm": "vllm.general_plugins"}


def package_name(kernel: Kernel) -> str:
    return f"{plain_word(kernel)}_tuned"


def project_text(kernel: Kernel, replaces: Replaces | None) -> str:
    name = package_name(kernel)
    group = _PLUGINS.get(replaces.function.partition(".")[0]) if replaces is not None else None
    plugin = f'\n[project.entry-points."{group}"]\n{name} = "{name}:register"\n' if group is not None else ""
    return f"""\
[build-system]
requires = ["setuptools>=68"]
build-backend = "setuptools.build_meta"

[project]
name = "{name.replace("_", "-")}"
version = "1.0"
description = "{prose(kernel.name)}, tuned by Warpsmith"
requires-python = ">=3.10"
dependencies = ["torch>=2.7"]
{plugin}
[tool.setuptools]
packages = ["{name}"]

[tool.setuptools.package-data]
{name} = ["code/*.cubin", "source/**"]
"""


def front_text(shipment: Shipment, interface: Interface, replaces: Replaces | None) -> str:
    kernel, claim, about = shipment.kernel, shipment.general.claim, shipment.provenance
    low, high = claim.ci95
    name = function_name(kernel)
    exported = [name, "why_not", "load", *(["register"] if replaces is not None else [])]
    imports = ["KERNEL", *(["REPLACEMENT"] if replaces is not None else [])]
    return f'''\
"""{prose(kernel.name)}, tuned: exported by Warpsmith from run {shipment.run}.

{claim.speedup:.3f}x the original on {prose(about["device_description"])}, with a 95 % interval from {low:.3f} to {high:.3f}.
"""

from .table import {", ".join(imports)}

__all__ = {exported!r}


{call_text(kernel, interface)}

def load(device=None):
    """Load the machine code now instead of at the first call, which a graph's capture does not allow."""
    KERNEL.load(device)
{_register(replaces)}'''


def _register(replaces: Replaces | None) -> str:
    if replaces is None:
        return ""
    if replaces.function.startswith("sglang."):
        how = """\
    REPLACEMENT.original()  # what does not fit is found now
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register(REPLACEMENT.function, REPLACEMENT.around, HookType.AROUND)"""
    else:
        how = "    REPLACEMENT.install()"
    return f'''

def register():
    """Take the place of {replaces.function}; what the tuned kernel is not meant for still goes there."""
{how}
'''
