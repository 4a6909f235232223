"""clang as devices share it: the compiler inside the `ziglang` wheel, preprocessing, tokens."""
