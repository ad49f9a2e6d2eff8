"""Reading and writing OAEI Alignment RDF."""

from pathlib import Path

import pyarrow as pa
import pytest
from small_graphs import aligned

from emea.errors import InputError
from emea.formats import read_pair_names
from emea.formats.oaei import OAEI

NAMESPACE = "http://knowledgeweb.semanticweb.org/heterogeneity/alignment"
RDF_NAMESPACE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def alignment(cells: str, namespace: str = NAMESPACE) -> str:
    return f"""<?xml version='1.0' encoding='iso-8859-1'?>
<rdf:RDF xmlns='{namespace}' xmlns:rdf='{RDF_NAMESPACE}'>
<Alignment><xml>yes</xml><level>0</level><type>**</type>
{cells}
</Alignment></rdf:RDF>"""


def cell(relation: str = "=", measure: str = "1.0", entity1: str = "<entity1 rdf:resource='urn:é'/>") -> str:
    return (
        f"<map><Cell>{entity1}<entity2 rdf:resource='urn:b'/><relation>{relation}</relation>"
        f"<measure rdf:datatype='http://www.w3.org/2001/XMLSchema#float'>{measure}</measure></Cell></map>\n"
    )


def read(tmp_path: Path, text: str) -> pa.Table:
    path = tmp_path / "alignment.rdf"
    path.write_bytes(text.encode("latin-1"))
    return OAEI().read_pairs(path)


def rows(pairs: pa.Table) -> list[tuple[str, str, float, bool]]:
    return list(zip(*(pairs[name].to_pylist() for name in ("source", "target", "weight", "excluded")), strict=True))


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("person1/dataset11_dataset12_goldstandard_person.xml", 500),
        ("restaurants/restaurant1_restaurant2_goldstandard.rdf", 112),
    ],
)
def test_gold_pairs(benchmark_data: Path, name: str, count: int) -> None:
    pairs = read_pair_names(benchmark_data / "oaei" / name)
    assert pairs.num_rows == count
    assert set(pairs["weight"].to_pylist()) == {1.0}
    assert len(set(pairs["source"].to_pylist())) == len(set(pairs["target"].to_pylist())) == count


@pytest.mark.parametrize("namespace", [NAMESPACE, f"{NAMESPACE}#"])
def test_equal_cells_are_pairs_and_others_are_not(tmp_path: Path, namespace: str) -> None:
    described = "<entity1><Class rdf:about='urn:c'/></entity1>"
    api = "fr.inrialpes.exmo.align.impl.rel.EquivRelation"
    cells = [cell(), cell("&lt;"), cell(">="), cell("%", "0.5"), cell(api, "0.25", described)]
    pairs = read(tmp_path, alignment("".join(cells), namespace))
    assert rows(pairs) == [("urn:é", "urn:b", 1, False), ("urn:é", "urn:b", 0.5, True), ("urn:c", "urn:b", 0.25, False)]
    assert pairs["line"].to_pylist() == [4, 7, 8]
    assert pairs.schema.metadata[b"skipped"] == b"1 with the relation <, 1 with the relation >="


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (alignment(cell(measure="2")), "line 4: found the weight '2', expected a number from 0 to 1"),
        (alignment(cell(entity1="")), "line 4: found a cell without entity1 or entity2"),
        (alignment(cell("~")), r"found no pairs, only 1 with the relation ~; expected cells with the relation ="),
        (alignment(cell())[:-30], "line 4: no element found; expected complete, well-formed XML"),
        (alignment(cell(entity1="<entity1 rdf:resource='a&#9;b'/>")), "line 4: found the name 'a.*without tabs"),
        (alignment(cell(), "urn:other"), "found no Alignment element"),
    ],
)
def test_broken_alignments_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_alignments_are_read_back(tmp_path: Path) -> None:
    sources, targets = ["http://a.org/<é>&'\"", "plain name"], ["urn:t:1", "urn:t:2"]
    OAEI().write_alignment(*aligned(sources, targets), tmp_path / "links.xml.gz")
    found = OAEI().read_pairs(tmp_path / "links.xml.gz")
    weight = pytest.approx(0.1)
    assert rows(found) == [(sources[0], "urn:t:1", weight, False), ("plain name", "urn:t:2", 1, False)]


def test_the_file_is_as_the_alignment_api_writes_it(tmp_path: Path) -> None:
    OAEI().write_alignment(*aligned(["urn:a"], ["urn:b"]), tmp_path / "links.rdf")
    text = (tmp_path / "links.rdf").read_text()
    assert f'xmlns="{NAMESPACE}"' in text
    assert "<type>??</type>" in text
    assert '<measure rdf:datatype="http://www.w3.org/2001/XMLSchema#float">0.1</measure>' in text
    assert "<relation>=</relation>" in text


def test_names_that_xml_cannot_hold_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found the character U\+0001 in a name, expected characters that XML allows"):
        OAEI().write_alignment(*aligned(["a\x01"], ["b"]), tmp_path / "links.rdf")
    assert list(tmp_path.iterdir()) == []
