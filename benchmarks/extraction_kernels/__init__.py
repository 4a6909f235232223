"""Kernels of public code bases to extract: which, how their originals are compiled, and how they run on the CPU device.

Only our own text: the list, kernel.toml files and NumPy references. The code bases are downloaded when the benchmark runs.
"""
