"""The default strategy: a Gaussian process over the feasible configurations with expected improvement.

`encoding` says how far two values of a parameter are apart, `targets` turns times into what is modelled, `kernel` and `hyper` are
the model and its fit, `posterior` its predictions, `candidates` what they are made for, `feasibility` the chance of failure,
`contexts` and `forecasts` bring in earlier runs, and `strategy` puts them together behind ask/tell.
"""

from warpsmith.search.gp.strategy import GaussianProcess

__all__ = ["GaussianProcess"]
