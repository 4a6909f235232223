"""A Python script followed without running it, as far as to its calls of `tune_kernel`: what its names stand for."""
