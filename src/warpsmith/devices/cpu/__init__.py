"""The CPU device: CUDA C++ and HIP C++ through clang and SPIR-V, OpenCL C directly, on an OpenCL CPU runtime."""

from warpsmith.devices.cpu.device import CpuDevice

__all__ = ["CpuDevice"]
