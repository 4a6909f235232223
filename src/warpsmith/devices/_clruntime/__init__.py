"""OpenCL code shared by the `cpu` and `opencl` devices: finding runtimes, reading limits, building, launching.

Devices may not import each other, so their common pyopencl code is in this package.
"""
