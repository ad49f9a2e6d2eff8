"""Loops that torch has no fast operation for, compiled for the CPU by numba when they are first needed.

Each takes a range of its work, and threads take ranges in turn: what is found does not depend on their number. Other
devices do the same with torch, with which the tests compare.
"""

from emea.kernels.compiled.arrays import (
    add_columns,
    grouped,
    highest,
    nearest,
    positions,
    products,
    weighted,
)
from emea.kernels.compiled.losses import margin_loss
from emea.kernels.compiled.meeting import met

__all__ = ["add_columns", "grouped", "highest", "margin_loss", "met", "nearest", "positions", "products", "weighted"]
