"""Pictures of what was found. Takes figures, knows nothing of how they came about."""
