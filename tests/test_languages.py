"""Values in languages that the other graph does not have count for nothing."""

import pytest

from emea.data import Graph, Links, Task
from emea.evidence.languages import understood
from emea.evidence.prepared import prepare
from emea.formats._columns import LANGUAGE_STRING, STRING, GraphColumns
from emea.settings import EvidenceSettings

WORDS = [f"{first}{second}a" for first in ("ber", "lin", "mos", "kau", "tel") for second in ("do", "ri", "ne", "vu")]


def graph(*rows: tuple[str, str, str, str]) -> Graph:
    """A graph of rows entity, attribute, value, language."""
    columns = GraphColumns()
    for entity, attribute, value, language in rows:
        columns.describe(entity, attribute, value, LANGUAGE_STRING if language else STRING, language)
    return columns.build()


def labelled(*languages: str, plain: bool = False) -> Graph:
    """Entities e0, e1 … with a label in each language: the English one is a word, the others begin with their own."""
    return graph(
        *(
            (f"e{number}", "label", word if language == "en" else f"{language} {word}", "" if plain else language)
            for number, word in enumerate(WORDS)
            for language in languages
        )
    )


def said(graph: Graph) -> list[str]:
    return sorted({*graph.literals["language"].to_pylist()})


def test_languages_that_the_other_graph_lacks_are_left_out() -> None:
    many, english = labelled("en", "el", "ga"), labelled("en", plain=True)
    found, other = understood(many, english)
    assert said(found) == ["en"]
    assert other is english
    assert understood(english, many)[1].literals.equals(found.literals)
    prepared = prepare(Task(many, english, Links.empty()), EvidenceSettings(kind="all"))
    assert prepared.values is not None
    assert len(prepared.values[0].forms) == len(WORDS)
    assert said(prepared.given.source) == ["el", "en", "ga"]  # what is shown to people stays


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (labelled("en", "el"), labelled("en", "el")),  # both have them
        (labelled("en", "el-GR"), labelled("en", "el-CY")),  # or a variety
        (labelled("en", "el"), labelled("ga")),  # nothing tells which one the other graph has
        (labelled("el"), labelled("en")),  # a graph with a single language
        (labelled("en"), labelled("en", plain=True)),
    ],
)
def test_otherwise_all_languages_count(first: Graph, second: Graph) -> None:
    assert understood(first, second) == (first, second)


def test_an_entity_without_a_name_in_another_language_keeps_its_own() -> None:
    rows = [(f"e{number}", "label", word, "en") for number, word in enumerate(WORDS)]
    more = [("e0", "label", "ellada", "el"), ("e0", "alias", "hellas", "el"), ("only", "label", "monos", "el")]
    found, _ = understood(graph(*rows, *more), labelled("en", plain=True))
    names = found.entities.to_pylist()
    kept = zip(found.literals["entity"].to_pylist(), found.literals["value"].to_pylist(), strict=True)
    assert {(names[entity], value) for entity, value in kept} == {
        *((entity, value) for entity, _, value, _ in rows),
        ("e0", "hellas"),
        ("only", "monos"),
    }


def test_a_language_with_words_in_common_counts() -> None:
    german = [(f"e{number}", "label", word, "de") for number, word in enumerate(WORDS[:4])]
    english = [(f"e{number}", "label", word, "en") for number, word in enumerate(WORDS)]
    found, _ = understood(graph(*english, *german), labelled("en", plain=True))
    assert said(found) == ["de", "en"]
