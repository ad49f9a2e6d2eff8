"""What people call an entity: its label, and its types by name."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Graph
from emea.formats._selection import TYPE
from emea.order import unique_numbers

LABELS = (  # the best first
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
    "http://purl.org/dc/elements/1.1/title",
    "http://purl.org/dc/terms/title",
)
LAST_PARTS = ("label", "preflabel", "name", "title")  # of other attributes that hold labels, the best first
ELSEWHERE = (  # what names are called in other languages
    *("bezeichnung", "benennung", "titel", "naam", "navn", "namn", "nimi", "nom", "titre", "libelle", "libellé"),
    *("intitulé", "nombre", "titulo", "título", "denominacion", "denominación", "nome", "denominazione", "titolo"),
    *(
        "denominação",
        "nazwa",
        "tytuł",
        "název",
        "nume",
        "denumire",
        "название",
        "наименование",
        "имя",
        "名称",
        "名前",
        "이름",
    ),
)
# Those that end longer words: Kurzbezeichnung, bedrijfsnaam, 会社名.
COMPOUNDED = ("name", "bezeichnung", "benennung", "titel", "naam", "navn", "namn", "nimi", "名称", "名前", "名", "이름")
# What the parts of people's names are called, their letters only and in lower case, the best first.
FIRST_NAMES = (
    *("givenname", "firstname", "forename", "fname", "given", "vorname", "prénom", "prenom", "nombre", "nombres"),
    *("nome", "voornaam", "fornavn", "förnamn", "etunimi", "imię", "imie", "jméno", "jmeno", "имя", "名"),
)
LAST_NAMES = (
    *("familyname", "surname", "lastname", "lname", "family", "nachname", "familienname", "zuname", "nomdefamille"),
    *("nom", "apellido", "apellidos", "cognome", "sobrenome", "apelido", "achternaam", "familienaam", "etternavn"),
    *("efternavn", "efternamn", "sukunimi", "nazwisko", "příjmení", "prijmeni", "фамилия", "姓"),
)
TYPES = (TYPE, "rdf:type", "type")
LANGUAGES = ("en", "")  # "" is no language
SAMPLE = 20  # labels by which the script of a language is told
# An attribute that is not called a name seems to be one if so many entities have it, nearly each another value, which
# is short and has letters, but neither digits nor signs of addresses; if it is called like one, values may recur.
HELD, DISTINCT, OFTEN_DISTINCT, LETTERED = 0.5, 0.8, 0.5, 0.5
LONGEST = 80  # characters
JUDGED, FEWEST = 1000, 5  # values by which attributes are judged, and how many it takes
LAST = r"^.*[/#:]([^/#:]+)[/#:]*$"
BREAKS = r" *[\t\n\v\f\r\x{85}\x{2028}\x{2029}][ \t\n\v\f\r\x{85}\x{2028}\x{2029}]*"


def labels(graph: Graph, entities: np.ndarray | None = None, languages: Sequence[str] = LANGUAGES) -> pa.Array:
    """A label on one line for each of some entities, or for all; null if it has none.

    The best attribute counts first, then the language in this order, others with Latin letters and frequent ones first,
    then the shortest label. Of people whose names come in parts it is the first and the last name together.
    """
    found = [_joined([_best(graph, naming, entities, languages) for naming in parts]) for parts in _namings(graph)]
    return pc.coalesce(*found)


def labelled(graph: Graph, label: str) -> np.ndarray:
    """The entities that have this label in some language, upper and lower case alike."""
    namings, wanted = _namings(graph), label.strip().lower()
    naming = pa.array(namings[0][0][graph.literals["attribute"].to_numpy()] >= 0)
    same = pc.equal(pc.utf8_lower(pc.utf8_trim_whitespace(graph.literals["value"])), wanted)
    found = graph.literals["entity"].filter(pc.and_(naming, same)).to_numpy()
    if len(namings) > 1:
        joined = pc.index_in(pc.utf8_lower(labels(graph)), pa.array([wanted], pa.large_string()))
        found = np.append(found, np.flatnonzero(joined.is_valid().to_numpy(zero_copy_only=False)))
    return unique_numbers(found)


def types(graph: Graph, entities: np.ndarray | None = None) -> pa.Array:
    """The last parts of the names of the types of some entities, or of all, sorted and joined by |; null if it has
    none."""
    head, relation, tail = graph.triples.numpy().T
    of_type = pc.is_in(graph.relations, pa.array(TYPES, pa.large_string())).to_numpy(zero_copy_only=False)
    rows = of_type[relation]
    if entities is not None:
        wanted = np.zeros(len(graph.entities), dtype=bool)
        wanted[entities] = True
        rows &= wanted[head]
    classes, number = np.unique(tail[rows], return_inverse=True)
    parts = last_parts(graph.entities.take(pa.array(classes)))
    names = pc.unique(parts).take(pc.sort_indices(pc.unique(parts)))
    name = pc.index_in(parts, names).to_numpy()[number.ravel()]
    held = unique_numbers(head[rows] * max(len(names), 1) + name)
    typed, start = np.unique(held // max(len(names), 1), return_index=True)
    ends = pa.array(np.append(start, len(held)), pa.int32())
    lists = pa.ListArray.from_arrays(ends, names.take(pa.array(held % max(len(names), 1))))
    return _of_each(graph, entities, typed, pc.binary_join(lists, pa.scalar("|", pa.large_string())))


def last_parts(names: pa.Array) -> pa.Array:
    """What follows the last slash, hash or colon of each name.

    >>> last_parts(pa.array(["http://ex.org/City", "http://ex.org/ns#River/", "plain"])).to_pylist()
    ['City', 'River', 'plain']
    """
    return pc.replace_substring_regex(names, LAST, r"\1")


def last_part(name: str) -> str:
    """The same of one name, quicker than by an array.

    >>> last_part("http://ex.org/ns#River/")
    'River'
    """
    return re.sub(LAST, r"\1", name)


def one_line(texts: pa.Array) -> pa.Array:
    """The texts with a space for tabs and line breaks.

    >>> one_line(pa.array(["two\\n\\tlines "])).to_pylist()
    ['two lines']
    """
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(texts, BREAKS, " "))


def _best(graph: Graph, naming: np.ndarray, entities: np.ndarray | None, languages: Sequence[str]) -> pa.Array:
    """The label for each entity by attributes that name it so well, [attributes], −1 for others."""
    wanted = np.ones(len(graph.entities), dtype=bool)
    if entities is not None:
        wanted[:] = False
        wanted[entities] = True
    held = (naming[graph.literals["attribute"].to_numpy()] >= 0) & wanted[graph.literals["entity"].to_numpy()]
    table = graph.literals.drop_columns("datatype").filter(pa.array(held))
    table = table.filter(pc.match_substring_regex(table["value"], r"\S")).combine_chunks()
    entity, attribute = (table[name].to_numpy() for name in ("entity", "attribute"))
    value = _single(table["value"])
    language = _language_ranks(_single(table["language"]), value, languages)
    key = ((naming[attribute] * (1 + language.max(initial=0)) + language) << 32) + pc.utf8_length(value).to_numpy()
    best = np.full(len(graph.entities), np.iinfo(np.int64).max)
    np.minimum.at(best, entity, key)
    rows = np.flatnonzero(key == best[entity])
    by_text = pa.table({"entity": entity[rows], "value": value.take(pa.array(rows))})
    rows = rows[pc.sort_indices(by_text, [("entity", "ascending"), ("value", "ascending")]).to_numpy()]
    named, first = np.unique(entity[rows], return_index=True)
    return _of_each(graph, entities, named, one_line(value.take(pa.array(rows[first]))))


def _namings(graph: Graph) -> list[tuple[np.ndarray, ...]]:
    """How well each attribute names entities, [attributes], 0 the best; −1 if it does not. First those of the whole
    name; then, where names come in parts, those of the first and of the last name, and titles, which may be those of
    people (Dr). If none is called a name, one that ends like it (companyName, company_name), in any language, or any
    other does whose values look most like names; last, for entities without any of these, all whose values do."""
    last = pc.utf8_lower(last_parts(graph.attributes))
    known, words = pa.array(LABELS, pa.large_string()), pa.array(LAST_PARTS, pa.large_string())
    ranks = pc.coalesce(pc.index_in(graph.attributes, known), pc.add(pc.index_in(last, words), len(known)))
    whole: np.ndarray = ranks.fill_null(-1).to_numpy().astype(np.int64)
    letters = pc.replace_substring_regex(last, r"\P{L}+", "")
    first, family = (
        pc.index_in(letters, pa.array(called, pa.large_string())).fill_null(-1).to_numpy().astype(np.int64)
        for called in (FIRST_NAMES, LAST_NAMES)
    )
    if (first >= 0).any() and (family >= 0).any():
        titles = whole >= len(LABELS) + LAST_PARTS.index("title")
        return [(np.where(titles, -1, whole),), (first, family), (np.where(titles, whole, -1),)]
    if (whole < 0).all() and len(whole):
        whole[_like_names(graph.literals, _called_names(graph), HELD)[:1]] = 0
    named = np.zeros(len(graph.entities), dtype=bool)
    named[graph.literals["entity"].to_numpy()[whole[graph.literals["attribute"].to_numpy()] >= 0]] = True
    if not named.any():
        return [(whole,)]
    others, unnamed = np.full_like(whole, -1), ~named[graph.literals["entity"].to_numpy()]
    like = _like_names(graph.literals.filter(pa.array(unnamed)), np.zeros_like(named, shape=len(whole)), 0.0)
    others[like] = np.arange(len(like))
    return [(whole,), (others,)]


def _called_names(graph: Graph) -> np.ndarray:
    """Which attributes end with a word for names, [attributes] bool."""
    words = pc.replace_substring_regex(last_parts(graph.attributes), r"(\p{Ll})(\p{Lu})", r"\1 \2")
    word = pc.utf8_lower(pc.replace_substring_regex(words, r"^.*\P{L}", ""))
    called = pc.or_(
        pc.is_in(word, pa.array([*LAST_PARTS, *ELSEWHERE], pa.large_string())),
        pc.match_substring_regex(word, f"({'|'.join(COMPOUNDED)})$"),
    )
    found: np.ndarray = called.to_numpy(zero_copy_only=False)
    return found


def _like_names(literals: pa.Table, called: np.ndarray, share: float) -> list[int]:
    """The attributes, held by some share of the entities, whose values look like names, the best first: those called
    so, [attributes] bool, then those with the most distinct values (a table of airports also has their cities)."""
    attribute, entity = (literals[name].to_numpy() for name in ("attribute", "entity"))
    size = 1 + int(entity.max(initial=0))
    holders = np.bincount(unique_numbers(attribute * size + entity) // size, minlength=len(called))
    order = np.argsort(attribute, kind="stable")
    start = np.searchsorted(attribute[order], np.arange(len(called) + 1))
    found: list[tuple[bool, float, float, int]] = []
    for number in np.flatnonzero(holders >= max(FEWEST, share * len(unique_numbers(entity)))):
        value = literals["value"].take(pa.array(order[start[number] : start[number + 1]][:JUDGED]))
        short = pc.mean(pc.less_equal(pc.utf8_length(value), LONGEST)).as_py()
        lettered = pc.mean(pc.match_substring_regex(value, r"^[^\d/@]*\p{L}{2}[^\d/@]*$")).as_py()
        distinct = len(pc.unique(value)) / len(value)
        if min(short, lettered) > LETTERED and distinct >= (OFTEN_DISTINCT if called[number] else DISTINCT):
            found.append((bool(called[number]), distinct, lettered, int(number)))
    return [number for *_, number in sorted(found, reverse=True)]


def _language_ranks(column: pa.Array, value: pa.Array, preferred: Sequence[str]) -> np.ndarray:
    """How welcome the language of each row is, [rows], 0 the most."""
    encoded = pc.dictionary_encode(column)
    names, code = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
    count, order = np.bincount(code, minlength=len(names)), np.argsort(code, kind="stable")
    first = np.cumsum(count) - count

    def place(number: int) -> tuple[int, bool, bool, int, str]:
        name = names[number].lower()
        family = name.partition("-")[0]  # en-gb is English, too
        if family in preferred:
            return preferred.index(family), name != family, False, 0, name
        sample = value.take(pa.array(order[first[number] :][: min(SAMPLE, count[number])]))
        latin = sum(pc.match_substring_regex(sample, r"\p{Latin}").to_pylist())
        return len(preferred), False, 2 * latin < len(sample), -int(count[number]), name

    rank = np.empty(len(names), dtype=np.int64)
    rank[sorted(range(len(names)), key=place)] = np.arange(len(names))
    ranks: np.ndarray = rank[code]
    return ranks


def _joined(parts: list[pa.Array]) -> pa.Array:
    """The texts of each row with spaces between them; the first there is where one is missing, null if all are."""
    return pc.coalesce(pc.binary_join_element_wise(*parts, pa.scalar(" ", pa.large_string())), *parts)


def _single(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _of_each(graph: Graph, entities: np.ndarray | None, told: np.ndarray, texts: pa.Array) -> pa.Array:
    """The texts told of some entities, for each of those asked for, or for all; null for others."""
    place = np.full(len(graph.entities), -1, dtype=np.int64)
    place[told] = np.arange(len(told))
    place = place if entities is None else place[entities]
    return texts.cast(pa.large_string()).take(pa.array(place, mask=place < 0))
