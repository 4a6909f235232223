"""Tiles in shared memory: what they are filled from, and which element a thread reads."""
