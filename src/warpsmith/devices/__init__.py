"""What compiles and launches kernels. `base` says what a device is, `registry` finds them by name; each has a folder of its own.

Devices do not know each other: what several of them need lies beside them, in modules and packages whose names begin with `_`.
"""
