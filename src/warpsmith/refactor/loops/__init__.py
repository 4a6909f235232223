"""What passes find in loops and write instead: sums, packs of neighbouring elements, copies, pointers of a thread's own."""
