"""Runs a Kernel Tuner script in a confined worker, with a substitute for Kernel Tuner that records its calls.

The script really computes its values; `tracing` records which variables a length was computed from. A statement that fails
because a module, a file or a GPU is missing gives an `Unknown`, and the rest continues (`rewriting`).
"""
