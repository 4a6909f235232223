"""The OpenCL device: any platform that pyopencl sees, for kernels in OpenCL C."""

from warpsmith.devices.opencl.device import OpenClDevice

__all__ = ["OpenClDevice"]
