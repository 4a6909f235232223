"""Inline PTX that means the same in C++: straight-line instructions, written out for clang."""
