"""Named settings: what each preset changes in the defaults."""

from __future__ import annotations

from typing import Any


def _committee(**members: dict[str, Any]) -> dict[str, Any]:
    """Loops with propagation, then a few rounds with it, Dual-AMN and RREA, from what these loops agree on."""
    return {
        "em": {"encoder": "committee", "scouts": 4, "rounds": 3, "growth": 0},
        "compatibility": {"directions": "forward"},
        "encoders": {"committee": {"settings": members}},
    }


_SMALLER = {"dimension": 64, "epochs": 12, "more_epochs": 6, "dropout": 0.3, "batch": 2048, "negatives": 1024}

PRESETS: dict[str, dict[str, Any]] = {
    "fast": {},
    "good": _committee(dual_amn=_SMALLER, rrea={"dimension": 50, "epochs": 200, "more_epochs": 40}),  # for a CPU
    "best": _committee(dual_amn={"more_epochs": 10, "dropout": 0.3, "negatives": 4096}),
    "letter": {  # Guiding Neural Entity Alignment with Compatibility, as written; what it leaves open: docs/reproduce
        "probability": {"balance": 0, "fit_to": "known", "prior_pairs": 0, "discount": False},  # eq. 1–3
        "compatibility": {"directions": "forward", "candidates": 10, "abstain": False},  # K; 4.5 (3): one sweep
        "em": {"encoder": "rrea", "labels": "sampled", "rounds": 10, "growth": 0},  # Algorithm 1
        "rules": {"paris": {"evidence": "best", "scope": "blanket"}},  # 4.5 (2); eq. cond_p
    },
    "paper": {  # the same, changed where that is better: docs/reproduce/questions.md
        "probability": {"balance": 0, "fit_to": "validation", "prior_pairs": 0, "discount": False},
        "compatibility": {"directions": "forward", "candidates": 10, "abstain": False, "sweeps": 3},
        "em": {"encoder": "rrea", "labels": "best", "rounds": 10, "growth": 0, "settled": 0.01},
        "rules": {"paris": {"evidence": "forward", "minimum": 0.5}},
    },
}
