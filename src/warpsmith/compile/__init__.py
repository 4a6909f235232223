"""Compiling in worker processes, in parallel, with a cache.

`binding` turns a configuration into numbers, `requests` lists what is compiled for a kernel, `pool` compiles it, `cache` stores
it.
"""
