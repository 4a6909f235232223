"""What the devices with a memory of their own share: buffers, launches, parameters. Vendors' calls are behind `api.GpuApi`."""
