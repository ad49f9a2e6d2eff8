"""XML that is no RDF: records."""

import json
from pathlib import Path

import pytest
from small_graphs import literal_names, triple_names

from emea.contracts import Reading
from emea.errors import InputError, SettingsError
from emea.formats import read_graph

CITIES = """<?xml version="1.0" encoding="UTF-8"?>
<!-- two towns --><cities xmlns="https://example.org/cities" made="2020">
  <city id="b"><name xml:lang="de">Bern</name><at><lat>46.9</lat><lon>7.4</lon></at><river>Aare</river></city>
  <city id="t"><name>Thun</name><at><lat>46.8</lat><lon>7.6</lon></at><river>Aare</river><river>Kander</river>
    <note lang="en">on a <b>lake</b>, with
    a castle</note><empty/></city>
</cities>"""
DEEP = "<b>" + "<c>" * 20 + "x" + "</c>" * 20 + "</b>"
AS_JSON = [
    {"id": "b", "name": "Bern", "at": {"lat": "46.9", "lon": "7.4"}, "river": "Aare"},
    {"id": "t", "name": "Thun", "at": {"lat": "46.8", "lon": "7.6"}, "river": ["Aare", "Kander"]},
]
AS_JSON[1] |= {"note": "on a lake, with a castle", "note.lang": "en"}


def written(folder: Path, text: str, name: str = "cities.xml", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def test_records_are_read_like_those_of_json(tmp_path: Path) -> None:
    graph = read_graph(written(tmp_path, CITIES))
    (tmp_path / "cities.json").write_text(json.dumps(AS_JSON))
    same = read_graph(tmp_path / "cities.json")
    assert graph.entities.to_pylist() == same.entities.to_pylist() == ["b", "t"]
    assert literal_names(graph) == literal_names(same)
    assert "named by the column 'id'" in graph.notes[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [("<answer><status code='0'/>", "</answer>"), ("<answer><data>", "</data></answer>"), ("<answer>", "</answer>")],
)
def test_records_may_lie_further_inside(tmp_path: Path, before: str, after: str) -> None:
    inside = CITIES.partition("-->")[2]
    assert literal_names(read_graph(written(tmp_path, before + inside + after))) == literal_names(
        read_graph(written(tmp_path, CITIES, "again.xml"))
    )


@pytest.mark.parametrize("apart", [True, False])
def test_records_with_several_names_are_tables(tmp_path: Path, *, apart: bool) -> None:
    lands = '<land code="CH" name="Switzerland"/><land code="IT" name="Italy"/>'
    cities = '<city id="b" land="CH" name="Bern"/><city id="r" land="IT" name="Rome"/>'
    text = (
        f"<world><lands>{lands}</lands><cities>{cities}</cities></world>"
        if apart
        else f"<world>{lands}{cities}</world>"
    )
    graph = read_graph(written(tmp_path, text))
    assert {"land/CH", "land/IT", "city/b", "city/r"} <= {*graph.entities.to_pylist()}
    assert {("city/b", "land", "land/CH"), ("city/r", "land", "land/IT")} <= triple_names(graph)


def test_an_id_column_can_be_named_and_rdf_has_none(tmp_path: Path) -> None:
    by_name = read_graph(written(tmp_path, CITIES), Reading(id_column="name"))
    assert by_name.entities.to_pylist() == ["Bern", "Thun"]
    rdf = '<x:RDF xmlns:x="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="https://e.org/">{}</x:RDF>'
    path = written(tmp_path, rdf.format('<e:City x:about="https://e.org/b"><e:name>Bern</e:name></e:City>'), "rdf.xml")
    assert read_graph(path).entities.to_pylist() == ["https://e.org/City", "https://e.org/b"]
    with pytest.raises(SettingsError, match=r"found --id-column for .*, expected none"):
        read_graph(path, Reading(id_column="name"))


def test_entities_and_encodings_of_xml_are_heeded(tmp_path: Path) -> None:
    kinds = '<!DOCTYPE a [<!ENTITY river "Aäre und mehr">]>'
    text = (
        f'<?xml version="1.0" encoding="ISO-8859-1"?>{kinds}<a><b id="1" r="&river;"/><b id="2"><r>Zürich</r></b></a>'
    )
    found = literal_names(read_graph(written(tmp_path, text, encoding="latin-1")))
    assert {row[:3] for row in found} == {("1", "r", "Aäre und mehr"), ("2", "r", "Zürich")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "<a><b>1</b><b>2</b></a>",
            r"a\.xml: found 'a' without elements that repeat, expected RDF/XML, or records: elem",
        ),
        ("<html><body><p>x</p></body></html>", r"a\.xml: found 'html' without elements that repeat"),
        ("<a><b id='1'/><b id='2'></a>", r"a\.xml, line 1: mismatched tag; expected complete, well-formed XML"),
        ("<a><b id='1'>\n<c></b></a>", r"a\.xml, line 2: mismatched tag"),
        (f"<a>{DEEP * 2}</a>", r"record 1: found elements nested more than 16 levels"),
        (
            '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a><b c="&x;"/></a>',
            r"found the external or parameter",
        ),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_graph(written(tmp_path, text, "a.xml"))


def test_text_that_was_encoded_twice_is_refused(tmp_path: Path) -> None:
    twice = CITIES.encode("utf-16-le").decode("latin-1")
    with pytest.raises(InputError, match=r"line 1: found zeros, expected text in utf-16$"):
        read_graph(written(tmp_path, twice, encoding="utf-16"))


def test_attributes_that_recur_name_fields(tmp_path: Path) -> None:
    field = '<datafield tag="{}" ind1="1"><subfield code="a">{}</subfield><subfield code="d">{}</subfield></datafield>'
    records = [field.format(100, "Ann", 1950) + field.format(260, "Bern", 2001), field.format(100, "Bo", 1960) * 2]
    text = "<collection>" + "".join(f"<record>{each}</record>" for each in records) + "</collection>"
    found = {row[:3] for row in literal_names(read_graph(written(tmp_path, text)))}
    assert {("1", "100.a", "Ann"), ("1", "260.a", "Bern"), ("2", "100.d", "1960"), ("1", "100.ind1", "1")} <= found


def test_attributes_that_do_not_recur_or_stand_alone_are_values(tmp_path: Path) -> None:
    rivers = ['<river name="Aare"/><river name="Sense"/>', '<river name="Aare"/><river name="Emme"/>']
    text = "<cities>" + "".join(f"<city><id>{n}</id>{each}</city>" for n, each in enumerate(rivers)) + "</cities>"
    assert ("0", "river.name", "Aare") in {row[:3] for row in literal_names(read_graph(written(tmp_path, text)))}
    genres = [
        f'<genre code="{n}"><label>g{n}</label></genre><genre code="x{n}"><label>h</label></genre>' for n in range(9)
    ]
    text = "<films>" + "".join(f"<film><id>{n}</id>{each}</film>" for n, each in enumerate(genres)) + "</films>"
    assert ("3", "genre.code", "x3") in {row[:3] for row in literal_names(read_graph(written(tmp_path, text)))}


def test_what_repeats_beside_the_records_hides_none(tmp_path: Path) -> None:
    places = "".join(f'<Placemark id="p{n}"><name>N{n}</name></Placemark>' for n in range(3))
    text = f'<kml><Document><Style id="s"><a b="c"/></Style><Style id="t"/><Folder>{places}</Folder></Document></kml>'
    graph = read_graph(written(tmp_path, text, "places.kml"))
    assert {"Placemark/p0", "Placemark/p1", "Placemark/p2", "Style/s"} <= {*graph.entities.to_pylist()}
