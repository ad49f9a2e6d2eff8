"""OWL: ontologies in functional syntax, OWL/XML and Manchester syntax, read as their RDF."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from emea.contracts import PLAIN, GraphReader, Reading
from emea.data import Graph
from emea.formats._quads import ONTOLOGIES
from emea.formats._statements import read_statements


class OWL(GraphReader):
    """Axioms become the triples that OWL's mapping to RDF gives them; restrictions are blank nodes."""

    description: ClassVar[str] = (
        "ontologies in OWL functional syntax (.ofn), OWL/XML (.owx) and Manchester syntax (.omn), with emea[owl]"
    )
    suffixes: ClassVar[tuple[str, ...]] = tuple(ONTOLOGIES)
    choices: ClassVar[tuple[str, ...]] = ("lenient",)

    def read_graph(self, path: Path, reading: Reading = PLAIN) -> Graph:
        """The graph of an ontology."""
        return read_statements(path, reading)
