"""Watched kernels report every access of shared memory and buffers, to find races that no output shows."""
