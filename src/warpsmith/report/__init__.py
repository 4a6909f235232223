"""What was found, in words, plots and pages. Takes figures, knows nothing of how they came about."""
