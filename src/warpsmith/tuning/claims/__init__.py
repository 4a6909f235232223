"""What is claimed: `finalists` chooses, `beside` measures in fresh processes, `endurance` and `scrutiny` look once more."""
