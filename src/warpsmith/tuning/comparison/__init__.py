"""Direct rewriting against template + search: the same harness, the same number of evaluations, several seeds each."""
