"""The demo says in words what was linked, why some of it is doubtful, and how much of it is right."""

import re
from pathlib import Path

import pytest

import emea
from emea.cli._demo import _shared, story
from emea.settings import load

CITIES = {  # German name → English name, country
    "Köln": ("Cologne", "Deutschland"),
    "München": ("Munich", "Deutschland"),
    "Hamburg": ("Hamburg", "Deutschland"),
    "Wien": ("Vienna", "Österreich"),
    "Genf": ("Geneva", "Schweiz"),
    "Basel": ("Basel", "Schweiz"),
    "Zürich": ("Zurich", "Schweiz"),
}
COUNTRIES = {"Deutschland": "Germany", "Österreich": "Austria", "Schweiz": "Switzerland"}
SMALL = ["evidence.kind=all", "em.rounds=1", "encoders.propagation.dimension=64", "encoders.propagation.paths=64"]


def written(folder: Path, side: str) -> Path:
    """A graph of cities, countries and nameless zones of countries; CLDR's side has labels in two languages."""
    rows = ["@prefix v: <http://v.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]

    def add(name: str, english: str, kind: str, *more: str) -> None:
        labels = [f'"{english}"', *([f'"{name}"@de'] if side == "a" else [])]
        rows.append(f'<http://{side}.example/{english}> v:kind "{kind}" ; rdfs:label {", ".join(labels)} .')
        rows.extend(f"<http://{side}.example/{english}> {each} ." for each in more)

    for country, english in COUNTRIES.items():
        add(country, english, "state", f"v:zone <http://{side}.example/zone{english}>")
        rows.append(f'<http://{side}.example/zone{english}> v:kind "zone" .')
    for city, (english, country) in CITIES.items():
        add(city, english, "city", f"v:in <http://{side}.example/{COUNTRIES[country]}>")
    add("Bern", "Bern" if side == "a" else "Berne", "city", f"v:in <http://{side}.example/Switzerland>")
    (folder / f"{side}.ttl").write_text("\n".join(rows), encoding="utf-8")
    return folder / f"{side}.ttl"


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> tuple[emea.Result, emea.Measures]:
    """The two graphs, linked, and how well."""
    folder = tmp_path_factory.mktemp("demo")
    task = emea.read(written(folder, "a"), written(folder, "b"))
    names = [*COUNTRIES.values(), *(english for english, _ in CITIES.values()), "zoneAustria", "zoneGermany"]
    truth = [f"http://a.example/{name}\thttp://b.example/{name}" for name in names]
    (folder / "truth.tsv").write_text("\n".join(truth) + "\n")
    result = emea.align(task, load(assignments=SMALL, seed=0))
    measures = emea.evaluate(result, emea.read_reference(folder / "truth.tsv", task))
    assert len(result.alignment) > 8
    return result, measures


@pytest.fixture(scope="module")
def told(linked: tuple[emea.Result, emea.Measures]) -> list[str]:
    result, measures = linked
    return list(story(result.outcome, measures, Path("here")))


def test_names_are_german_if_there_is_a_german_one(told: list[str]) -> None:
    shown = [line for line in told if "↔" in line]
    assert any(re.search(r"Köln ↔ Cologne  \.\d\d", line) for line in shown)


def test_what_has_no_name_is_called_by_a_neighbour(told: list[str]) -> None:
    assert any("zone of Österreich ↔ zone of Austria" in line for line in told)


def test_doubtful_links_come_with_reasons(told: list[str]) -> None:
    doubtful = told[told.index("the three most doubtful:") + 1 :][:6]
    confidence = [float(line.rpartition(" ")[2]) for line in doubtful[::2]]
    assert confidence == sorted(confidence)
    for line in doubtful[1::2]:
        assert re.search(r"both have “|is only similar to|in common|no name in ", line)
        assert re.search(r"neighbours? ", line)
        assert re.search(r"no rival|nearest rival: .* \.\d\d", line)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("Vienna", "Vienna"), "both have “vienna”"),
        (("Bern", "Berne"), "“bern” is only similar to “berne”"),
        (("Vienna", "Basel"), "both have “city”"),
        (("Vienna", "Germany"), "no name or value in common"),
    ],
)
def test_names_are_compared_in_words(
    linked: tuple[emea.Result, emea.Measures], names: tuple[str, str], said: str
) -> None:
    task = linked[0].task
    graphs = (("a", task.source, names[0]), ("b", task.target, names[1]))
    pair = [graph.entities.to_pylist().index(f"http://{side}.example/{name}") for side, graph, name in graphs]
    assert _shared(linked[0].outcome, *pair) == said


def test_what_is_right_and_what_was_left_out_is_counted(told: list[str]) -> None:
    right, unlinked, files = told[-3:]
    count, of = map(int, re.findall(r"\d+", right))
    first, all_first, second, all_second, missed = map(int, re.findall(r"\d+", unlinked))
    assert (all_first, all_second) == (14, 14)
    assert first == second == 14 - of
    assert missed == 12 - count
    assert "here/alignment.tsv" in files
