"""The parts of `benchmarks.reach`: packages with kernels, a kernel.toml for each kernel, and what the rules make of it."""
