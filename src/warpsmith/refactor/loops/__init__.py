"""What passes find in loops and write in their place: sums, packs of neighbouring elements, copies, pointers of a thread's own."""
