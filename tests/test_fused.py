"""The kernels written for GPUs equal their plain twins; without a GPU Triton's interpreter runs them."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from emea.kernels import devices
from emea.kernels.hardest import hardest_first, plain_hardest_first
from emea.kernels.margin import margin_loss, plain_margin_loss
from emea.kernels.messages import LONGEST, Pattern, edge_softmax, plain_product, plain_sum, products, weighted_sum
from emea.kernels.reflections import Reflections, plain_reflected_sum, reflected_sum

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(autouse=True)
def kernels_for_gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(devices, "FUSED_ON", {DEVICE.type})
    assert devices.fused(torch.zeros(1, device=DEVICE)) is not None
    yield
    devices._kernels.cache_clear()


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def pattern(rows: int, columns: int, entries: int, seed: int) -> Pattern:
    """Sorted entries, some rows empty and one with most of them, as hubs are."""
    draw = torch.Generator().manual_seed(seed)
    row = torch.randint(rows // 2, (entries,), generator=draw) * 2
    row[: entries // 3] = 4
    column = torch.randint(columns, (entries,), generator=draw)
    key = torch.sort(row * columns + column).values
    return Pattern((key // columns).to(DEVICE), (key % columns).to(DEVICE), (rows, columns))


@pytest.mark.parametrize("width", [1, 7, 100, 128, 300])
def test_products(width: int) -> None:
    places, left, right = pattern(20, 30, 100, width), normal(20, width), normal(30, width, seed=1)
    torch.testing.assert_close(products(places, left, right), plain_product(places, left, right), atol=1e-4, rtol=1e-5)
    empty = Pattern(places.row[:0], places.column[:0], places.shape)
    assert products(empty, left, right).shape == (0,)


@pytest.mark.parametrize("width", [1, 7, 100, 128, 300])
@pytest.mark.parametrize("turned", [False, True])
def test_weighted_sum(width: int, turned: bool) -> None:
    places = pattern(20, 30, 250, width)
    assert bool(places.parts.whole.any())
    assert len(places.parts.split)
    places = places.transposed if turned else places
    values, features = normal(250), normal(places.shape[1], width, seed=1)
    found, expected = weighted_sum(places, values, features), plain_sum(places, values, features)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-5)
    empty = Pattern(places.row[:0], places.column[:0], places.shape)
    assert not bool(weighted_sum(empty, values[:0], features).any())


def reflections(entities: int, bundles: int, edges: int) -> Reflections:
    """Edges between entities. One is the head of a third of them, one the tail of another, and one bundle has half;
    most entities and bundles have few."""
    draw = torch.Generator().manual_seed(2)
    row, column = (torch.randint(entities // 2, (edges,), generator=draw) * 2 for _ in range(2))
    row[: edges // 3], column[edges // 3 : 2 * edges // 3] = 4, 6
    key = torch.sort(row * entities + column).values
    places = Pattern((key // entities).to(DEVICE), (key % entities).to(DEVICE), (entities, entities))
    bundle = torch.randint(bundles, (edges,), generator=draw)
    bundle[torch.rand(edges, generator=draw) < 0.5] = 3
    bundle = bundle.to(DEVICE)
    message, which = torch.unique(places.column * bundles + bundle, return_inverse=True)
    carried = Pattern(message // bundles, message % bundles, (entities, bundles))
    return Reflections(places, Pattern(places.row, bundle, (entities, bundles)), carried, which)


def check_reflected_sum(places: Reflections, given: list[Tensor]) -> Tensor:
    """The sum and its gradients, in single precision by kernels, beside the plain ones in double; returns the sum."""
    slope, results = normal(*given[0].shape, seed=8), []
    for compute, dtype in ((reflected_sum, torch.float32), (plain_reflected_sum, torch.float64)):
        leaves = [each.to(dtype).clone().requires_grad_() for each in given]
        total = compute(places, *leaves)
        total.backward(slope.to(dtype))
        results.append([total.detach().double(), *(leaf.grad.double() for leaf in leaves)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, atol=2e-4 * (1 + float(expected.abs().max())), rtol=0)
    return results[0][0]


def drawn_features(entities: int, bundles: int, width: int, steep: float, vectors: int = 2) -> list[Tensor]:
    """Features, directions, and vectors of the attention."""
    directions = torch.nn.functional.normalize(normal(bundles, width, seed=4), dim=1)
    return [normal(entities, width, seed=5), directions, *(steep * normal(width, seed=6 + n) for n in range(vectors))]


@pytest.mark.parametrize(
    ("width", "steep", "vectors"),
    [
        (4, 0.3, 1),
        (4, 5.0, 2),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in [(100, 0.3, 2), (100, 5.0, 1)]),
    ],
)
def test_reflected_sum_and_its_gradients(width: int, steep: float, vectors: int) -> None:
    places = reflections(16, 10, 200)
    for parts in (places.edges.parts, places.edges.transposed.parts, places.turned.transposed.parts):
        assert bool(parts.whole.any())
        assert len(parts.split)
    total = check_reflected_sum(places, drawn_features(16, 10, width, steep, vectors))
    still = torch.bincount(places.edges.row, minlength=16) == 0
    assert bool(still.any())
    assert not bool(total[still].any())


@pytest.mark.slow
def test_reflected_sum_of_an_entity_with_very_many_edges() -> None:
    places = reflections(30, 40, 3600)
    assert int(torch.bincount(places.edges.row).max()) > 17 * LONGEST
    check_reflected_sum(places, drawn_features(30, 40, 8, 1.0))


def test_reflected_sum_of_features_that_are_not_contiguous() -> None:
    places, given = reflections(16, 10, 200), drawn_features(16, 10, 8, 1.0)
    apart = [torch.stack([each, each], -1)[..., 0] for each in given]
    assert not apart[0].is_contiguous()
    torch.testing.assert_close(reflected_sum(places, *apart), reflected_sum(places, *given))


def test_reflected_sum_without_edges() -> None:
    none = torch.zeros(0, dtype=torch.int64, device=DEVICE)
    places = Reflections(Pattern(none, none, (6, 6)), Pattern(none, none, (6, 3)), Pattern(none, none, (6, 3)), none)
    assert not bool(check_reflected_sum(places, drawn_features(6, 3, 8, 1.0)).any())


def test_edges_in_no_order_are_summed_all_the_same() -> None:
    places, given = reflections(16, 10, 200), drawn_features(16, 10, 8, 1.0)
    order = torch.randperm(200, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    edges, turned = places.edges, places.turned
    mixed = Reflections(
        Pattern(edges.row[order], edges.column[order], edges.shape),
        Pattern(turned.row[order], turned.column[order], turned.shape),
        places.reflected,
        places.message[order],
    )
    torch.testing.assert_close(reflected_sum(mixed, *given), reflected_sum(places, *given), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("steep", [1.0, 40.0])
def test_edge_softmax_and_its_gradient(steep: float, monkeypatch: pytest.MonkeyPatch) -> None:
    places = pattern(20, 30, 300, seed=3)
    logits, slope = steep * normal(300, seed=4), normal(300, seed=5)
    results = []
    for used in ({DEVICE.type}, set()):
        monkeypatch.setattr(devices, "FUSED_ON", used)
        leaf = logits.clone().requires_grad_()
        share = edge_softmax(places, leaf)
        share.backward(slope)
        results.append((share.detach(), leaf.grad))
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-4)
    assert float(results[0][0].sum()) == pytest.approx(len(torch.unique(places.row)), rel=1e-5)


@pytest.mark.parametrize(("pairs", "rows", "width"), [(3, 20, 10), (5, 5, 33), (4, 18, 64)])
def test_margin_loss_and_its_gradient(pairs: int, rows: int, width: int) -> None:
    draw = torch.Generator().manual_seed(rows)
    ends = torch.randint(12, (2, pairs), generator=draw).to(DEVICE)
    negatives = torch.randint(12, (2, rows), generator=draw).to(DEVICE)
    weight = torch.rand(pairs, generator=draw).to(DEVICE)
    found = margin_loss(normal(12, width), ends, negatives, weight, 3.0)
    expected = plain_margin_loss(normal(12, width), ends, negatives, weight, 3.0)
    assert float(expected[0]) > 0
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize(("rows", "columns", "spread"), [(5, 40, 1.0), (3, 2500, 0.2), (4, 2048, 3.0)])
def test_hardest_first_and_its_gradient(rows: int, columns: int, spread: float) -> None:
    losses = spread * (normal(rows, columns, seed=columns) - 1)
    own = torch.stack([torch.arange(rows), torch.arange(rows) + columns - rows], 1).to(DEVICE)
    found = hardest_first(losses.clone(), own, 30.0, 10.0)
    expected = plain_hardest_first(losses.clone(), own, 30.0, 10.0)
    torch.testing.assert_close(found[0], expected[0], atol=1e-3, rtol=1e-5)
    torch.testing.assert_close(found[1], expected[1], atol=1e-3, rtol=1e-3)
    assert float(expected[1].sum()) > 0
