"""Devices compile and launch kernels. `base` defines the interface, `registry` finds devices by name; each has its own folder.

Devices do not depend on each other: shared code is in modules and packages whose names begin with `_`.
"""
