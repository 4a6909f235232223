"""What people who tune with Kernel Tuner have: scripts, which a confined worker runs, and T1 files, as a kernel.toml."""
