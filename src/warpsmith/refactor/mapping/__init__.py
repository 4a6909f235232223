"""Who does which part of the work: indices that are split, threads that are folded, what threads along an axis share."""
