"""Compiling in worker processes, in parallel, with a cache."""
