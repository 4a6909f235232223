"""What a file's host code tells of a kernel: how it is launched, on what memory, on which sizes. `facts` puts it together."""
