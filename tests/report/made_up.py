"""A run folder and explanations that are made up, to see what the report makes of them."""

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emea.analysis.explanation import TITLES
from run_files import ALIGNMENT, SETTINGS

KINDS = ("City", "Country", "Person|Politician", "")
Row = tuple[str, str, float, str, str, str]  # source, target, confidence, their labels, type


def rows(count: int) -> list[Row]:
    """Links between entities with names of the usual length."""
    draw = random.Random(0)
    syllables = ["ka", "mor", "lin", "west", "ber", "tun", "sal", "vi", "en", "dor", "鹿", "島", "شهر", "град"]
    found = []
    for number in range(count):
        words = ["".join(draw.choices(syllables, k=draw.randint(2, 4))).capitalize() for _ in range(draw.randint(1, 3))]
        name, other = " ".join(words), " ".join(reversed(words))
        source = f"http://source.example/resource/{name.replace(' ', '_')}_{number}"
        target = f"http://target.example/entity/Q{draw.randrange(10**7)}"
        found.append((source, target, 0.5 + 0.5 * draw.random() ** 0.3, name, other, KINDS[number % len(KINDS)]))
    return found


def write_run(folder: Path, links: Sequence[Row], *, doubt: str | None = None) -> Path:
    """The files of a finished run with these links."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{s}\t{t}\t{c:.6g}\t0.8\t{a}\t{b}\t{kind}\t{kind}\t1:1" for s, t, c, a, b, kind in links]
    (folder / "alignment.tsv").write_text("\n".join([ALIGNMENT, *lines]) + "\n", encoding="utf-8")
    given = {"source": "/nowhere/ours.ttl", "target": "/nowhere/theirs.ttl"}
    settings = SETTINGS.format(**given, sources=len(links) + 3, targets=len(links) + 9)
    (folder / "settings.toml").write_text(settings, encoding="utf-8")
    told = {"links": len(links), "expected precision": 0.9, "absence": None, "doubt": doubt}
    (folder / "summary.json").write_text(json.dumps(told))
    (folder / "rounds.jsonl").write_text(
        '{"round": 0, "candidates": 900, "pseudo_labels": 40, "agreement": 0.875, "weights": {"paris": 4.625}, '
        '"held_out_links": 10, "held_out_right": 9}\n'
        '{"round": 1, "candidates": 950, "pseudo_labels": 44, "held_out_links": 0, "held_out_right": 0}\n'
    )
    (folder / "timings.jsonl").write_text('{"round": 0, "seconds": 1.5}\n{"round": 1, "seconds": 2.25}\n')
    (folder / "relations.tsv").write_text(
        "source\ttarget\tsource_in_target\ttarget_in_source\ttriples\n"
        "http://source.example/capital\thttp://target.example/P36\t0.97\t0.91\t52\n"
        "http://source.example/born\t^http://target.example/birthplaceOf\t0.88\t0.4\t31\n"
    )
    (folder / "unlinked.tsv").write_text(
        "source\tsource_label\tcandidate\tcandidate_label\tprobability\twhy\n"
        "http://source.example/lost\tLost\thttp://target.example/Q1\tOne\t0.4\tconfidence .40 below .50\n"
        "http://source.example/late\tLate\thttp://target.example/Q2\tTwo\t0.6\ttaken by Early with .97\n"
        "http://source.example/alone\tAlone\t\t\t\tno candidate\n"
    )
    (folder / "candidates.tsv").write_text("source\trank\ttarget\tsimilarity\tprobability\n")
    (folder / "seeds.tsv").write_text("source\ttarget\tweight\n")
    return folder


def explanation(link: Row) -> dict[str, Any]:
    """An explanation as the contract has it: the groups add up to the log-odds of the confidence."""
    source, target, confidence, source_label, target_label, _ = link
    odds = math.log(confidence / (1 - confidence))
    neighbours = [
        {
            "text": "in both: capitale / inverse of isCapitalOf → Paris (.98), relations alike .93",
            "log_odds": 2.0,
            "source_neighbour": {"name": "http://source.example/Paris", "label": "Paris, capitale"},
            "target_neighbour": {"name": "http://target.example/Q90", "label": "Paris"},
            "source_relation": "http://source.example/capitale",
            "target_relation": "http://target.example/isCapitalOf",
            "inverse": False,
            "target_inverse": True,
            "belief": 0.98,
        },
        {
            "text": "its neighbour Orly has no counterpart",
            "log_odds": -0.3,
            "source_neighbour": {"name": "http://source.example/Orly", "label": "Orly"},
            "source_relation": "http://source.example/airport",
            "inverse": True,
        },
    ]
    names = {"source_value": source_label, "target_value": target_label, "similarity": 0.9}
    groups = [
        {"name": "encoder", "text": "similar surroundings (cosine .81)", "log_odds": 2.4, "parts": []},
        {"name": "paris", "text": "two neighbours are compared", "log_odds": 1.7, "parts": neighbours},
        {"name": "values", "text": "the names are alike", "log_odds": 0.8, "parts": [
            {"text": "names", "log_odds": 0.8, "source_attribute": "name", "target_attribute": "label", **names},
        ]},
        {"name": "none", "text": "it may have no counterpart", "log_odds": -0.6, "parts": []},
    ]  # fmt: skip
    base = -3.4
    groups.append({"name": "rivals", "text": "", "log_odds": odds - base - 4.3, "parts": []})
    for group in groups:
        group["title"] = TITLES[str(group["name"])]
    rival = {"target": "http://target.example/Q7", "target_label": "Another", "confidence": 0.03, "log_odds": -3.5}
    return {
        "source": source,
        "target": target,
        "source_label": source_label,
        "target_label": target_label,
        "status": "link",
        "confidence": confidence,
        "log_odds": odds,
        "saturated": False,
        "base": base,
        "groups": groups,
        "illustration": ["Paris is reached from both"],
        "runner_up": {
            **rival,
            "base": base,
            "groups": [{"name": "encoder", "title": "Similar structure", "text": "", "log_odds": -0.1, "parts": []}],
        },
        "smallest_set": {
            "kind": "beliefs frozen",
            "parts": ["both have the capital Paris"],
            "threshold": 0.5,
            "confidence": 0.41,
        },
    }
