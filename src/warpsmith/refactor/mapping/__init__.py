"""Who does which part of the work: indices that are split, threads that are folded, what the threads of an axis have in common."""
