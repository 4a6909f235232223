"""What people who tune with Kernel Tuner have: scripts and T1 files, read and never run, as a kernel.toml."""
