"""kernel.toml and what it becomes: `load` reads one, `kernel` has its nouns, `checks` and its like hold it against the source.

The other way round, `skeleton` writes one to start from: out of a source, its `host` code, or what `kernel_tuner` users have.
"""
