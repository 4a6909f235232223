"""Running sums and maxima of a softmax: how they are updated, and what of them is kept."""
