"""Reads host code: how it launches a kernel, on which memory and sizes. `facts` assembles the result."""
