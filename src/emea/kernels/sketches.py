"""Random features of vectors that are already random, and products with sparse matrices."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from emea.kernels.devices import compiled
from emea.kernels.limits import MANY_NUMBERS

ROWS = 2**15  # rows at a time


class Sketch:
    """Random features of vectors that are already random: signed sums of one coordinate per depth."""

    def __init__(self, depth: int, dimension: int, features: int, far: float, generator: torch.Generator) -> None:
        self.coordinate = torch.randint(dimension, (depth + 1, features), generator=generator)
        self.sign = torch.randint(2, self.coordinate.shape, generator=generator) * 2.0 - 1.0
        self.sign[-1] *= far  # of the last depth

    def __call__(self, views: list[Tensor], part: slice = slice(None)) -> Tensor:
        """[rows, features] of the views, each [rows, dimension]; or some of the features."""
        coordinates, signs = (each[:, part].to(views[0].device) for each in (self.coordinate, self.sign))
        total = views[0].new_zeros(len(views[0]), signs.shape[1])
        kernels = compiled(total, torch.float32) if total.numel() > MANY_NUMBERS else None
        if kernels is not None:
            for view, coordinate, sign in zip(views, coordinates, signs, strict=True):
                kernels.add_columns(view, coordinate, sign, total)
            return total
        for first in range(0, len(total), ROWS):  # the columns that gather takes are as many as it finds
            some = total[first : first + ROWS]
            for view, coordinate, sign in zip(views, coordinates, signs, strict=True):
                some += view[first : first + ROWS].gather(1, coordinate.expand(len(some), -1)).mul_(sign)
        return total


def normalise(rows: Tensor) -> Tensor:
    """Rows scaled to length 1; a row of zeros stays zero."""
    return torch.nn.functional.normalize(rows, dim=1)


def sparse(row: Tensor, column: Tensor, value: Tensor, shape: tuple[int, int]) -> Tensor:
    """A sparse matrix in CSR format, ready for products with dense ones."""
    with quiet():
        matrix: Tensor = torch.sparse_coo_tensor(torch.stack([row, column]), value, shape, check_invariants=True)
        return matrix.coalesce().to_sparse_csr()


@contextmanager
def quiet() -> Iterator[None]:
    """Without torch's warning, once, that sparse matrices are in beta."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse (CSR tensor support|invariant checks)")
        yield
