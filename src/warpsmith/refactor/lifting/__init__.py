"""How numbers that an author fixed become parameters: named in the source, tied to the launch, bounded by rules."""
