"""Measures how often the intervals of a review hold the truth, and how wide they are: 2,000 simulated reviews of a run.

    python scripts/review_intervals.py RUN REFERENCE [--complete] [--name NAME]   # a finished run, a file of true pairs
    python scripts/review_intervals.py --page    # write docs/results.md's section from docs/intervals

A reviewer who knows the reference answers 200 sampled cards. Where the reference is complete, sources that it does not
name have no counterpart; else they are first left out of the run, and then kept, and the answer to them is "unsure".
The overconfident tool doubles the log-odds of each confidence. *usual*: the same cards with a normal interval for
precision, its variance at least what confidence promises, and a bootstrap within strata for recall.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from _records import REPOSITORY, commit, write_sections
from emea.formats import read_pair_names
from emea.report.reading import FinishedRun
from emea.report.tables import markdown_table
from emea.review.estimates import Answer, Sample, estimate
from emea.runs.finished import _named

STORE = REPOSITORY / "docs" / "intervals"
CARDS, REVIEWS, REPEATS = 200, 2000, 200
LOOKS = (50, 100, CARDS)


@dataclass(frozen=True)
class Truth:
    """A run and the right answer to each of its sources: links first, then those without."""

    confidence: np.ndarray
    counterpart: np.ndarray
    answers: np.ndarray

    @classmethod
    def read(cls, folder: Path, reference: Path, *, complete: bool) -> Truth:
        """What the reference says about a finished run."""
        run = FinishedRun.read(folder)
        assert run.unlinked is not None
        pairs = _named(read_pair_names(reference), run.about)
        true = set(zip(pairs["source"].to_pylist(), pairs["target"].to_pylist(), strict=True))
        known, silent = {source for source, _ in true}, Answer.NONE if complete else Answer.UNSURE
        links = zip(run.links["source"].to_pylist(), run.links["target"].to_pylist(), strict=True)
        answers = [Answer.RIGHT if pair in true else Answer.OTHER if pair[0] in known else silent for pair in links]
        answers += [Answer.OTHER if source in known else silent for source in run.unlinked["source"].to_pylist()]
        counterpart = np.nan_to_num(run.unlinked["probability"].to_numpy())  # no candidate, no counterpart
        return cls(run.confidence, counterpart, np.array(answers))

    def known(self) -> Truth:
        """Without the sources about which the reference is silent."""
        there, links = self.answers != Answer.UNSURE, len(self.confidence)
        return Truth(self.confidence[there[:links]], self.counterpart[there[links:]], self.answers[there])

    def overconfident(self) -> Truth:
        """With doubled log-odds."""
        scores = (np.clip(score, 1e-6, 1 - 1e-6) for score in (self.confidence, self.counterpart))
        confidence, counterpart = (1 / (1 + (1 / score - 1) ** 2) for score in scores)
        return replace(self, confidence=confidence, counterpart=counterpart)

    def figures(self) -> tuple[float, float]:
        """True precision and recall."""
        links, others = np.split(self.answers, [len(self.confidence)])
        right, missed = (links == Answer.RIGHT).sum(), (links == Answer.OTHER).sum() + (others == Answer.OTHER).sum()
        return float(right / (links != Answer.UNSURE).sum()), float(right / (right + missed))


Interval = tuple[float, float]


def usual(sample: Sample, answers: np.ndarray, draw: np.random.Generator) -> tuple[Interval, Interval]:
    """Precision and recall from the same cards by the formulas that are usual."""
    precision = variance = 0.0
    found, missed = np.zeros(REPEATS), np.zeros(REPEATS)
    for number, each in enumerate(sample.strata):
        cards = sample.cards[sample.stratum[sample.cards] == number]
        again = answers[cards][draw.integers(0, len(cards), (REPEATS, len(cards)))]
        missed += each.size * (again == Answer.OTHER).mean(1)
        if each.linked:
            found += each.size * (again == Answer.RIGHT).mean(1)
            apart = (answers[cards] == Answer.RIGHT) - sample.score[cards]
            precision += each.size / sample.links * (each.mean + apart.mean())
            expected = each.mean - each.mean**2 - each.variance
            spread = max(float(apart.var(ddof=1)) if len(cards) > 1 else 0.0, expected)
            variance += (each.size / sample.links) ** 2 * (1 - len(cards) / each.size) * spread / len(cards)
    low, high = np.quantile(found / (found + missed), [0.025, 0.975])
    half = 1.96 * math.sqrt(variance)
    return (precision - half, precision + half), (float(low), float(high))


def measure(truth: Truth, reviews: int) -> dict[str, str]:
    """How many reviews hold the truth, at 200 cards and at every look; how wide intervals are at 200."""
    true, draw, unsure = truth.figures(), np.random.default_rng(0), bool((truth.answers == Answer.UNSURE).any())
    held, always, simple = (np.zeros((reviews, 2), dtype=bool) for _ in range(3))
    width = np.zeros((reviews, 2))
    for seed in range(reviews):
        sample = Sample.draw(truth.confidence, truth.counterpart, CARDS, seed)
        answers = {card: Answer(truth.answers[card]) for card in sample.cards.tolist()}
        looks = [estimate(sample, {card: answers[card] for card in sample.cards[:cards].tolist()}) for cards in LOOKS]
        inside = np.array([[_holds((f.low, f.high), t) for f, t in zip(_both(e), true, strict=True)] for e in looks])
        held[seed], always[seed] = inside[-1], inside.all(0)
        width[seed] = [figure.half_width for figure in _both(looks[-1])]
        if not unsure:
            simple[seed] = [_holds(ends, t) for ends, t in zip(usual(sample, truth.answers, draw), true, strict=True)]
    cells = {"links": f"{len(truth.confidence):,}", "unlinked": f"{len(truth.counterpart):,}"}
    for place, name in enumerate(("precision", "recall")):
        cells |= {
            name: f"{true[place]:.3f}",
            f"{name}: held": f"{held[:, place].mean():.3f}",
            f"{name}: at every look": f"{always[:, place].mean():.3f}",
            f"{name}: half-width": f"{width[:, place].mean():.4f}",
            f"{name}: usual": "" if unsure else f"{simple[:, place].mean():.3f}",
        }
    return cells


def _both(found: object) -> Iterator[object]:
    yield from (getattr(found, name) for name in ("precision", "recall"))


def _holds(ends: Interval, value: float) -> bool:
    return ends[0] - 1e-9 <= value <= ends[1] + 1e-9


def rows(name: str, truth: Truth, reviews: int) -> list[dict[str, str]]:
    """One for each tool and reviewer."""
    cases = {name: truth.known()}
    if (truth.answers == Answer.UNSURE).any():
        cases[f"{name}, some unsure"] = truth
    found = []
    for case, made in cases.items():
        for tool, tried in (("as it is", made), ("overconfident", made.overconfident())):
            found.append({"run": case, "tool": tool, **measure(tried, reviews)})
            print(found[-1], flush=True)
    return found


def section(records: list[dict[str, object]]) -> str:
    """The section of docs/results.md."""
    found = [row for record in records for row in record["rows"]]  # type: ignore[attr-defined]
    commits = ", ".join(sorted({str(record["commit"]) for record in records}))
    return f"""## Intervals while reviewing

Generated by `python scripts/review_intervals.py`, which says what is measured; commit {commits}. {REVIEWS:,} simulated
reviews of {CARDS} sampled cards each. *held*: the share of reviews whose interval holds the truth at {CARDS} cards;
*at every look*: at 50, 100 and {CARDS} cards, for which 95 % are promised. *usual*: the same cards with a normal
interval for precision and a bootstrap for recall, at {CARDS} cards alone. zh_en is linked by structure with 5 % seeds
(`fast`, split 10), the others without seeds.

{markdown_table(found)}
"""


def main() -> None:
    """Measure a run, or write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", type=Path)
    parser.add_argument("reference", nargs="?", type=Path)
    parser.add_argument("--complete", action="store_true", help="The reference names every true pair.")
    parser.add_argument("--name", help="What the run is called; by default as its folder.")
    parser.add_argument("--reviews", type=int, default=REVIEWS)
    parser.add_argument("--page", action="store_true")
    chosen = parser.parse_args()
    if chosen.run is not None:
        name = chosen.name or chosen.run.name
        truth = Truth.read(chosen.run, chosen.reference, complete=chosen.complete)
        record = {"rows": rows(name, truth, chosen.reviews), "commit": commit()}
        STORE.mkdir(exist_ok=True)
        (STORE / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    if chosen.page:
        write_sections(section([json.loads(path.read_text(encoding="utf-8")) for path in sorted(STORE.glob("*.json"))]))


if __name__ == "__main__":
    main()
