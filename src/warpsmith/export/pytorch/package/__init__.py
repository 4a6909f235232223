"""What every exported package has, copied as it is: it needs PyTorch and the driver, and nothing of Warpsmith."""
