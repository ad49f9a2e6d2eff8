"""Positions are read off several notations, and close entities are found on the sphere."""

from pathlib import Path

import numpy as np
import pytest

import emea
from emea.evidence.places import FARTHEST, NEAREST, RADIUS, close, read_positions
from emea.evidence.values import read_values
from emea.settings import EvidenceSettings


def positions(folder: Path, text: str) -> tuple[list[list[float]], set[str]]:
    """Of the rows of a table, and the columns that hold them."""
    (folder / "table.csv").write_text(text, encoding="utf-8")
    graph = emea.read_graph(folder / "table.csv")
    found, holding = read_positions(graph, read_values(graph, EvidenceSettings(kind="all")))
    order = np.argsort(graph.entities.to_pylist())
    return found[order].tolist(), {graph.attributes[each].as_py() for each in holding.tolist()}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("id,lat,lon\na,52.5,13.4\nb,-18,178.4\n", {"lat", "lon"}),
        ("id,Declination,right_ascension\na,52.5,13.4\nb,-18,178.4\n", {"Declination", "right_ascension"}),
        ("id,dec_deg,ra_deg\na,52.5,13.4\nb,-18,178.4\n", {"dec_deg", "ra_deg"}),
        ("id,latitud,longitud\na,52.5,13.4\nb,-18,178.4\n", {"latitud", "longitud"}),
        ("id,decimalLatitude,decimalLongitude\na,52.5,13.4\nb,-18,178.4\n", {"decimalLatitude", "decimalLongitude"}),
        ("id,Breitengrad,Längengrad\na,52.5,13.4\nb,-18,178.4\n", {"Breitengrad", "Längengrad"}),
        ('id,where\na,"52.5, 13.4"\nb,"-18.0, 178.4"\n', {"where"}),
        ("id,where\na,Point(13.4 52.5)\nb,POINT Z (178.4 -18.0 3)\n", {"where"}),
        ("id,where\na,<http://crs> POINT(13.4 52.5)\nb,SRID=4326;point( 178.4  -18 )\n", {"where"}),
    ],
)
def test_positions_are_read(text: str, columns: set[str], tmp_path: Path) -> None:
    assert positions(tmp_path, text) == ([[52.5, 13.4], [-18.0, 178.4]], columns)


@pytest.mark.parametrize(
    "text",
    [
        "id,lat,size\na,52.5,13.4\nb,-18,178.4\n",  # half a position
        "id,flat,belong\na,52.5,13.4\nb,-18,178.4\n",
        "id,Breite,Länge\na,52.5,13.4\nb,-18,178.4\n",  # perhaps of a table
        "id,dec,ra\na,december,right\nb,decimal,left\n",  # no numbers
        "id,lat,lon\na,520.5,13.4\nb,-180,178.4\n",  # no latitudes
        "id,where\na,POINT(13.4 95.5)\nb,POINT(178.4 -91)\n",
        "id,where\na,POINT(360.5 52.5)\nb,POINT(-361 18)\n",
        'id,size\na,"52,13"\nb,"18,178"\n',  # perhaps numbers with a comma
        'id,text\na,"point of view"\nb,"7.5, 9.1 or 4"\n',
    ],
)
def test_other_values_are_no_positions(text: str, tmp_path: Path) -> None:
    found, columns = positions(tmp_path, text)
    assert np.isnan(found).all()
    assert not columns


def kilometres(one: np.ndarray, other: np.ndarray) -> float:
    """By the law of cosines, one pair at a time."""
    (a, b), (c, d) = np.radians(one), np.radians(other)
    return float(RADIUS * np.arccos(np.clip(np.sin(a) * np.sin(c) + np.cos(a) * np.cos(c) * np.cos(b - d), -1, 1)))


def scattered(seed: int, count: int) -> np.ndarray:
    """Positions within a few hundred kilometres, some unknown."""
    draw = np.random.default_rng(seed)
    found = np.stack([50 + draw.normal(0, 1, count), 179.5 + draw.normal(0, 1, count)], 1)
    found[draw.random(count) < 0.1] = np.nan
    return found


@pytest.mark.parametrize("seed", range(3))
def test_close_entities_equal_the_double_loop(seed: int) -> None:
    one, other = scattered(seed, 40), scattered(seed + 10, 60)
    away = np.array([[kilometres(a, b) for b in other] for a in one])
    away = np.where(np.isnan(away), np.inf, away)
    expected = {(row, column) for row in range(40) for column in np.argsort(away[row])[:NEAREST].tolist()}
    expected |= {(row, column) for column in range(60) for row in np.argsort(away[:, column])[:NEAREST].tolist()}
    pairs, sole = close(one, other)
    assert {(a, b) for a, b in pairs.tolist()} == {pair for pair in expected if away[pair] < FARTHEST}
    for (row, column), alone in zip(pairs.tolist(), sole.tolist(), strict=True):
        rivals = np.sort(np.concatenate([np.delete(away[row], column), np.delete(away[:, column], row)]))
        assert alone == (away[row, column] < 1 and 4 * away[row, column] < rivals[0])


def test_within_a_graph_each_pair_is_named_once() -> None:
    here = scattered(0, 30)
    pairs, _ = close(here, here)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len({(a, b) for a, b in pairs.tolist()}) == len(pairs) > 30


def test_what_has_the_same_place_as_nobody_else_is_alone_there() -> None:
    one = np.array([[10.0, 10.0], [20.0, 20.0], [30.0, 30.0], [50.0, 50.0], [60.0, 60.0]])
    other = np.array([[10.001, 10.0], [20.0, 20.0], [20.0, 20.001], [40.0, 40.0]])
    near = np.array([[50.003, 50.0], [50.01, 50.0], [60.003, 60.0], [60.014, 60.0]])  # three and five times as far
    pairs, sole = close(one, np.concatenate([other, near]))
    assert pairs.tolist() == [[0, 0], [1, 1], [1, 2], [3, 4], [3, 5], [4, 6], [4, 7]]
    assert sole.tolist() == [True, True, False, False, False, True, False]


def test_nothing_is_close_to_nothing() -> None:
    assert close(np.full((3, 2), np.nan), scattered(0, 5))[0].shape == (0, 2)


def test_a_place_that_many_share_tells_nothing() -> None:
    """And costs nothing: it may stand for "unknown", with as many entities as there are."""
    here = np.concatenate([np.zeros((5000, 2)), [[10.0, 10.0]]])
    assert close(here, here.copy())[0].tolist() == [[5000, 5000]]
