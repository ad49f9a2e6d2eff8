"""Dual-AMN: reflection with relation attention, proxies shared by both graphs, and a loss over all entities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor
from torch.autograd import Function
from torch.nn.functional import normalize

from emea.contracts import Size
from emea.data import Links, Task
from emea.encoders._reflection import ReflectionEncoder, ReflectionSettings
from emea.encoders._training import dropped, uniform
from emea.kernels.hardest import hardest_first
from emea.kernels.limits import HARDEST_BLOCK, SMALLEST_LENGTH
from emea.kernels.reflections import reflected_sum

VIEWS = ("entity", "relation")


class DualAMNSettings(ReflectionSettings):
    """As in the publication, but for the departures listed in `DualAMN`."""

    epochs: int = Field(20, ge=1, description="epochs of the first fit")
    more_epochs: int = Field(5, ge=1, description="epochs of each later fit, which continues from the previous one")
    turn_epochs: int = Field(5, ge=1, description="semi: epochs after each addition of mutually nearest pairs")
    dimension: int = Field(128, ge=1, description="dimension of the entity and relation vectors")
    dropout: float = Field(0.4, ge=0, lt=1, description="dropout rate of the output in training")
    proxies: int = Field(64, ge=1, description="number of proxy vectors, shared by both graphs")
    batch: int = Field(1024, ge=1, description="pairs per step")
    negatives: int = Field(
        0, ge=0, description="entities drawn at each step to compare its pairs with, beside those of its pairs; 0: all"
    )
    least_pairs: int = Field(2048, ge=1, description="repeat the pairs until an epoch has at least this many")
    margin: float = Field(1.0, ge=0, description="γ of the loss")
    scale: float = Field(30.0, gt=0, description="λ of the loss: the larger, the more the hardest negatives count")
    shift: float = Field(10.0, description="τ of the loss")


class DualAMN(ReflectionEncoder[DualAMNSettings]):
    """Mao et al. (WWW 2021).

    Layer: h_i ← tanh(Σ_{j,r} α_ijr M_r h_j), α = softmax over the edges of i of v·r̂, with RREA's reflection M_r. There
    are two separate encoders, one for the mean of the neighbours' vectors (the entity's own included), one for the mean
    of its relations' vectors; h is the concatenation of all depths. Proxies q_p, shared by both graphs:

        β = softmax_p cos(h, q_p),   h' = h − Σ_p β_p q_p,   η = sigmoid(W h' + b),   out = η∘h + (1 − η)∘h'.

    Loss of a pair (l, r), with all other entities e as negatives and d the squared distance; likewise with r for l:

        log Σ_e exp(λ·ℓ_e + τ),   ℓ_e = γ + d(l, r) − d(l, e), standardised over e (mean and deviation held fixed).

    l and r themselves count with the constant ℓ = 0 before standardisation: the 1 of log(1 + Σ exp). Without it γ would
    have no effect, and a pair far from all negatives would be pulled together forever.

    Departures from the publication: those of `TrainedEncoder`; dropout .4 instead of .3, which improves semi-supervised
    training; an epoch with few pairs repeats them up to `least_pairs`; and with `negatives` a step compares its pairs
    with their own entities and so many others, drawn at random, instead of all (docs/log.md).
    """

    Settings = DualAMNSettings
    alike: ClassVar[bool] = True
    damping: ClassVar[float] = 1e-7**0.5  # keeps distant entities, with tiny gradients, in place; 1e-7 overfits

    @classmethod
    def epoch_work(cls, settings: DualAMNSettings, size: Size) -> float:
        """Estimated from measured times: of the loss, and of the layers at each step."""
        pairs, features = max(size.pairs, settings.least_pairs), cls.features(settings)
        compared = min(size.entities, 2 * settings.batch + settings.negatives) if settings.negatives else size.entities
        steps = -(-pairs // settings.batch)
        return (60 * pairs * compared + 15_000 * steps * size.entities) * features

    def __init__(self, task: Task, settings: DualAMNSettings, device: torch.device) -> None:
        super().__init__(task, settings, device)

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Entities and relations, and for each view attention, proxies and gate."""
        settings, width = self.settings, (self.settings.depth + 1) * self.settings.dimension
        values = self.tables(settings.dimension, generator)
        for view in VIEWS:
            values[f"{view}.attention"] = uniform((settings.depth, settings.dimension), generator)
            values[f"{view}.proxies"] = uniform((settings.proxies, width), generator)
            values[f"{view}.gate"] = uniform((width, width), generator)
            values[f"{view}.bias"] = torch.zeros(width)
        return values

    def output(self) -> Tensor:
        """Both views, concatenated, [entities, features]."""
        *features, directions = self.views()
        return torch.cat([self._view(*each, directions) for each in zip(VIEWS, features, strict=True)], 1)

    def _view(self, view: str, features: Tensor, directions: Tensor) -> Tensor:
        depths = [torch.tanh(features)]
        for on_relation in self.parameters[f"{view}.attention"]:
            depths.append(torch.tanh(reflected_sum(self.reflections, depths[-1], directions, on_relation)))
        h, proxies = torch.cat(depths, 1), self.parameters[f"{view}.proxies"]
        length = torch.linalg.vector_norm(h, dim=1, keepdim=True).clamp(min=SMALLEST_LENGTH)
        nearness = torch.softmax(h @ normalize(proxies, dim=1).T / length, 1)  # β
        shared = nearness @ proxies
        remainder = h - shared  # h'
        gate = torch.sigmoid(torch.addmm(self.parameters[f"{view}.bias"], remainder, self.parameters[f"{view}.gate"]))
        return torch.addcmul(remainder, gate, shared)  # η∘h + (1 − η)∘h', since h = h' + Σ β q

    def losses(self, pairs: Links, generator: torch.Generator) -> Iterator[Tensor]:
        """Batches of the pairs in random order, repeated up to `least_pairs` if there are fewer."""
        settings = self.settings
        repeats = -(-settings.least_pairs // len(pairs))
        chance = torch.rand(repeats, len(pairs), generator=generator, device=self.device)
        rows = torch.argsort(chance, 1).flatten()[: max(settings.least_pairs, len(pairs))]
        left, right = self.graph.pairs(pairs)
        for row in torch.split(rows, settings.batch):
            output, ends = self._compared(torch.stack([left[row], right[row]]), generator)
            output = dropped(output, settings.dropout, generator)
            loss: Tensor = _HardestFirst.apply(output, ends[0], ends[1], pairs.weight[row], settings)  # type: ignore[no-untyped-call]
            yield loss

    def _compared(self, ends: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The output of the entities that these pairs, [2, pairs], are compared with, and where the pairs are in it."""
        output, count = self.output(), ends.numel() + self.settings.negatives
        if not self.settings.negatives or count >= len(output):
            return output, ends
        order = torch.rand(len(output), generator=generator, device=self.device).index_fill(0, ends.flatten(), -1.0)
        chosen = torch.topk(order, count, largest=False).indices
        place = torch.zeros_like(order, dtype=torch.int64)
        place.index_copy_(0, chosen, torch.arange(count, device=self.device))
        return output[chosen], place[ends]


class _HardestFirst(Function):
    """The loss, in blocks of pairs; its gradient is computed along the way, so that no block has to be kept.

    With p = softmax(λ·ℓ) and s the standard deviation, ∂/∂d(l, e) = −p_e·λ/s and ∂/∂d(l, r) = Σ_e p_e·λ/s, e ≠ l, r.
    """

    @staticmethod
    def forward(  # noqa: PLR0917 - as autograd passes them
        context: Any, output: Tensor, left: Tensor, right: Tensor, weight: Tensor, settings: DualAMNSettings
    ) -> Tensor:
        gradient, total = torch.zeros_like(output), output.new_zeros(())
        square, pushed = torch.linalg.vector_norm(output, dim=1).square(), output.new_zeros(len(output))
        for here, there in ((left, right), (right, left)):
            for rows in torch.split(torch.arange(len(here), device=here.device), HARDEST_BLOCK):
                loss, pull, push = _hardest_first(output, square, here[rows], there[rows], settings)
                share = weight[rows] / len(here)
                total = total + (share * loss).sum()
                own, other = output[here[rows]], output[there[rows]]
                apart = (2 * share * pull)[:, None] * (own - other)
                # ∂ Σ −push·‖h − e‖²: in h, −2 Σ_e push (h − e); in e, −2 push (e − h)
                away = (2 * share)[:, None] * (pull[:, None] * own - push @ output)
                gradient.index_add_(0, here[rows], apart - away)
                gradient.index_add_(0, there[rows], -apart)
                gradient.addmm_(push.T, share[:, None] * own, alpha=2)
                pushed += share @ push
        gradient.addcmul_(output, pushed[:, None], value=-2)
        context.save_for_backward(gradient)
        return total

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
        return gradient * context.saved_tensors[0], None, None, None, None


def _hardest_first(
    output: Tensor, square: Tensor, here: Tensor, there: Tensor, settings: DualAMNSettings
) -> tuple[Tensor, Tensor, Tensor]:
    """The loss of each pair, [pairs]; its derivative by d(l, r), [pairs]; and minus its derivatives by d(l, e),
    [pairs, entities]."""
    reach = settings.margin + (output[here] - output[there]).square().sum(1) - square[here]
    losses = torch.addmm(reach[:, None] - square, output[here], output.T, alpha=2)  # ℓ_e
    total, push = hardest_first(losses, torch.stack([here, there], 1), settings.scale, settings.shift)
    return total, push.sum(1), push
