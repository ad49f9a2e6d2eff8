"""GPU kernels in Triton: each does in one pass over memory what takes plain torch several.

Each has an equivalent in plain torch, named in its docstring, which all other devices use. Import these kernels only
through `devices.fused`.
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
