from math import prod

from hypothesis import assume, given
from hypothesis import strategies as st
from source_support import cuda, initialiser

from warpsmith.source import Names, Polynomial

_LEAVES = st.sampled_from(["a", "b", "c", "1", "2", "3"])
_TERMS = st.recursive(
    _LEAVES, lambda t: st.tuples(t, st.sampled_from("+-*"), t).map(lambda p: f"({p[0]} {p[1]} {p[2]})"), max_leaves=8
)


def polynomial(text: str, body: str = "", signature: str = "int a, int b, int c, float* out") -> Polynomial:
    source = cuda(f"{body}\nconst int v = {text};", signature=signature)
    return Polynomial.of(initialiser(source, "v"), Names(source))


@given(_TERMS, st.integers(-5, 5), st.integers(-5, 5), st.integers(-5, 5))
def test_it_is_the_same_function(text, a, b, c):
    values = {"a": a, "b": b, "c": c}
    assume(polynomial(text).atoms <= values.keys())  # the grammar takes some products in parentheses for casts: those stay whole
    total = sum(factor * prod(values[atom] for atom in monomial) for monomial, factor in polynomial(text).terms.items())
    assert total == eval(text, {}, values)


def test_renaming_and_casts_do_not_matter():
    body = "const int first = blockIdx.x * blockDim.x; const long i = static_cast<long>(first) + (int)threadIdx.x;"
    assert polynomial("i", body) == polynomial("threadIdx.x + blockDim.x * blockIdx.x")


def test_coefficients():
    index = polynomial("(blockIdx.x * 4 + threadIdx.x) * a + b")
    assert index.coefficient("threadIdx.x") == Polynomial.atom("a")
    assert polynomial("threadIdx.x * threadIdx.x").coefficient("threadIdx.x") is None
    assert polynomial("threadIdx.x / 4").coefficient("threadIdx.x") is None  # it hides in a quotient
    assert polynomial("a").coefficient("threadIdx.x") == Polynomial.constant(0)


def test_quotients_are_the_same_whatever_they_are_called():
    assert polynomial("row", "const int row = (b + a) / (c * 2);") == polynomial("(a + b) / (2 * c)")


def test_two_loops_variables_of_one_name_differ():
    source = cuda("for (int i = 0; i < 4; ++i) { const int v = i; } for (int i = 0; i < 4; ++i) { const int w = i; }")
    names = Names(source)
    assert Polynomial.of(initialiser(source, "v"), names) != Polynomial.of(initialiser(source, "w"), names)


def test_what_the_grammar_takes_for_a_cast_of_something_else_stays_whole():
    assert polynomial("((a * (b * c)) - 2)") == Polynomial.atom("(a*(b*c))-2")
    assert polynomial("(a) - 1") in {Polynomial.atom("(a)-1"), Polynomial.atom("a") - Polynomial.constant(1)}
