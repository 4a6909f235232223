"""AMD GPUs. Compiling for a target (`gfx942`) needs no GPU and no ROCm; running needs both."""

from warpsmith.devices.hip.compiling import CompiledCodeObject, compile_code_object
from warpsmith.devices.hip.device import HipDevice

__all__ = ["CompiledCodeObject", "HipDevice", "compile_code_object"]
