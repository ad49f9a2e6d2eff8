"""What losses with a margin share: distances, and the loss over pairs and negatives of RREA, MRAEA and GCN-Align."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.autograd import Function

from emea.kernels.limits import SMALLEST_LENGTH
from emea.kernels.margin import margin_loss


def margin_of(output: Tensor, pairs: Tensor, negatives: Tensor, weight: Tensor, margin: float) -> Tensor:
    """Σ over rows of weight times

        relu(γ + ‖l − r‖₁ − ‖l − r⁻‖₁) + relu(γ + ‖l − r‖₁ − ‖l⁻ − r‖₁),

    where rows take the pairs (l, r), [2, pairs], in turn, as often as there are negatives l⁻ and r⁻, [2, rows].
    """
    loss: Tensor = _MarginLoss.apply(output, pairs, negatives, weight, margin)  # type: ignore[no-untyped-call]
    return loss


def distance(first: Tensor, second: Tensor) -> Tensor:
    """‖first − second‖ over the last dimension."""
    return ((first - second).square().sum(-1) + SMALLEST_LENGTH).sqrt()


class _MarginLoss(Function):
    """The loss, computed together with its gradient."""

    @staticmethod
    def forward(  # noqa: PLR0917 - as autograd passes them
        context: Any, output: Tensor, pairs: Tensor, negatives: Tensor, weight: Tensor, margin: float
    ) -> Tensor:
        loss, gradient = margin_loss(output, pairs, negatives, weight, margin)
        context.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
        return gradient * context.saved_tensors[0], None, None, None, None
