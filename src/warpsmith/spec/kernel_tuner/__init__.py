"""Converts Kernel Tuner scripts, run in a confined worker, and T1 files into a kernel.toml."""
