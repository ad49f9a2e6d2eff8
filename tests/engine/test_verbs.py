"""Every engine does the same with the same blocks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest
import ray
import torch
from torch import Tensor

import emea
from emea.candidates.kept import KeptEmbeddings
from emea.data import Embeddings, Links
from emea.encoders.propagation import sparse
from emea.engine import LOCAL, Engine, Local, opened, ranges, require
from emea.engine.ray import Cluster, _bytes, _moved
from emea.errors import EngineError, SettingsError
from emea.examples import read_example
from emea.settings import load

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=2**28)
    with opened("ray") as engine:
        assert isinstance(engine, Cluster)
        yield engine
    assert ray.is_initialized(), "who was connected stays so"
    ray.shutdown()


ON_A_CLUSTER = [pytest.mark.slow, pytest.mark.xdist_group("ray")]  # two on two cores wait for each other


def on_a_cluster(test: Callable[..., None]) -> Callable[..., None]:
    for mark in ON_A_CLUSTER:
        test = mark(test)
    return test


@pytest.fixture(params=["local", pytest.param("ray", marks=ON_A_CLUSTER)])
def engine(request: pytest.FixtureRequest) -> Engine:
    return LOCAL if request.param == "local" else request.getfixturevalue("cluster")


def scaled(rows: slice, table: Tensor, by: float) -> Tensor:
    return table[rows] * by


def summed(pieces: Iterator[Tensor], more: float) -> float:
    return float(sum(piece.sum() for piece in pieces)) + more


def by_remainder(numbers: range, parts: int) -> Sequence[list[int]]:
    return [[number for number in numbers if number % parts == part] for part in range(parts)]


def joined(part: int, pieces: Iterator[list[int]]) -> tuple[int, list[int]]:
    return part, [number for piece in pieces for number in piece]


def failing(number: int) -> int:
    raise ValueError(f"cannot do {number}")


def test_work_sees_blocks_and_what_is_shared_in_order(engine: Engine) -> None:
    table = torch.arange(10.0)[:, None]
    made = engine.map(scaled, ((rows,) for rows in ranges(10, 4)), engine.share(table), engine.share(2.0))
    assert torch.cat([*made])[:, 0].tolist() == [2.0 * number for number in range(10)]
    assert [*made] == [], "what was made is used once"


def test_what_was_made_can_be_worked_on_where_it_is(engine: Engine) -> None:
    table = engine.share(torch.ones(10, 3))
    made = engine.map(scaled, ((rows,) for rows in ranges(10, 4)), table, engine.share(2.0))
    (total,) = engine.map(summed, [(made, 1.0)]).kept()
    assert (total.fetch(), total.fetch()) == (61.0, 61.0)
    assert [*engine.map(partial(max, 1), [(total,)])] == [61.0]


def test_parts_get_their_pieces_of_all_blocks_in_order(engine: Engine) -> None:
    parts = engine.exchange(by_remainder, [(range(5),), (range(5, 9),)], 3, engine.share(3))
    found = [*engine.map(joined, enumerate(parts))]
    assert found == [(0, [0, 3, 6]), (1, [1, 4, 7]), (2, [2, 5, 8])]


def test_nothing_comes_of_nothing(engine: Engine) -> None:
    assert [*engine.map(scaled, [])] == []
    assert [[*part] for part in engine.exchange(by_remainder, [], 2, engine.share(2))] == [[], []]


def test_a_mistake_in_the_work_comes_out_as_it_is(engine: Engine) -> None:
    kind = "local" if isinstance(engine, Local) else "ray"
    with pytest.raises(ValueError, match="cannot do 3"), opened(kind) as other:
        list(other.map(failing, [(3,)]))


def echoed(value: Any) -> Any:
    return value


@on_a_cluster
@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6).view(2, 3).T,
        torch.randn(5, 4).bfloat16(),
        torch.tensor(3.5, dtype=torch.float64),
        torch.zeros(0, 7, dtype=torch.int32),
        torch.tensor([True, False]),
    ],
    ids=["transposed", "halves", "scalar", "empty", "bool"],
)
def test_tensors_travel_with_every_bit(cluster: Cluster, tensor: Tensor) -> None:
    (there,) = cluster.map(echoed, [(tensor,)])
    assert there.dtype == tensor.dtype
    assert torch.equal(there, tensor)


@on_a_cluster
def test_sparse_matrices_and_values_of_this_package_travel(cluster: Cluster) -> None:
    matrix = sparse(torch.tensor([0, 2]), torch.tensor([1, 0]), torch.tensor([0.5, 2.0]), (3, 2))
    links = Links.build(torch.tensor([1]), torch.tensor([2]))
    (there,) = cluster.map(echoed, [({"matrix": matrix, "links": links},)])
    assert torch.equal(there["matrix"].to_dense(), matrix.to_dense())
    assert [column.tolist() for column in there["links"].columns] == [[1], [2], [1.0]]


@dataclass(frozen=True)
class Holding:
    tensor: Tensor


Holding.__module__ = "emea.made_up"  # as values of the package are


def test_values_move_to_a_device_with_all_they_hold() -> None:
    value = {"one": [torch.zeros(2), Holding(torch.ones(3))], "other": (4, "text")}
    moved = _moved(value, torch.device("meta"))
    assert moved["one"][0].device.type == moved["one"][1].tensor.device.type == "meta"
    assert moved["other"] == (4, "text")
    assert value["one"][1].tensor.device.type == "cpu"  # type: ignore[union-attr]
    assert _bytes(value) == 4 * 2 + 4 * 3


@on_a_cluster
def test_a_run_on_a_cluster_finds_the_same_with_the_same_confidence(cluster: Cluster) -> None:
    task = read_example("world")[0]
    here = load(evidence={"kind": "all"}, em={"rounds": 2})
    there = here.model_copy(update={"engine": here.engine.model_copy(update={"kind": "ray"})})
    found, again = (emea.align(task, each).outcome for each in (here, there))
    for one, other in ((found.alignment, again.alignment), (found.counterparts, again.counterparts)):
        assert_same(one, other)
    assert type(again.last.embeddings) is Embeddings  # type: ignore[union-attr]
    assert sum(each["tasks"] for each in cluster.record()["work"].values()) > 0


@on_a_cluster
def test_encoders_that_know_nothing_of_engines_work_on_one(cluster: Cluster) -> None:
    assert cluster.record()["kind"] == "ray"
    task = replace(read_example("world")[0])
    trained = {"em": {"encoder": "gcn_align", "rounds": 0}, "encoders": {"gcn_align": {"epochs": 2}}}
    one, other = (emea.align(task, load(**trained, engine={"kind": kind})).outcome for kind in ("local", "ray"))
    assert_same(one.counterparts, other.counterparts)


def assert_same(one: Any, other: Any) -> None:
    for name, value in vars(one).items():
        if isinstance(value, Tensor):
            assert torch.equal(value, getattr(other, name)), name
        elif hasattr(value, "__dict__"):
            assert_same(value, getattr(other, name))


def test_kept_embeddings_are_seen_like_others() -> None:
    kept = KeptEmbeddings.of(Embeddings(torch.eye(3), torch.eye(3)[:2]))
    assert KeptEmbeddings.of(kept) is kept
    assert kept.shape == (3, 2, 3)
    assert kept.swap().source.shape == (2, 3)
    assert kept.cosines(torch.tensor([0, 1, 2]), torch.tensor([0, 0, 1])).tolist() == [1.0, 0.0, 0.0]
    assert kept.cosines(torch.tensor([], dtype=torch.int64), torch.tensor([], dtype=torch.int64)).tolist() == []


def test_an_engine_that_there_is_not() -> None:
    with pytest.raises(SettingsError, match="found the engine 'spark', expected local, ray, or an address"):
        require("spark")


def test_without_the_extra_ray_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tests/test_python.py` sees that the package does not import it."""
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr("emea.engine.find_spec", lambda name: None if name == "ray" else find_spec(name))
    with pytest.raises(EngineError, match=r"^the engine ray is not installed: pip install 'emea\[ray\]'$"):
        require("ray")


def test_a_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: Any) -> None:
        raise ConnectionError("Failed to connect to Ray cluster at nowhere")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refused)
    with (
        pytest.raises(EngineError, match="there is no Ray cluster at ray://nowhere:1: Failed"),
        opened("ray://nowhere:1"),
    ):
        pass
