"""clang as shared by devices: the compiler in the `ziglang` wheel, preprocessing, tokens, and the separation of host code."""
