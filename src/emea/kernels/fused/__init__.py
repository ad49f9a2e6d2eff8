"""Kernels for GPUs, in Triton: what takes several passes over memory with torch alone, in one.

Each has a twin in plain torch that every other device uses, named where it stands. Imported only where
`devices.fused` says so.
"""

from emea.kernels.fused.losses import hardest_first, margin_loss
from emea.kernels.fused.messages import product, softmax, softmax_gradient, weighted_sum
from emea.kernels.fused.reflections import reflected_sum, reflected_sum_gradient

__all__ = [
    "hardest_first",
    "margin_loss",
    "product",
    "reflected_sum",
    "reflected_sum_gradient",
    "softmax",
    "softmax_gradient",
    "weighted_sum",
]
