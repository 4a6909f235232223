"""Mutated inputs for everything that reads what others wrote: `python -m benchmarks fuzz`."""
