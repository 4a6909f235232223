"""Runs a Kernel Tuner script inside a confined worker, with a stand-in for Kernel Tuner that records what it is called with.

What the script computes is real; which variables a length was computed from is traced beside it (`tracing`), and what fails, for
want of a module, a file or a GPU, becomes an `Unknown` while the rest goes on (`rewriting`).
"""
