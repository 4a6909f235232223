"""Executes NVIDIA machine code without a GPU, to count instructions and accesses: see `run.execute`.

`code.py` instructions from a cubin · `operand.py` their operands · `kinds.py` their units and classes · `slicing.py` values
that control flow and addresses depend on · `integers.py`, `floats.py`, `exchange.py`, `predicates.py` instruction semantics ·
`memory.py` memory accesses · `patterns.py` sectors and wavefronts · `machine.py` a block's threads · `loops.py` loop
extrapolation · `run.py` a launch.
"""
