// NVRTC has a header of this name built in; clang's preprocessor, which stands in for NVRTC's own, needs nothing from it.
