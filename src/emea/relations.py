"""Which relations of one graph are contained in which of the other: told by the links (PARIS eq. 12)."""

from __future__ import annotations

import pyarrow as pa
import torch

from emea.data import Graph, Links, Task
from emea.em import Result
from emea.kernels.joins import Edges
from emea.rules.paris import PARISSettings, Subrelations
from emea.values import with_values

INVERSE = "^"  # before a relation's name: seen from its tail, as SPARQL has it
LEAST = 0.1  # probability of what is told


def relation_links(result: Result) -> pa.Table:
    """Pairs of relations, the surest first: source, target, the probabilities that each is contained in the other, and
    how many triples, in expectation, speak for either. Attributes count as relations where values count as evidence."""
    task, found = result.task, result.alignment
    equal = Links(found.source.cpu(), found.target.cpu(), found.confidence.float().cpu()) + task.seeds
    graphs = Task(task.source, task.target, Links.empty())
    if result.settings.evidence.kind != "structure":
        graphs, anchors = with_values(graphs, result.settings.evidence)
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


def _name(graph: Graph, number: int) -> str:
    count = len(graph.relations)
    return str(graph.relations[number].as_py()) if number < count else INVERSE + graph.relations[number - count].as_py()
