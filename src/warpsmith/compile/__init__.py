"""Compiling in worker processes, in parallel, with a cache.

`binding` turns a configuration into numbers, `requests` says what is compiled of a kernel, `pool` has it done, `cache` keeps it.
"""
