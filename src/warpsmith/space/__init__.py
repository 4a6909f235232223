"""The space: the configurations that every constraint and every limit of the device allows, on every declared workload."""

from warpsmith.space.quantities import Quantity
from warpsmith.space.removal import Removal
from warpsmith.space.rules import Violation
from warpsmith.space.space import Space, space_of

__all__ = ["Quantity", "Removal", "Space", "Violation", "space_of"]
