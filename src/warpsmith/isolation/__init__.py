"""Worker processes: the only place where kernels are compiled or launched."""
