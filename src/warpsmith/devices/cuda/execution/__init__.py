"""Executes machine code of NVIDIA's without a GPU, for what it counts: see `run.execute`.

`code.py` instructions from a cubin · `operand.py` their operands · `kinds.py` what they are · `slicing.py` which values decide
where it goes and what it touches · `integers.py`, `floats.py`, `exchange.py`, `predicates.py` what instructions do ·
`memory.py` who touches what · `patterns.py` sectors and wavefronts · `machine.py` a block's threads · `loops.py` what repeats ·
`run.py` a launch.
"""
