"""Compiled loops find what the plain versions find, with any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
import torch
from torch import Tensor

import emea
from emea.candidates import bounded, table
from emea.candidates.marks import KEPT, Holders
from emea.data import Graph, Links
from emea.kernels import bunches, compiled, devices, margin, messages, segments, sinkhorn, sketches
from emea.kernels.compiled import arrays, losses, meeting
from emea.kernels.joins import Edges
from emea.kernels.messages import Pattern, plain_product
from emea.kernels.segments import segment_rank, segment_top
from emea.rules import _supports
from emea.rules._supports import Evidence, Sides
from emea.settings import load


def drawn(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def units(count: int, seed: int, axes: int = 32) -> Tensor:
    return torch.nn.functional.normalize(torch.randn(count, axes, generator=drawn(seed)), dim=1)


@pytest.fixture(params=[1, 3])
def small_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few pieces of work at a time, so that every loop is cut, in one thread and in several."""
    for name in ("ENTRIES", "QUERIES", "LISTS"):
        monkeypatch.setattr(arrays, name, 7)
    monkeypatch.setattr(meeting, "PAIRS", 7)
    monkeypatch.setattr(losses, "ROWS", 7)
    monkeypatch.setattr(margin, "MANY_AT_ONCE", -1)
    for module in (messages, segments, table, _supports):
        monkeypatch.setattr(module, "MANY_ROWS", 0)
    for module in (bunches, sketches):
        monkeypatch.setattr(module, "MANY_NUMBERS", 0)
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("reach", [0.0, 3.0, 30.0])
@pytest.mark.parametrize(("entities", "pairs", "features"), [(2, 1, 1), (40, 9, 5), (60, 25, 32)])
def test_margin_loss(entities: int, pairs: int, features: int, reach: float) -> None:
    output = torch.randn(entities, features, generator=drawn(1))
    ends = torch.randint(entities, (2, pairs), generator=drawn(2))
    negatives = torch.randint(entities, (2, entities), generator=drawn(3))
    given = output, ends, negatives, torch.rand(pairs, generator=drawn(4)), reach
    for found, expected in zip(margin.margin_loss(*given), margin.plain_margin_loss(*given), strict=True):
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    if reach == 30.0 and entities > 2:
        assert margin.margin_loss(*given)[1].abs().max() > 0


def test_the_slope_of_the_margin_loss_does_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    output, before = torch.randn(50, 33, generator=drawn(1)), torch.get_num_threads()
    ends, negatives = (torch.randint(50, (2, count), generator=drawn(count)) for count in (20, 50))
    monkeypatch.setattr(losses, "ROWS", 7)
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(losses.margin_loss(output, ends, negatives, torch.rand(20, generator=drawn(4)), 30.0)[1])
    torch.set_num_threads(before)
    assert all(torch.equal(each, found[0]) for each in found)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("entries", [0, 1, 7, 300])
def test_products_of_halves(entries: int) -> None:
    left, right = units(40, 1).bfloat16(), units(50, 2).bfloat16()
    row, column = (torch.randint(size, (entries,), generator=drawn(size)) for size in (40, 50))
    found = messages.products(Pattern(row, column, (40, 50)), left, right)
    assert found.dtype == torch.float32
    assert torch.allclose(found, plain_product(Pattern(row, column, (40, 50)), left.float(), right.float()), atol=1e-6)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("count", [1, 3, 10])
def test_the_best_of_each_segment(count: int) -> None:
    index = torch.randint(12, (200,), generator=drawn(3))
    score = torch.randint(20, (200,), generator=drawn(4)).double()  # many ties
    score[:3] = torch.tensor([-torch.inf, -0.0, 0.0])
    assert torch.equal(segment_top(index, 13, score, count), segment_rank(index, 13, score) < count)
    assert segment_top(index[:0], 13, score[:0], count).tolist() == []


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("scanned", [5, 9])
def test_the_nearest_among_holders_of_marks_and_scanned(scanned: int, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, keys, count = units(30, 5).bfloat16(), units(60, 6).bfloat16(), 5
    marks, held = (torch.randint(-1, 12, (size, KEPT), generator=drawn(size)).int() for size in (30, 60))
    marks[4] = -1
    holders = Holders.of(held, 12, torch.arange(60) != 9)
    own = holders.within(marks, 80)
    ids = torch.stack([torch.randperm(60, generator=drawn(row))[:scanned] for row in range(30)]).int()
    ids[4, 2:] = -1
    value = (queries[:, None].float() * keys[ids.long()].float()).sum(2).masked_fill(ids < 0, -torch.inf)
    near = value.half(), ids
    found = bounded._with_holders(queries, keys, near, holders, own, shared=80, count=count)
    monkeypatch.setattr(bounded, "compiled", lambda *_: None)
    plain = bounded._with_holders(queries, keys, near, holders, own, shared=80, count=count)
    product = queries.float() @ keys.float().T
    for query in range(30):
        looked_at = {
            *ids[query].tolist(),
            *(int(key) for key in range(60) if set(held[key].tolist()) & own_of(own, query) and key != 9),
        }
        best = sorted((float(product[query, key]) for key in looked_at - {-1}), reverse=True)[:count]
        kept = found[query][found[query] >= 0].long()
        assert len(set(kept.tolist())) == len(kept) == len(best)
        assert product[query, kept].tolist() == pytest.approx(best, abs=2e-3)  # a scan's are rounded to halves
        assert (found[query, len(best) :] == -1).all()
        assert set(plain[query].tolist()) <= looked_at | {-1}  # what shares several marks crowds out others
        assert product[query, plain[query, 0]] == pytest.approx(best[0], abs=2e-3)


def own_of(marks: Tensor, query: int) -> set[int]:
    return set(marks[query].tolist()) - {-1}


@pytest.mark.usefixtures("small_parts")
def test_the_order_of_a_pattern_and_transport_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    row, column = (torch.randint(size, (150,), generator=drawn(size)) for size in (20, 30))
    pattern, logits = Pattern(row, column, (20, 30)), torch.rand(150, generator=drawn(7), dtype=torch.float64)
    keys = (row * 30 + column)[pattern.order].tolist()
    assert all(one <= other for one, other in pairwise(keys))
    assert pattern.order[pattern.order.argsort()].tolist() == list(range(150))
    found = sinkhorn.plan(pattern, logits, 10, -1.0)
    monkeypatch.setattr(messages, "compiled", lambda *_: None)
    again = Pattern(row, column, (20, 30))
    assert torch.equal(again.order, pattern.order)  # of equal entries, the first comes first
    assert torch.allclose(sinkhorn.plan(again, logits, 10, -1.0), found, atol=1e-12)


@pytest.mark.usefixtures("small_parts")
def test_sums_over_bunches(monkeypatch: pytest.MonkeyPatch) -> None:
    head, tail = torch.randint(1, 40, (2, 300), generator=drawn(8))  # entity 0 has no edges
    triples = torch.stack([head, torch.randint(5, (300,), generator=drawn(9)), tail], 1)
    graph = Graph.build([f"{number:02}" for number in range(40)], "abcde", triples)
    edges = bunches.Bunches.build(Edges.build(graph, torch.device("cpu")))
    relations, entities = units(10, 1, 6), units(40, 2, 6)
    found = edges.weighted(relations, entities)
    monkeypatch.setattr(bunches, "compiled", lambda *_: None)
    assert found[0].tolist() == [0.0] * 6
    assert torch.allclose(found, edges.weighted(relations, entities), atol=1e-5)


@pytest.mark.usefixtures("small_parts")
def test_sketches_of_views(monkeypatch: pytest.MonkeyPatch) -> None:
    sketch = sketches.Sketch(2, 8, 50, 0.5, drawn(10))
    views = [torch.randn(30, 8, generator=drawn(seed)) for seed in range(3)]
    found = sketch(views, slice(10, 30))
    monkeypatch.setattr(sketches, "compiled", lambda *_: None)
    assert torch.allclose(found, sketch(views, slice(10, 30)), atol=1e-6)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_positions_of_pairs(kind: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    key = torch.randperm(200, generator=drawn(11))[:80].sort().values  # rows 0 to 9, columns 0 to 19
    pairs = Pattern(key // 20, key % 20, (10, 20))
    row, column = (torch.randint(-1, size, (15, 4), generator=drawn(size)).to(kind) for size in (10, 20))
    place = {
        (int(one), int(other)): number for number, (one, other) in enumerate(zip(key // 20, key % 20, strict=True))
    }
    wanted = zip(row.flatten().tolist(), column.flatten().tolist(), strict=True)
    expected = torch.tensor([place.get(pair, -1) for pair in wanted]).view(15, 4)
    assert torch.equal(table._positions(pairs, row, column), expected)
    monkeypatch.setattr(table, "compiled", lambda *_: None)
    assert torch.equal(table._positions(pairs, row, column), expected)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("pairs", [0, 1, 60])
def test_neighbours_that_meet(pairs: int, *, two_sided: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    sides, none = [], torch.empty(0)
    for size in (12, 14):
        draw = drawn(size)
        triples = torch.stack([torch.randint(most, (90,), generator=draw) for most in (size, 3, size)], 1)
        graph = Graph.build([f"{number:02}" for number in range(size)], "abc", triples)
        sides.append(Edges.build(graph, torch.device("cpu")))
    graphs = Sides(*sides, none, none, two_sided=two_sided)
    ends = [torch.randint(each.entities, (40 + pairs,), generator=drawn(5 + each.entities)) for each in sides]
    evidence = Evidence.build(sides[0], Links.build(ends[0][:40], ends[1][:40]))
    asked = ends[0][40:], ends[1][40:]
    found = _supports._met(*asked, graphs, evidence)
    monkeypatch.setattr(_supports, "compiled", lambda *_: None)
    expected = _supports._met(*asked, graphs, evidence)
    assert all(map(torch.equal, found, expected))
    assert len(found[0]) > 3 * pairs - 3


def test_other_devices_and_kinds_use_torch() -> None:
    assert devices.compiled(torch.zeros(1)) is compiled
    assert devices.compiled(torch.zeros(1), torch.bfloat16) is None
    assert devices.compiled(torch.zeros(1, device="meta")) is None


@pytest.mark.slow
def test_a_small_run_does_not_load_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a second; `tests/test_python.py` sees that importing the package does not."""

    def loaded() -> None:
        pytest.fail("numba would be loaded")

    monkeypatch.setattr(devices, "_compiled", loaded)
    task, _ = emea.read_example("world", seeds=50)
    emea.align(task, load(em={"rounds": 1}))
