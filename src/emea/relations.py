"""Which relations of one graph are contained in which of the other: told by the links (PARIS eq. 12)."""

from __future__ import annotations

import pyarrow as pa
import torch

from emea.data import Graph, Links, Task
from emea.em import Result
from emea.kernels.joins import Edges
from emea.rules.paris import PARISSettings, Subrelations
from emea.values import LOCAL_NAME, with_values

INVERSE = "^"  # before a relation's name: seen from its tail, as SPARQL has it
LEAST = 0.1  # probability of what is told
LIKELY = 0.5  # probability of what is said as a mapping


def relation_links(result: Result) -> pa.Table:
    """Pairs of relations, the surest first: source, target, the probabilities that each is contained in the other, and
    how many triples, in expectation, speak for either. Attributes count as relations where values count as evidence."""
    task, found = result.task, result.alignment
    equal = Links(found.source.cpu(), found.target.cpu(), found.confidence.float().cpu()) + task.seeds
    graphs, anchors = with_values(Task(task.source, task.target, Links.empty()), result.settings.evidence)
    equal = equal + anchors.links
    source, target = (Edges.build(graph, torch.device("cpu")) for graph in (graphs.source, graphs.target))
    subrelations = Subrelations.estimate(source, target, equal, PARISSettings(prior=0.0))
    relation, other = subrelations.key // target.relations, subrelations.key % target.relations
    inside, around = subrelations.of(relation, other)
    direct = relation < source.relations // 2  # the inverses of both say the same again
    told = (direct & (torch.maximum(inside, around) >= LEAST)).nonzero()[:, 0]
    table = pa.table(
        {
            "source": [_name(graphs.source, number) for number in relation[told].tolist()],
            "target": [_name(graphs.target, number) for number in other[told].tolist()],
            "source_in_target": inside[told].numpy(),
            "target_in_source": around[told].numpy(),
            "triples": torch.maximum(subrelations.found, subrelations.found_back)[told].numpy(),
        }
    )
    order = [("triples", "descending"), ("source", "ascending"), ("target", "ascending")]
    return table.sort_by(order)


def relation_mappings(relations: pa.Table) -> pa.Table:
    """What SSSOM can say of them: source, target, weight, predicate; `^` before a predicate: it holds from target to
    source. Two that are each contained in the other are equivalent, as probably as both are; an inverse has no name of
    its own and is left out."""
    rows: list[tuple[str, str, float, str]] = []
    columns = (relations[name].to_pylist() for name in ("source", "target", "source_in_target", "target_in_source"))
    for source, target, inside, around in zip(*columns, strict=True):
        if target.startswith(INVERSE) or LOCAL_NAME in {source, target}:
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
