"""clang as devices share it: the compiler inside the `ziglang` wheel, preprocessing, tokens; and what of a file is host code."""
