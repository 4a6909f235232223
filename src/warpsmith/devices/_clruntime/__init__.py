"""What the `cpu` and `opencl` devices share: finding OpenCL runtimes, reading limits, building, launching.

Devices may not import each other, so the pyopencl code that both need lives here, below both.
"""
