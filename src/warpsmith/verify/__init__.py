"""Inputs, oracle, comparison and guard zones. All of it runs in the tuner's process, out of a kernel's reach."""
