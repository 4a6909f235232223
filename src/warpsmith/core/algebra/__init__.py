"""Integer algebra: canonical sums of products, their quotients, and equality.

`polynomial.py` is the arithmetic; `source.polynomial` reads it off index expressions. `quotient.py` reads expressions of
kernel.toml where every division is exact, and decides equality: yes, no, or not known; never wrong.
"""

from warpsmith.core.algebra.polynomial import Monomial, Polynomial
from warpsmith.core.algebra.quotient import Quotient, equal

__all__ = ["Monomial", "Polynomial", "Quotient", "equal"]
