"""NVIDIA GPUs. Compiling for any target (`sm_90`) needs the wheels of `warpsmith[cuda]` and no GPU; running needs one."""

from warpsmith.devices.cuda.compiling import CompiledCubin, compile_cubin
from warpsmith.devices.cuda.device import CudaDevice
from warpsmith.devices.cuda.sass import sass

__all__ = ["CompiledCubin", "CudaDevice", "compile_cubin", "sass"]
