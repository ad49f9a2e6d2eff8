"""PostgreSQL: the tables of a schema against a real server, and passwords that never show."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from generated import IRI, as_csv, as_ntriples, assert_same, places
from postgresql_server import PASSWORD, Server, running
from small_graphs import literal_names, triple_names

from emea.errors import EmeaError, InputError, SettingsError
from emea.formats import postgresql, read_graph, without_password
from emea.formats._addresses import Address
from emea.runs.inputs import Inputs

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
XSD = "http://www.w3.org/2001/XMLSchema#"
GEOGRAPHY = """
CREATE SCHEMA world;
SET search_path = world;
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE DOMAIN many AS int CHECK (value > 0);
CREATE TABLE country (code char(4) PRIMARY KEY, number int UNIQUE, title text);
CREATE TABLE city (key serial PRIMARY KEY, label varchar(20), land char(4) REFERENCES country, numbered int
  REFERENCES country(number), twin int REFERENCES city, tags text[], sizes numeric[], founded date, seen timestamptz,
  price numeric(8, 2), about jsonb, feels mood, photo bytea, people many, ever date);
CREATE TABLE visit (city int REFERENCES city, day date, PRIMARY KEY (city, day)) PARTITION BY RANGE (day);
CREATE TABLE visit_early PARTITION OF visit FOR VALUES FROM ('2000-01-01') TO ('2010-01-01');
CREATE TABLE empty (id int PRIMARY KEY);
CREATE TABLE "Closed ""one"" here" (id int PRIMARY KEY);
CREATE VIEW large AS SELECT * FROM city;
INSERT INTO country VALUES ('CH', 756, 'Switzerland'), ('FR', 250, 'France');
INSERT INTO city VALUES (1, 'Bern', 'CH', 756, NULL, '{a,b}', '{1.5}', '1191-01-01', '2024-01-01 01:00+01', 1.50,
  '{"x": 1}', 'good', '\\xff', 3, 'infinity');
INSERT INTO city (key, label, land, numbered, twin) VALUES (2, 'Paris', 'FR', 250, 1);
INSERT INTO visit VALUES (2, '2005-05-05'), (1, '2005-05-06');
INSERT INTO "Closed ""one"" here" VALUES (7), (8);
CREATE ROLE reader LOGIN PASSWORD 'reads';
GRANT USAGE ON SCHEMA world TO reader;
GRANT SELECT ON country, city, visit TO reader
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        started.execute(*GEOGRAPHY.split(";\n"))
        yield started


def test_ten_thousand_rows_are_the_same_graph_as_elsewhere(server: Server, tmp_path: Path) -> None:
    columns = places()
    server.ingest("places", pa.table(columns))
    graph = read_graph(server.address(PASSWORD))
    assert_same(graph, as_ntriples(tmp_path, columns, dates=True))
    assert_same(graph, as_csv(tmp_path, columns), datatypes=False)
    assert graph.relations.to_pylist() == [f"{IRI}within"]


@pytest.mark.parametrize("user", ["tester", "reader"])
def test_keys_references_and_types(server: Server, user: str) -> None:
    address = server.address(PASSWORD, "?schema=world")
    graph = read_graph(address if user == "tester" else address.replace(f"tester:{PASSWORD}", "reader:reads"))
    assert {row for row in triple_names(graph) if row[1] != TYPE} == {
        ("city/1", "land", "country/CH"),
        ("city/2", "land", "country/FR"),
        ("city/1", "numbered", "country/CH"),
        ("city/2", "numbered", "country/FR"),
        ("city/2", "twin", "city/1"),
        ("visit/1", "city", "city/1"),  # no key of one column, but no cell of the first column repeats
        ("visit/2", "city", "city/2"),
    }
    assert {row[:4] for row in literal_names(graph) if row[0] == "city/1"} == {
        ("city/1", "label", "Bern", f"{XSD}string"),
        ("city/1", "tags", "a", f"{XSD}string"),
        ("city/1", "tags", "b", f"{XSD}string"),
        ("city/1", "sizes", "1.5", f"{XSD}string"),
        ("city/1", "founded", "1191-01-01", f"{XSD}date"),
        ("city/1", "seen", "2024-01-01T00:00:00", f"{XSD}dateTime"),
        ("city/1", "price", "1.50", f"{XSD}string"),
        ("city/1", "about", '{"x": 1}', f"{XSD}string"),
        ("city/1", "feels", "good", f"{XSD}string"),
        ("city/1", "people", "3", f"{XSD}integer"),
    }
    kinds = {tail for _, relation, tail in triple_names(graph) if relation == TYPE}
    assert kinds == {"country", "city", "visit", *(['Closed "one" here'] if user == "tester" else [])}
    notes = " ".join(graph.notes)
    assert "table city: the column photo holds bytes and is left out" in notes
    assert ('tables that you may not read are left out: Closed "one" here, empty' in notes) == (user == "reader")
    assert PASSWORD not in notes
    assert "reads" not in notes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda server: server.address("wrong/@:"), r"cannot be read: .*password authentication failed"),
        (
            lambda server: server.address(PASSWORD).replace("/postgres", "/nowhere"),
            r'database "nowhere" does not exist',
        ),
        (lambda server: server.address(PASSWORD, "?schema=nothing"), r"found no rows in the schema nothing, expected"),
        (lambda server: server.address(PASSWORD, "?colour=red"), r"invalid URI query parameter"),
    ],
)
def test_what_cannot_be_read_is_one_sentence_without_the_password(
    server: Server, change: Callable[[Server], str], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_graph(change(server))
    assert_hidden(caught.value, PASSWORD, "wrong")
    assert str(caught.value).startswith(f"postgresql://tester@127.0.0.1:{server.port}/")


def test_nothing_is_changed(server: Server) -> None:
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    place = Address.parse(server.address(PASSWORD))
    with postgresql._connected(place, "x") as cursor:
        cursor.execute(postgresql.SNAPSHOT)
        with pytest.raises(dbapi.Error, match="read-only transaction"):
            cursor.execute("CREATE TABLE world.mine (id int)")


def test_a_server_that_is_not_there_is_one_sentence() -> None:
    pytest.importorskip("adbc_driver_postgresql")
    with pytest.raises(InputError, match=r"^postgresql://me@127\.0\.0\.1:1/x cannot be read: .*refused") as caught:
        read_graph("postgresql://me:hush@127.0.0.1:1/x?password=hush")
    assert_hidden(caught.value, "hush")


def test_without_the_package_the_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(
        SettingsError, match=r"needs adbc-driver-postgresql to be read: pip install 'emea\[postgresql\]'$"
    ):
        read_graph("postgresql://me:hush@example.org/x")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:hush@example.org/x?schema=a", "postgresql://me@example.org/x?schema=a"),
        ("postgresql://me:hu@sh/1?@example.org:5/x", "postgresql://me@example.org:5/x"),
        ("postgresql://example.org/x?user=me&password=hush", "postgresql://example.org/x?user=me"),
        ("https://me:hush@example.org/sparql?a=b", "https://me@example.org/sparql?a=b"),
        ("https://example.org:8080/@me/sparql?a=http://b", "https://example.org:8080/@me/sparql?a=http://b"),
        ("postgresql:///x", "postgresql:///x"),
        (Path("a:b@c.ttl"), Path("a:b@c.ttl")),
    ],
)
def test_addresses_are_shown_without_passwords(address: str | Path, shown: str | Path) -> None:
    assert without_password(address) == shown


def test_the_settings_of_a_run_keep_no_password() -> None:
    inputs = Inputs(source="postgresql://me:hush@example.org/x", target="https://me:hush@example.org/sparql")
    assert inputs.table()["source"] == "postgresql://me@example.org/x"
    assert inputs.table()["target"] == "https://me@example.org/sparql"
    assert "hush" not in str(inputs.absolute().table())


def test_other_schemes_are_refused_without_the_password() -> None:
    with pytest.raises(
        InputError, match=r"found the scheme 'mysql', expected a file or one of .*http, https, postgres"
    ) as caught:
        read_graph("mysql://me:hush@example.org/x")
    assert_hidden(caught.value, "hush")


def assert_hidden(error: EmeaError, *secrets: str) -> None:
    """Neither the error nor what led to it shows a secret."""
    whole = "".join(str(each) for each in (error, error.__cause__, error.__context__))
    for secret in secrets:
        assert secret not in whole
