"""Which relations of one graph are contained in which relations of the other, judging by the links (PARIS eq. 12)."""

from __future__ import annotations

import pyarrow as pa
import torch

from emea.data import Graph, Links
from emea.evidence.values import LOCAL_NAME
from emea.evidence.wholes import AND
from emea.kernels.joins import Edges
from emea.method.rounds import Outcome
from emea.rules._subrelations import Subrelations

INVERSE = "^"  # before a relation's name: seen from its tail, as SPARQL has it
REPORTED = 0.1  # least probability of a pair in relations.tsv
LIKELY = 0.5  # least probability of a mapping
PRIOR_STRENGTH = 0.1  # triples that speak against every pair beforehand


def relation_links(outcome: Outcome) -> pa.Table:
    """Pairs of relations, best supported first: source, target, the probabilities that each is contained in the other,
    and the expected number of triples that support either. Attributes count as relations if values are evidence."""
    prepared, found = outcome.prepared, outcome.alignment
    links = Links(found.source.cpu(), found.target.cpu(), found.confidence.float().cpu())
    equal, graphs = links + prepared.given.seeds + prepared.anchors.links, prepared.graphs
    source, target = (Edges.build(graph, torch.device("cpu")) for graph in (graphs.source, graphs.target))
    subrelations = Subrelations.estimate(source, target, equal, strength=PRIOR_STRENGTH)
    relation, other = subrelations.key // target.relations, subrelations.key % target.relations
    inside, around = subrelations.of(relation, other)
    direct = relation < source.relations // 2  # the inverses of both repeat the same
    reported = (direct & (torch.maximum(inside, around) >= REPORTED)).nonzero()[:, 0]
    table = pa.table(
        {
            "source": [_name(graphs.source, number) for number in relation[reported].tolist()],
            "target": [_name(graphs.target, number) for number in other[reported].tolist()],
            "source_in_target": inside[reported].numpy(),
            "target_in_source": around[reported].numpy(),
            "triples": torch.maximum(subrelations.found, subrelations.found_back)[reported].numpy(),
        }
    )
    order = [("triples", "descending"), ("source", "ascending"), ("target", "ascending")]
    return table.sort_by(order)


def relation_mappings(relations: pa.Table) -> pa.Table:
    """What SSSOM can say of them: source, target, weight, predicate; `^` before a predicate: it holds from target to
    source. Two that are each contained in the other are equivalent, as probably as both are; an inverse has no name of
    its own and is left out, as are attributes put together of others."""
    rows: list[tuple[str, str, float, str]] = []
    columns = (relations[name].to_pylist() for name in ("source", "target", "source_in_target", "target_in_source"))
    for source, target, inside, around in zip(*columns, strict=True):
        if target.startswith(INVERSE) or LOCAL_NAME in {source, target} or AND in source + target:
            continue
        if min(inside, around) >= LIKELY:
            rows.append((source, target, min(inside, around), "owl:equivalentProperty"))
        elif inside >= LIKELY:
            rows.append((source, target, inside, "rdfs:subPropertyOf"))
        elif around >= LIKELY:
            rows.append((source, target, around, INVERSE + "rdfs:subPropertyOf"))
    names = ("source", "target", "weight", "predicate")
    kinds = (pa.large_string(), pa.large_string(), pa.float64(), pa.large_string())
    by_column = zip(*rows, strict=True) if rows else ((),) * len(names)
    return pa.table({name: pa.array(cells, kind) for name, kind, cells in zip(names, kinds, by_column, strict=True)})


def _name(graph: Graph, number: int) -> str:
    count = len(graph.relations)
    return str(graph.relations[number].as_py()) if number < count else INVERSE + graph.relations[number - count].as_py()
