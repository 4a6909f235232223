"""Strategies: ask/tell, pure and seeded. They know the space and what came of it, never a device. `gp` is the default.

`base` is the protocol, `registry` finds strategies by name; `importance` says afterwards which parameters mattered.
"""
