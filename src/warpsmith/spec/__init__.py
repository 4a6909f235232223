"""kernel.toml and its meaning: `load` reads one, `kernel` has its types, `checks` and others compare it with the source.

In the other direction, `skeleton` writes a first kernel.toml from a source, its `host` code, or a `kernel_tuner` script.
"""
