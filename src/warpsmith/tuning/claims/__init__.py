"""The last stage (`stage`): `finalists` chooses, `interleaved` measures in fresh processes, `scrutiny` looks again."""
