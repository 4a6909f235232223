"""Inputs, oracle, comparison and guard zones. All of it runs in the tuner's process, which a kernel cannot reach."""
