"""Which attributes hold what people call an entity."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
# Beside a word for names these say that it is another name of the same thing, or a part of it (original title).
SECOND = (
    *("first", "last", "middle", "given", "family", "maiden", "fore", "sur", "vor", "nach", "sub", "unter", "neben"),
    *("short", "kurz", "old", "alt"),
    *("other", "former", "previous", "original", "alternative", "alternate", "weitere", "sonstige", "autre", "otro"),
)
# And these that it is the name of something else (file name, Markenname), or no name at all (title id).
OF_OTHERS = (
    *("file", "user", "login", "account", "host", "domain", "screen", "nick", "path", "folder", "table", "column"),
    *("brand", "maker", "manufacturer", "publisher", "supplier", "vendor", "author", "owner", "contact", "job"),
    *("street", "city", "town", "country", "region", "state", "series", "category", "type", "group", "department"),
    *("id", "key", "code", "number", "no", "nr", "count", "length", "date", "language", "url", "uri", "iri", "link"),
    *("datei", "benutzer", "marke", "hersteller", "lieferant", "verlag", "autor", "straße", "strasse", "stadt", "ort"),
    *("land", "reihe", "serie", "nummer", "anzahl", "länge", "datum", "sprache", "fichier", "utilisateur", "marque"),
    *("rue", "ville", "pays", "auteur", "langue", "archivo", "usuario", "marca", "calle", "ciudad", "país", "idioma"),
)
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
KINDS = 100  # of entities without a name, the most frequent ones, for which an attribute is chosen
# An attribute that is not called a name seems to be one if so many entities have it, nearly each another value, which
# is short and has letters, but neither digits nor signs of addresses; if it is called like one, values may recur and
# have any signs beside letters (Portwood 21 Year Old).
HELD, DISTINCT, OFTEN_DISTINCT, LETTERED = 0.5, 0.8, 0.5, 0.5
LONGEST = 80  # characters
JUDGED, FEWEST = 1000, 5  # values by which attributes are judged, and how many it takes
TITLES = ("title", "titel", "titre", "titulo", "título", "titolo", "tytuł")  # those of works, and of people
TYPES = (TYPE, "rdf:type", "type")
WORD, CHANGE = re.compile(r"[^\W\d_]+"), re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])")  # companyName has two words
ENDING = f"(?:{'|'.join(COMPOUNDED)})"
CALLED = re.compile(f"{'|'.join((*LAST_PARTS, *ELSEWHERE))}|.*{ENDING}")
CALLED_SECOND, CALLED_OTHERS = (
    re.compile(f"(?:{'|'.join(each)})(?:(?:n?s?){ENDING})?") for each in (SECOND, OF_OTHERS)
)


@dataclass(frozen=True, eq=False)
class Naming:
    """How well each attribute names the entities of a kind: 0 the best, −1 not at all."""

    rank: np.ndarray  # [kinds, attributes]
    kind: np.ndarray  # [entities]

    def ranks(self, literals: pa.Table) -> np.ndarray:
        """That of each literal, [literals]."""
        entity, attribute = (literals[name].to_numpy() for name in ("entity", "attribute"))
        found: np.ndarray = self.rank[self.kind[entity], attribute]
        return found


def namings(graph: Graph, last: pa.Array) -> list[tuple[Naming, ...]]:
    """By which attributes entities are named, the best first, given the last parts of the names of attributes. First
    those of the whole name; then, where names come in parts, those of the first and of the last name, and titles, which
    may be those of people (Dr). For kinds of entities most of which have none of these, one that has a word for names
    (companyName, Titel des Buches), in any language, or any other whose values look most like names; last, for entities
    without any of these, all whose values do."""
    word = pc.utf8_lower(last)
    whole = _words(graph, word)
    letters = pc.replace_substring_regex(word, r"\P{L}+", "")
    first, family = (_places(letters, called) for called in (FIRST_NAMES, LAST_NAMES))
    in_parts = bool((first >= 0).any() and (family >= 0).any())
    parts: list[tuple[np.ndarray, ...]] = [(whole,)]
    if in_parts:
        titles = (_places(word, TITLES) >= 0) & (whole >= len(LABELS))
        whole[(first >= 0) | (family >= 0)] = -1
        parts = [(np.where(titles, -1, whole),), (first, family), (np.where(titles, whole, -1),)]
    everyone = np.zeros(len(graph.entities), dtype=np.int64)
    found = [tuple(Naming(rank[None], everyone) for rank in each) for each in parts]
    named = np.zeros(len(graph.entities), dtype=bool)
    for rank in (rank for each in parts for rank in each):
        _mark(named, graph, Naming(rank[None], everyone))
    if named[graph.literals["entity"].to_numpy()].all():
        return found
    by_kind = _by_kind(graph, named, _called_names(last.to_pylist()))
    _mark(named, graph, by_kind)
    found.append((by_kind,))
    if in_parts or not named.any():
        return found
    others = np.full_like(whole, -1)
    left = graph.literals.filter(pa.array(~named[graph.literals["entity"].to_numpy()]))
    like = _like_names(left, np.zeros(len(others), dtype=np.int64), 0.0, graph)
    others[like] = np.arange(len(like))
    return [*found, (Naming(others[None], everyone),)]


def _mark(named: np.ndarray, graph: Graph, naming: Naming) -> None:
    named[graph.literals["entity"].to_numpy()[naming.ranks(graph.literals) >= 0]] = True


def _places(words: pa.Array, known: tuple[str, ...]) -> np.ndarray:
    """The place of each word among those known, −1 for others."""
    found = pc.index_in(words, pa.array(known, pa.large_string())).fill_null(-1)
    places: np.ndarray = found.to_numpy().astype(np.int64)
    return places


def _words(graph: Graph, word: pa.Array) -> np.ndarray:
    """How well each attribute names entities by what it is called, [attributes]. Words of other languages only count
    if the values have letters and seldom recur: the French nombre is a number."""
    rank = _places(graph.attributes, LABELS)
    for known in (LAST_PARTS, ELSEWHERE):
        place = _places(word, known)
        for number in np.flatnonzero((rank < 0) & (place >= 0)):
            if known is LAST_PARTS or _lettered(graph.literals, int(number)):
                rank[number] = place[number] + len(LABELS) + (0 if known is LAST_PARTS else len(LAST_PARTS))
    return rank


def _lettered(literals: pa.Table, attribute: int) -> bool:
    values = literals["value"].filter(pc.equal(literals["attribute"], attribute)).slice(0, JUDGED)
    lettered = pc.mean(pc.match_substring_regex(values, r"\p{L}{2}")).as_py() or 0.0
    return lettered > LETTERED and len(pc.unique(values)) >= OFTEN_DISTINCT * len(values)


def _by_kind(graph: Graph, named: np.ndarray, called: np.ndarray) -> Naming:
    """The attribute that looks most like the name of each kind of entities, if most of the kind have no other."""
    kind, count = _kinds(graph), len(graph.attributes)
    valued = np.zeros(len(graph.entities), dtype=bool)
    valued[graph.literals["entity"].to_numpy()] = True
    kinds = int(kind.max(initial=0)) + 1
    every, left = (np.bincount(kind[some], minlength=kinds) for some in (valued, valued & ~named))
    rank = np.full((kinds, count), -1, dtype=np.int64)
    chosen = (left > 0) & (left >= HELD * every)
    literals = graph.literals.select(["entity", "attribute", "value"])
    entity = literals["entity"].to_numpy()
    literals = literals.filter(pa.array(~named[entity] & chosen[kind[entity]]))
    of = kind[literals["entity"].to_numpy()]
    order, start = np.argsort(of, kind="stable"), np.searchsorted(np.sort(of), np.arange(kinds + 1))
    for number in np.flatnonzero(chosen):
        own = literals.take(pa.array(order[start[number] : start[number + 1]])) if kinds > 1 else literals
        rank[number, _like_names(own, called, HELD, graph)[:1]] = 0
    return Naming(rank, kind)


def _kinds(graph: Graph) -> np.ndarray:
    """The rarest of the frequent types of each entity, by number from 1; 0 if it has none, [entities]."""
    head, relation, tail = graph.triples.numpy().T
    typing = (_places(graph.relations, TYPES) >= 0)[relation]
    types, count = np.unique(tail[typing], return_counts=True)
    order = np.argsort(-count, kind="stable")[:KINDS]
    frequent = types[order[count[order] >= FEWEST]]
    place = np.zeros(len(graph.entities), dtype=np.int64)
    place[frequent] = np.arange(1, len(frequent) + 1)
    kind = np.zeros_like(place)
    np.maximum.at(kind, head[typing], place[tail[typing]])
    return kind


def _called_names(last: list[str]) -> np.ndarray:
    """How plainly each attribute is called a name, [attributes]: 3 by its last word, 2 by its first, 1 by another or
    as what is not the usual name, 0 if it is not.

    >>> _called_names(["productName", "Titel des Buches", "Title (en)", "Original title", "file name", "Dateiname"])
    array([3, 2, 2, 1, 0, 0])
    """
    return np.array([_called(WORD.findall(CHANGE.sub(" ", each).lower())) for each in last], dtype=np.int64)


def _called(words: list[str]) -> int:
    naming = [CALLED.fullmatch(word) is not None for word in words]
    if not any(naming) or any(map(CALLED_OTHERS.fullmatch, words)):
        return 0
    if any(map(CALLED_SECOND.fullmatch, words)):
        return 1
    return 3 if naming[-1] else 2 if naming[0] else 1


def _like_names(literals: pa.Table, called: np.ndarray, share: float, graph: Graph) -> list[int]:
    """The attributes, held by some share of the entities, whose values look like names, the best first: those called
    so most plainly, [attributes], then those with the most distinct values (a table of airports also has their cities),
    and of columns that are called names and are about as distinct the first."""
    attribute, entity = (literals[name].to_numpy() for name in ("attribute", "entity"))
    size = 1 + int(entity.max(initial=0))
    holders = np.bincount(unique_numbers(attribute * size + entity) // size, minlength=len(called))
    order = np.argsort(attribute, kind="stable")
    start = np.searchsorted(attribute[order], np.arange(len(called) + 1))
    place = _places(graph.attributes, graph.columns)
    found: list[tuple[int, float, float, int, int]] = []
    for number in np.flatnonzero(holders >= max(FEWEST, share * len(unique_numbers(entity)))):
        value = literals["value"].take(pa.array(order[start[number] : start[number + 1]][:JUDGED]))
        named = int(called[number])
        short = pc.mean(pc.less_equal(pc.utf8_length(value), LONGEST)).as_py()
        letters = r"\p{L}{2}" if named else r"^[^\d/@]*\p{L}{2}[^\d/@]*$"
        lettered = pc.mean(pc.match_substring_regex(value, letters)).as_py()
        distinct = len(pc.unique(value)) / len(value)
        if min(short, lettered) > LETTERED and distinct >= (OFTEN_DISTINCT if named else DISTINCT):
            looks = (round(distinct, 1), 0.0) if named else (distinct, lettered)
            found.append((named, *looks, -int(place[number]), int(number)))
    return [number for *_, number in sorted(found, reverse=True)]
