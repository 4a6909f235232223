"""Copied unchanged into every exported package: needs PyTorch and the driver, not Warpsmith."""
