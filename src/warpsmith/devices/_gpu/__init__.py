"""Code shared by devices with their own memory: buffers, launches, parameters. `api.GpuApi` hides the vendors' calls."""
