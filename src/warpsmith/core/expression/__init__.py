"""Expressions of kernel.toml (launch geometry, shapes, constraints): parsed against a whitelist, never run by Python.

`Expression.parse` → `evaluate` for one assignment, `evaluate_many` for columns of them. The language: integers, floats, text,
names, `+ - * / // % ** << >> & | ^ ~`, comparisons (chained, `in (1, 2, 4)`), `and or not` (also `&& || !`), `a if c else b`, and
the functions of `operations.FUNCTIONS`. `/` on integers is floor division; `operations` has the rest of the arithmetic.
"""

from warpsmith.core.expression.expression import Expression

__all__ = ["Expression"]
