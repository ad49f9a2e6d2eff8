"""A reflection layer: each entity's weighted sum of its neighbours' vectors, reflected by the edges' relations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from emea.kernels.devices import fused
from emea.kernels.messages import Pattern, edge_softmax, products, take, weighted_sum


@dataclass(frozen=True, eq=False)
class Reflections:
    """The edges (i, j) of a layer and how each reflects: a *bundle* for each set of relations that joins two entities.

    M_r h = h − 2(h·r̂)r̂ preserves norms and distances. If several relations join i and j, r̂ is their normalised mean.
    Messages M_r h_j are not built: Σ α M_r h_j = Σ α h_j − 2 Σ α (h_j·r̂) r̂ needs only h_j·r̂, once for each (j, r̂).
    """

    edges: Pattern  # [entities, entities], one entry per edge, sorted
    turned: Pattern  # [entities, bundles], one entry per edge: its bundle
    reflected: Pattern  # [entities, bundles]: the distinct (j, r̂)
    message: Tensor  # [edges] which of them each edge carries

    @cached_property
    def bundle_by_tail(self) -> Tensor:
        """The bundles of the edges sorted by tail, [edges]."""
        return self.turned.column[self.edges.transposed.order]

    @cached_property
    def tail_by_bundle(self) -> Tensor:
        """The tails of the edges sorted by bundle, [edges]."""
        return self.edges.column[self.turned.transposed.order]

    @cached_property
    def message_by_bundle(self) -> Tensor:
        """The messages of the edges sorted by bundle, [edges]."""
        return self.message[self.turned.transposed.order]


def reflected_sum(
    places: Reflections, features: Tensor, directions: Tensor, on_relation: Tensor, on_message: Tensor | None = None
) -> Tensor:
    """Σ_{j,r} α M_r h_j of each entity, [entities, dimension], where α is the softmax over its edges of
    on_message·M_r h_j + on_relation·r̂; `directions` holds r̂ of each bundle. Differentiable in all four tensors."""
    if fused(features) is None or not places.edges.is_sorted:
        return plain_reflected_sum(places, features, directions, on_relation, on_message)
    on_message = torch.zeros_like(on_relation) if on_message is None else on_message
    result: Tensor = _ReflectedSum.apply(places, features, directions, on_message, on_relation)  # type: ignore[no-untyped-call]
    return result


def plain_reflected_sum(
    places: Reflections, features: Tensor, directions: Tensor, on_relation: Tensor, on_message: Tensor | None = None
) -> Tensor:
    """The same in plain torch, step by step."""
    bundle, tail = places.turned.column, places.edges.column
    along = take(products(places.reflected, features, directions), places.message)  # h_j·r̂
    logits = take(directions @ on_relation, bundle)
    if on_message is not None:  # v·M_r h_j = v·h_j − 2 (h_j·r̂)(v·r̂)
        logits = logits + take(features @ on_message, tail) - 2 * along * take(directions @ on_message, bundle)
    attention = edge_softmax(places.edges, logits)
    straight = weighted_sum(places.edges, attention, features)
    return straight - 2 * weighted_sum(places.turned, attention * along, directions)


class _ReflectedSum(Function):
    @staticmethod
    def forward(  # noqa: PLR0917 - as autograd passes them
        context: Any, places: Reflections, features: Tensor, directions: Tensor, on_message: Tensor, on_relation: Tensor
    ) -> Tensor:
        kernels = fused(features)
        assert kernels is not None
        given = [each.contiguous() for each in (features, directions, on_message, on_relation)]
        result, *left = kernels.reflected_sum(places, *given)
        context.places = places
        context.save_for_backward(*given, result, *left)
        out: Tensor = result
        return out

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        kernels = fused(gradient)
        assert kernels is not None
        return (None, *kernels.reflected_sum_gradient(context.places, *context.saved_tensors, gradient.contiguous()))
