"""Search strategies: ask/tell, pure and seeded. They see the space and its outcomes, never a device. `gp` is the default.

`base` is the protocol, `registry` finds strategies by name; `importance` says afterwards which parameters mattered.
"""
