"""What a finished run keeps for explanations: the grounds of its confidence, in one file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from safetensors import SafetensorError
from torch import Tensor

from emea.candidates.parts import KeptCounterparts
from emea.data import Candidates, Counterparts, Task
from emea.errors import InputError
from emea.evidence.comparison import Fields
from emea.formats._files import writing
from emea.method.competition import Competition
from emea.method.grounds import Grounds, Judged, Line, Steps
from emea.method.probability import Scale
from emea.method.rounds import Outcome
from emea.runs.checkpoint import fingerprint
from emea.runs.folder import GROUNDS, finished
from emea.runs.mapped import Column, Mapped, write_tensors

FORMAT = 3  # of what is in it
BELIEFS = ("forward", "backward", "source_none", "target_none")


class Kept:
    """The grounds of a run, the graphs they belong to, and the confidence of its links in full precision."""

    def __init__(
        self,
        grounds: Grounds,
        task: str,
        confidence: dict[tuple[int, int], float],
        names: tuple[Tensor, Tensor],
        file: Mapped | None = None,
    ) -> None:
        self.grounds, self.task, self.confidence, self._names, self._file = grounds, task, confidence, names, file

    @cached_property
    def names(self) -> tuple[pa.Array, pa.Array]:
        """Of the sources, and of the targets: where the graphs are there, these have them too."""
        source, target = (pa.array(json.loads(text.numpy().tobytes()), pa.large_string()) for text in self._names)
        return source, target

    @classmethod
    def read(cls, folder: Path) -> Kept:
        """What a run folder keeps."""
        path = folder / GROUNDS
        if not path.exists() and not finished(folder):
            raise InputError(
                f"{folder} holds no finished run; emea align --resume --out {folder} ends one that was begun"
            )
        if not path.exists():
            raise InputError(f"{path} does not exist: only finished runs of the method emea can be explained")
        try:
            file = Mapped(path)
        except (SafetensorError, OSError) as error:
            raise InputError(f"{path} is not complete ({error}); run again to explain links") from error
        about, tensors = json.loads(file.about.get("about", "{}")), file.tensors
        if about.get("format") != FORMAT:
            raise InputError(f"{path} was written by another version of emea; run again to explain links")
        links = zip(tensors["links.source"].tolist(), tensors["links.target"].tolist(), strict=True)
        confidence = dict(zip(links, tensors["links.confidence"].tolist(), strict=True))
        names = tensors["names.source"], tensors["names.target"]
        return cls(_grounds(tensors, about), about["task"], confidence, names, file)

    @classmethod
    def of(cls, outcome: Outcome) -> Kept:
        """The same of a run that is in memory."""
        if outcome.grounds is None:
            raise InputError("only links that the method emea found can be explained, not those of a baseline")
        task, links = outcome.prepared.given, outcome.alignment
        pairs = zip(links.source.tolist(), links.target.tolist(), strict=True)
        confidence = dict(zip(pairs, links.confidence.double().tolist(), strict=True))
        names = _text(task.source.entities), _text(task.target.entities)
        return cls(on_cpu(outcome.grounds), "", confidence, names)

    def release(self) -> None:
        """Give back the memory of what was read of the file, for who explains one link after the other."""
        if self._file is not None:
            self._file.release()

    def belongs_to(self, task: Task) -> bool:
        """Whether these are the graphs and seeds of the run."""
        return self.task == fingerprint(task)


def keep(outcome: Outcome, folder: Path) -> None:
    """Write what explanations need; nothing for a baseline."""
    grounds, task, links = outcome.grounds, outcome.prepared.given, outcome.alignment
    if grounds is None:
        return
    near, same = grounds.considered.candidates, grounds.asked.forward is grounds.considered.forward
    tensors: dict[str, Tensor | Column] = {
        **_of_beliefs("proposed", grounds.proposed),
        **_of_beliefs("considered", grounds.considered),
        **{f"asked.{each}": getattr(grounds.asked, each) for each in BELIEFS if not same},
        "links.source": links.source.int(),
        "links.target": links.target.int(),
        "links.confidence": links.confidence.double(),
    }
    for number, sides in enumerate(grounds.rules.values()):
        tensors |= {f"rule.{number}.{place}": side for place, side in enumerate(sides)}
    about = {
        "format": FORMAT,
        "task": fingerprint(task),
        "sizes": [near.sources, near.targets],
        "scale": [grounds.scale.sharpness, grounds.scale.none],
        "rules": list(grounds.rules),
        "none": grounds.none,
        "say": grounds.say,
        "competition": list(grounds.competition),
        "line": grounds.line,
    }
    if grounds.taught:
        pairs = torch.tensor(list(grounds.taught), dtype=torch.int32)
        tensors |= {"taught.pairs": pairs, "taught.most": torch.tensor(list(grounds.taught.values())).double()}
    if grounds.judged is not None:
        judged, table = _of_judged(grounds.judged)
        tensors.update(judged)
        about |= {"judged": table}
    for side, graph in (("source", task.source), ("target", task.target)):
        tensors[f"names.{side}"] = _text(graph.entities)
    with writing(folder / GROUNDS) as file:
        write_tensors(file, tensors, {"about": json.dumps(about)})


def on_cpu(grounds: Grounds) -> Grounds:
    """The same grounds where what explains them is built, whatever device the loop ran on."""
    return replace(
        grounds,
        proposed=_beliefs_on_cpu(grounds.proposed),
        considered=_beliefs_on_cpu(grounds.considered),
        asked=_beliefs_on_cpu(grounds.asked),
        rules={name: (source.cpu(), target.cpu()) for name, (source, target) in grounds.rules.items()},
    )


def _beliefs_on_cpu(beliefs: Counterparts) -> Counterparts:
    pairs = beliefs.candidates
    columns = pairs.source.cpu(), pairs.target.cpu(), pairs.cosine.cpu()
    densities = pairs.source_density.cpu(), pairs.target_density.cpu()
    candidates = Candidates(*columns, pairs.sources, pairs.targets, *densities)
    return Counterparts(candidates, *(getattr(beliefs, each).cpu() for each in BELIEFS))


def _of_beliefs(name: str, beliefs: Counterparts) -> dict[str, Tensor | Column]:
    """Part by part: there may be many."""
    kept = KeptCounterparts.of(beliefs)

    def column(of: Callable[[Counterparts], Tensor], kind: torch.dtype) -> Column:
        return Column(kind, len(kept.pairs), lambda: (of(part).to(kind) for part in kept))

    return {
        f"{name}.source": column(lambda part: part.candidates.source, torch.int32),
        f"{name}.target": column(lambda part: part.candidates.target, torch.int32),
        f"{name}.forward": column(lambda part: part.forward, torch.float64),
        f"{name}.backward": column(lambda part: part.backward, torch.float64),
        f"{name}.source_none": beliefs.source_none,
        f"{name}.target_none": beliefs.target_none,
    }


def _of_judged(judged: Judged) -> tuple[dict[str, Tensor], dict[str, Any]]:
    arrays = {
        "pairs": judged.pairs.astype(np.int32),
        **{f"said.{name}": said for name, said in judged.said.items()},
        "by_field": judged.by_field,
        "steps.place": judged.steps.place,
        "steps.share": judged.steps.share,
        "fields.source": judged.fields.source,
        "fields.target": judged.fields.target,
        "fields.main": judged.fields.main,
        "fields.inside": judged.fields.inside.astype(np.int64),
        "fields.spare": judged.fields.spare.astype(np.int64),
        "ceiling": judged.ceiling,
        "most": judged.most,
        **({"share": judged.share} if (judged.share < 1).any() else {}),
        "things": judged.things.astype(np.int64),
    }
    tensors = {f"judged.{name}": torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    table = {"line": judged.line, "slope": judged.steps.slope, "said": list(judged.said)}
    table |= {"mirrored": judged.mirrored, "sources": judged.sources}
    return tensors, table


def _grounds(tensors: dict[str, Tensor], about: dict[str, Any]) -> Grounds:
    sizes = about["sizes"]

    def beliefs(name: str, source: Tensor, target: Tensor) -> Counterparts:
        zero = torch.zeros(())
        pairs = Candidates(source, target, zero.expand(len(source)), *sizes, *(zero.expand(size) for size in sizes))
        return Counterparts(pairs, *(tensors[f"{name}.{each}"] for each in BELIEFS))

    considered = beliefs("considered", tensors["considered.source"].long(), tensors["considered.target"].long())
    asked: dict[str, Any] = {each: tensors[f"asked.{each}"] for each in BELIEFS if f"asked.{each}" in tensors}
    taught: dict[tuple[int, int], float] = {}
    if "taught.pairs" in tensors:
        pairs = map(tuple, tensors["taught.pairs"].tolist())
        taught = dict(zip(pairs, tensors["taught.most"].tolist(), strict=True))
    return Grounds(
        proposed=beliefs("proposed", tensors["proposed.source"], tensors["proposed.target"]),
        scale=Scale(*about["scale"]),
        considered=considered,
        asked=replace(considered, **asked),
        rules={
            name: (tensors[f"rule.{number}.0"], tensors[f"rule.{number}.1"])
            for number, name in enumerate(about["rules"])
        },
        none=(about["none"][0], about["none"][1]),
        say=about["say"],
        competition=Competition(*about["competition"]),
        line=Line(*about["line"]),
        taught=taught,
        judged=_judged(tensors, about["judged"]) if "judged" in about else None,
    )


def _judged(tensors: dict[str, Tensor], table: dict[str, Any]) -> Judged:
    arrays = {
        name.removeprefix("judged."): each.numpy() for name, each in tensors.items() if name.startswith("judged.")
    }
    return Judged(
        pairs=arrays["pairs"].astype(np.int64),
        said={name: arrays[f"said.{name}"] for name in table["said"]},
        by_field=arrays["by_field"],
        steps=Steps(arrays["steps.place"], arrays["steps.share"], table["slope"]),
        fields=Fields(
            arrays["fields.source"],
            arrays["fields.target"],
            arrays["fields.main"],
            np.zeros(len(arrays["fields.main"]), dtype=bool),  # counted in what they said
            *(
                arrays.get(f"fields.{name}", np.zeros(len(arrays["fields.main"]))).astype(bool)
                for name in ("inside", "spare")
            ),
        ),
        ceiling=arrays["ceiling"],
        most=arrays["most"],
        share=arrays.get("share", np.ones(len(arrays["most"]))),
        line=Line(*table["line"]),
        things=arrays["things"],
        sources=table["sources"],
        mirrored=table["mirrored"],
    )


def _text(names: pa.Array) -> Tensor:
    return torch.frombuffer(bytearray(json.dumps(names.to_pylist()).encode()), dtype=torch.uint8)
