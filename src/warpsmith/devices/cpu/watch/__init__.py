"""Watched kernels: every access of memory that threads share is reported, so that races are found which no output shows."""
