"""Valid files for the fuzzer to break."""

import datetime
import io
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing

import pyarrow as pa
from openpyxl import Workbook

RDF_XML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE rdf:RDF [<!ENTITY xsd "http://www.w3.org/2001/XMLSchema#">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/">
  <e:City rdf:about="http://example.org/Zürich"><e:name xml:lang="de">Zürich</e:name>
    <e:size rdf:datatype="&xsd;int">3</e:size><e:in><rdf:Description rdf:nodeID="x"/></e:in></e:City>
</rdf:RDF>
"""
RDF = {  # graphs that nobody here writes, and syntax that our writers do not use
    "terms.obo": """format-version: 1.2
ontology: t
idspace: FOO http://foo.org/

[Term]
id: X:1
name: hand \\{left\\} ! a comment
def: "What is \\"held\\"." [PMID:1]
synonym: "manus" EXACT [PMID:2]
xref: Y:5 "described"
is_a: FOO:2 {source="x"} ! limb
relationship: part_of X:3
property_value: created "2001" xsd:integer
is_obsolete: true

[Typedef]
id: part_of
xref: BFO:0000050
is_transitive: true
""",
    "terms.ofn": """Prefix(:=<http://example.org/>)
Prefix(rdfs:=<http://www.w3.org/2000/01/rdf-schema#>)
Ontology(<http://example.org/onto>
Declaration(Class(:Hand))
AnnotationAssertion(rdfs:label :Hand "hand \\"left\\""@en)
SubClassOf(:Hand ObjectSomeValuesFrom(:partOf :Arm))
)
""",
    "terms.owl": """<?xml version="1.0"?>
<!DOCTYPE Ontology [ <!ENTITY e "http://example.org/" > ]>
<Ontology xmlns="http://www.w3.org/2002/07/owl#" xml:base="http://example.org/" ontologyIRI="http://example.org/onto">
<Prefix name="rdfs" IRI="http://www.w3.org/2000/01/rdf-schema#"/>
<SubClassOf><Class IRI="&e;Hand"/><Class IRI="&e;Limb"/></SubClassOf>
<AnnotationAssertion><AnnotationProperty abbreviatedIRI="rdfs:label"/><IRI>&e;Hand</IRI>
<Literal xml:lang="en">hand</Literal></AnnotationAssertion>
</Ontology>
""",
    "terms.omn": """Prefix: : <http://example.org/>
Ontology: <http://example.org/onto>

ObjectProperty: :partOf

Class: :Hand
    SubClassOf: :Limb, :partOf some :Arm
""",
    "named.trig": """@prefix : <http://example.org/> .
:a :b :c , [ :d ( 1 2.0 ) ] .
:g { :a :b "x"@en }
GRAPH _:h { :a :b '''x
y'''^^:t . }
""",
    "rules.n3": "@prefix : <a:> .\n{ :a :b :x } => { :c :d :e } .\n:a is :b of :c . :a!:b^:c :d :e .\n",
    "page.jsonld": """{"@context": ["https://schema.org", {"x": {"@id": "a:x", "@context": {"y": "a:y"}}}], "@graph": [
{"@type": "Person", "name": "Ada", "birthDate": "1815-12-10", "x": {"y": [1, 2.5]}},
{"@id": "a:b", "name": {"@list": [true, {"@value": "z", "@language": "en"}]}, "@reverse": {"a:p": {"@id": "a:c"}}}]}
""",
}
FAULTY = {  # to be read leniently
    "faulty.ttl": '@prefix : <a:> .\n:a :b <a:[> , "x"@abcdefghi , [ :c :d ] ; :e :f .\n:g :h "open .\n:i :j :k .\n',
    "faulty.rdf": RDF_XML.replace("&xsd;int", "&xsd;[").replace('"de"', '"d"').replace('Zürich"', 'Z"'),
    "faulty.nq": "<a:a> <a:p> <a:[> .\n<a> <a:p> <a:b> .\n_:a <a:p> <a:b> .\n<a:a> <a:p> <a:c> <a:g> .\n",
}
ALIGNMENT = """<?xml version='1.0' encoding='iso-8859-1'?>
<rdf:RDF xmlns='http://knowledgeweb.semanticweb.org/heterogeneity/alignment#'
  xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><Alignment><xml>yes</xml><level>0</level><type>**</type>
<map><Cell><entity1 rdf:resource='http://example.org/Zürich'/><entity2 rdf:resource='http://example.org/d'/>
<relation>=</relation><measure rdf:datatype='http://www.w3.org/2001/XMLSchema#float'>1.0</measure></Cell></map>
</Alignment></rdf:RDF>
"""
FOREIGN_SSSOM = '''# curie_map:
#   ex: http://example.org/
# mapping_set_id: https://example.org/set
# license: https://example.org/licence
# subject_source: ex:one
subject_id\tsubject_label\tpredicate_id\tpredicate_modifier\tobject_id\tmapping_justification\tconfidence
ex:d\t"say ""d"""\tskos:exactMatch\t\tex:d\tsemapv:ManualMappingCuration\t0.9
ex:d\t\tskos:broadMatch\tNot\tex:d\tsemapv:ManualMappingCuration\t
ex:d\t\towl:sameAs\tNot\tex:b%20c\tsemapv:ManualMappingCuration\t1
ex:d\t\towl:sameAs\t\tsssom:NoTermFound\tsemapv:ManualMappingCuration\t
'''
OPENEA = {
    "rel_triples_1": "a r b\nb r c\n",
    "rel_triples_2": "x s y\n",
    "attr_triples_1": 'a p "1"^^<http://www.w3.org/2001/XMLSchema#int>\na p "é"@fr\n',
    "ent_links": "a x\nb y\n",
    "721_5fold/1/train_links": "a x\n",
    "721_5fold/1/valid_links": "b y\n",
    "721_5fold/1/test_links": "c z\n",
}
IDS = {
    "ent_ids_1": "2 a\n1 é\n0 c\n",
    "ent_ids_2": "0 z\n3 y\n1 w\n2 x\n",
    "rel_ids_1": "0 r\n",
    "rel_ids_2": "0 s\n",
    "triples_1": "2 0 1\n1 0 0\n",
    "triples_2": "2 0 3\n",
    "sup_ent_ids": "2 2\n",
    "val_ent_ids": "1 3\n",
    "ref_ent_ids": "0 0\n",
}
SETTINGS = """seed = 3
device = "cpu"
[em]
encoder = "propagation"
rules = ["paris"]
rounds = 2
minimum = 0.8
[similarity]
candidates = 10
measure = "csls"
[encoders.propagation]
[rules.paris]
[run]
source = "a"
"""
OBO = """format-version: 1.2
ontology: ex

[Term]
id: EX:1
name: one {note="x"}
synonym: "uno" EXACT [db:x]
is_a: EX:2 ! two
relationship: part_of EX:2

[Term]
id: EX:2
name: two
"""
FUNCTIONAL = """Prefix(:=<http://example.org/>)
Prefix(rdfs:=<http://www.w3.org/2000/01/rdf-schema#>)
Ontology(<http://example.org/o>
Declaration(Class(:A))
SubClassOf(:A ObjectSomeValuesFrom(:p :B))
AnnotationAssertion(rdfs:label :A "a"@en))
"""
OWL_XML = """<?xml version="1.0"?>
<Ontology xmlns="http://www.w3.org/2002/07/owl#" ontologyIRI="http://example.org/o">
<SubClassOf><Class IRI="http://example.org/A"/><Class IRI="http://example.org/B"/></SubClassOf>
</Ontology>
"""
MANCHESTER = """Prefix: : <http://example.org/>
Ontology: <http://example.org/o>
Class: :B
Class: :A
    SubClassOf: :B
"""
RECORDS = """{"id": "a", "size": 1, "in": {"city": "Zürich", "at": [1.5, 2]}, "knows": ["b", "c"]}
{"id": "b", "size": "two", "in": null, "open": true}
{"id": "c", "parts": [{"x": 1}, {"x": 2}]}
"""
POINT = '{"type": "Point", "coordinates": [8.5, 47.4]}'
DATABASE = """
PRAGMA page_size = 512;
CREATE TABLE country (code TEXT PRIMARY KEY, title TEXT);
CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT, country TEXT REFERENCES country(code), size, photo BLOB);
INSERT INTO country VALUES ('CH', 'Switzerland'), ('FR', 'France');
INSERT INTO city VALUES (1, 'Zürich', 'CH', 1, x'ff'), (2, 'Paris', 'FR', 2.5, NULL), (3, '天', 'FR', 'x', NULL);
"""


XML_RECORDS = """<?xml version="1.0"?><!DOCTYPE towns [<!ENTITY river "Aare">]>
<towns xmlns="https://example.org/"><made>2020</made>
<town id="b"><name xml:lang="de">Bern</name><at><lat>46.9</lat></at><in>c</in><river>&river;</river></town>
<town id="c" in="b"><name>Thun &amp; <i>lake</i></name><river>Aare</river><river><![CDATA[Kander]]></river><x/></town>
</towns>"""


GRAPHML = """<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="n" for="node" attr.name="name" attr.type="string"/><key id="c" for="node" attr.name="size" attr.type="int">
<default>3</default></key><graph edgedefault="undirected"><node id="a" labels=":Town"><data key="n">Bern</data></node>
<node id="b"><data key="n">Thun &amp; lake</data><data key="c">42</data></node>
<edge source="a" target="b" label="near"/>
<edge source="b" target="c" directed="true"/></graph></graphml>"""
GEXF = """<?xml version="1.0"?><gexf xmlns="http://gexf.net/1.3" version="1.3"><graph defaultedgetype="directed">
<attributes class="node"><attribute id="0" title="size" type="integer"><default>3</default></attribute></attributes>
<nodes><node id="a" label="Bern"><attvalues><attvalue for="0" value="42"/></attvalues></node>
<node id="b" label="Thun"/></nodes>
<edges><edge id="0" source="a" target="b" label="near" type="mutual"/></edges></graph></gexf>"""
NODES_AND_LINKS = b"""{"directed": false, "graph": {}, "nodes": [{"id": "a", "name": "Bern", "labels": ["Town"]},
{"id": 2, "properties": {"name": "Thun", "on": ["Aare", 1.5]}}],
"links": [{"source": "a", "target": 2, "label": "near"}]}"""
EXPORTED = b"""{"type": "node", "id": "0", "labels": ["Town"], "properties": {"name": "Bern", "on": ["Aare"]}}
{"type": "node", "id": "1", "labels": [], "properties": {"name": "Thun"}}
{"type": "relationship", "label": "NEAR", "start": {"id": "0"}, "end": {"id": "1"}}
"""


ANSWER = """{"head": {"vars": ["a", "aLabel"]}, "results": {"bindings": [
{"a": {"type": "uri", "value": "e:b"}, "aLabel": {"type": "literal", "xml:lang": "de", "value": "Bern"}},
{"a": {"type": "bnode", "value": "t"}}]}}"""
ANSWER_XML = """<?xml version="1.0"?><sparql xmlns="http://www.w3.org/2005/sparql-results#"><head/><results><result>
<binding name="a"><uri>e:b</uri></binding><binding name="l"><literal>Bern</literal></binding></result><result>
<binding name="a"><bnode>t</bnode></binding></result></results></sparql>"""
ANSWER_TSV = """?s\t?p\t?o\n<e:b>\t<e:name>\t"Bern \\"BE\\""@de\n<e:b>\t<e:size>\t7\n<e:t>\t<e:in>\t<e:b>\n"""
KML = """<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document><Style id="s"/><Folder>
<Placemark id="a"><name>Bern</name><ExtendedData><Data name="x"><value>1</value></Data>
<Data name="y"><value>2</value></Data></ExtendedData></Placemark>
<Placemark id="b"><name>Thun</name><ExtendedData><Data name="x"><value>3</value></Data>
<Data name="y"><value>4</value></Data></ExtendedData></Placemark></Folder></Document></kml>"""
TABLES = {  # in a folder
    "tables/people-header.csv": "id:ID,name,:LABEL\n",
    "tables/people-part1.csv": "a,Anna,Person\nb,Bo,Person\n",
    "tables/knows-header.csv": ":START_ID,:END_ID\n",
    "tables/knows.csv": "a,b\nb,a\n",
    "tables/README.txt": "All people, as of 2020.\n",
}
WRAPPED = {  # tables and records with what programs put around them
    "title.csv": "Export 2024;;;\n;;;\nid;name;town;tag\n1;Anna;Bern;x\n;;;y\n2;Bo;Thun;z\n;;;x\n",
    "r.txt": '"x" "y" "z"\n"1" 2 "a b" 3\n"2" 3 "c" 4\n',
    "edges.tsv": "1\t2\n2\t3\n3\t1\n1\t3\n",
    "from.csv": "from,to,label\na,b,x\nb,c,y\nc,a,x\n",
    "answer.tsv": ANSWER_TSV,
    "api.json": """{"data": [{"type": "a", "id": "1", "attributes": {"n": "x"},
"relationships": {"to": {"data": [{"type": "b", "id": "7"}]}}}],
"included": [{"type": "b", "id": "7", "attributes": {}}]}""",
    "rows.json": '{"values": [["id", "name"], ["1", "a"], ["2"]], "more": {"docs": [{"_id": {"$oid": "7"}}]}}',
    "columns.json": '{"id": {"0": "a", "1": "b"}, "name": {"0": "x", "1": null}}',
    "bulk.ndjson": '{"index": {"_id": "1"}}\n{"n": "x"}\n{"delete": {"_id": "2"}}\n{"create": {}}\n{"n": "y"}\n',
}


def read_only(suffix: str) -> bytes:
    """A file of a format that nothing here writes."""
    texts = {".obo": OBO, ".ofn": FUNCTIONAL, ".owx": OWL_XML, ".omn": MANCHESTER}
    texts |= {".jsonl": RECORDS, ".ndjson": RECORDS, ".json": f"[{','.join(RECORDS.splitlines())}]"}
    features = ",".join(f'{{"properties": {each}, "geometry": {POINT}}}' for each in RECORDS.splitlines())
    texts |= {".xml": XML_RECORDS, ".graphml": GRAPHML, ".gexf": GEXF}
    texts |= {".srj": ANSWER, ".srx": ANSWER_XML, ".kml": KML}
    texts[".geojson"] = f'{{"type": "FeatureCollection", "features": [{features}]}}'
    if suffix in texts:
        return texts[suffix].encode()
    return {
        **dict.fromkeys((".sqlite", ".sqlite3", ".db", ".gpkg"), _database),
        ".xlsx": _workbook,
        ".arrow": lambda: _arrow(stream=True),
        **dict.fromkeys((".feather", ".ipc"), _arrow),
    }[suffix]()


def _database() -> bytes:
    with closing(sqlite3.connect(":memory:")) as opened:
        opened.executescript(DATABASE)
        return opened.serialize()


def workbook_of(rows: Iterable[Sequence[object]]) -> bytes:
    """A workbook of one sheet."""
    book, packed = Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet("one")
    for row in rows:
        sheet.append(row)
    book.save(packed)
    return packed.getvalue()


def _workbook() -> bytes:
    book = Workbook()
    for name in ("one", "two"):
        sheet = book.create_sheet(name)
        for row in (["id", "name", "day", "one"], ["a", "é", datetime.date(2020, 1, 2), "a"], ["b", 2.5, None, "b"]):
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _arrow(*, stream: bool = False) -> bytes:
    table = pa.table(
        {
            "id": ["a", "b"],
            "in": [{"city": "Zürich"}, None],
            "knows": [["b"], []],
            "kind": pa.array(["x", "y"]).dictionary_encode(),
            "day": [datetime.date(2020, 1, 2), None],
        }
    )
    file = io.BytesIO()
    with pa.ipc.new_stream(file, table.schema) if stream else pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()
