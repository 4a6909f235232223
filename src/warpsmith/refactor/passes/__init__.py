"""The built-in passes, one file each. They are found by entry point (`warpsmith.passes`), like anybody else's."""
