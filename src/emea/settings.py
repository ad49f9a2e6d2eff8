"""One frozen model per stage, defaults included; read from TOML; an unknown key is an error."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    DirectoryPath,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from emea import plugins
from emea.contracts import Baseline, Encoder, PluginSettings, Rule
from emea.errors import SettingsError


def _by_commas(value: Any) -> Any:
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_by_commas)]  # a list, or one text with commas


EMEA = "emea"  # the method of this package, as opposed to those it is compared with


class _Stage(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EvidenceSettings(_Stage):
    """Which literals count."""

    kind: Literal["structure", "names", "literals", "all"] = Field(
        "structure",
        description="relations between entities alone, also equal and similar strings, also equal values, or all",
    )
    most_holders: int = Field(1000, ge=1, description="values that more entities have tell nothing")
    least_likeness: float = Field(
        0.5, ge=0, le=1, description="of strings that count as similar: mean of trigram cosine and edit ratio"
    )
    tolerance: float = Field(
        1e-3, gt=0, description="relative difference of numbers that count as similar, unless both are whole"
    )
    sentences: DirectoryPath | None = Field(
        None, description="folder of a sentence-transformers model whose opinion of names counts, too"
    )
    local_names: bool = Field(False, description="what URIs end in counts as a name of their entity")
    most_strings: int = Field(100_000, ge=0, description="with more strings on a side none are compared for likeness")

    @property
    def counts_values(self) -> bool:
        """Whether literals are looked at."""
        return self.kind != "structure"


class SimilaritySettings(_Stage):
    """Embeddings → candidates."""

    candidates: int = Field(50, ge=1, description="nearest entities kept for each entity, both ways")
    measure: Literal["csls", "cosine"] = Field("csls", description="what ranks candidates")
    neighbours: int = Field(10, ge=1, description="nearest entities whose mean cosine CSLS takes off")
    exact: int = Field(
        2**25,
        ge=0,
        description="up to this many pairs of entities all cosines are exact; among more the nearest are "
        "looked for roughly, and only theirs are exact",
    )
    axes: int = Field(1024, ge=1, description="main axes of the embeddings on which one looks roughly")
    large: int = Field(2**30, ge=0, description="among more pairs than this three quarters of the axes have to do")
    block: int | None = Field(
        None, ge=1, description="rows of the similarity matrix held at a time; by its width if unset"
    )

    def used_axes(self, pairs: int) -> int:
        """Main axes on which so many pairs are looked at."""
        return self.axes if pairs <= self.large else -(-3 * self.axes // 4)

    def rows(self, width: int, device: str) -> int:
        """Rows of a similarity matrix of this width to hold at a time: some 500 MB of them, and on a CPU no more than
        its caches bear."""
        return self.block or max(16, min(1024 if device == "cpu" else 2**14, 2**28 // max(width, 1)))


class ProbabilitySettings(_Stage):
    """Similarity → probability (paper 4.1)."""

    scaling: Literal["softmax", "minmax"] = Field(
        "softmax", description="eq. 1–2, or each entity's similarities stretched to 0–1 and divided by their sum"
    )
    sharpness: float | None = Field(
        None, gt=0, le=300, description="(ω₁ − ω₂)/τ of eq. 1–2; fitted to held-out seeds when unset"
    )
    typical_sharpness: float = Field(35.0, gt=0, description="what sharpness is without any pair to fit it to")
    none: float | None = Field(
        None, le=2, description='similarity at which a counterpart is no better than "none"; fitted when unset'
    )
    typical_none: float = Field(-0.2, description='what "none" is worth without any pair to fit it to')
    prior_pairs: float = Field(5.0, ge=0, description="held-out pairs that the typical sharpness and none weigh")
    fit_candidates: int = Field(10, ge=1, description="nearest candidates that the fit looks at")
    balance: int = Field(
        15, ge=0, description='Sinkhorn iterations that normalise both ways, with "none"; 0 leaves eq. 2 alone'
    )
    fit_to: Literal["seeds", "validation"] = Field(
        "seeds",
        description="the pairs that probabilities are fitted to: hidden folds of the seeds, or validation pairs",
    )
    folds: int = Field(
        10,
        ge=0,
        description="each round hides one of this many folds of the seeds from the encoder and fits the probabilities "
        "to it; 0 hides none",
    )


class CompatibilitySettings(_Stage):
    """Candidates, rule weights and "none" in the compatibility model (paper 4.2–4.4)."""

    candidates: int | None = Field(
        None,
        ge=1,
        description="K: best counterparts of each entity that the rules look at, both ways; if unset 10, and 20 where "
        "values count",
    )
    directions: Literal["both", "forward"] = Field(
        "both", description="measure compatibility both ways, or from source to target alone, as the paper does"
    )
    none: float = Field(0.1, ge=0, description='a pair beats "none" when its factors exceed this')
    sweeps: int = Field(1, ge=1, description="coordinate ascent: how often q* is refined, each time from q_Θ · q*")
    last_say: float = Field(
        0.2, ge=0, description="exponent of q* in the final beliefs, for an encoder that has learned from the rules"
    )
    abstain: bool = Field(True, description='"none" is among the answers; false: one of the candidates is right')


class EMSettings(_Stage):
    """Algorithm 1."""

    encoder: str = Field("propagation", description="a file in encoders/, or module:Class")
    rules: Names | None = Field(
        None,
        description="files in rules/, or module:Class; several by commas; none leave the encoder alone; if unset "
        "paris, and where values count disagreement, too",
    )
    rounds: int = Field(6, ge=0, description="rounds after the first fit")
    labels: Literal["agreed", "one-sided", "best", "sampled"] = Field(
        "agreed",
        description="pseudo-labels: what encoder and rules agree on, sure enough and the best of both sides, or of the "
        "source alone; or, for every source, the best of q* or a sample from it (Algorithm 1)",
    )
    weighted: bool = Field(True, description="agreed pseudo-labels weigh as much as they are sure, or all the same")
    minimum: float = Field(0.8, ge=0, le=1, description="agreed pseudo-labels with less confidence are left out")
    settled: float = Field(
        0.0, ge=0, le=1, description="rounds end when less than this share of the pseudo-labels has changed"
    )

    @field_validator("rules")
    @classmethod
    def _once_each(cls, names: Names | None) -> Names | None:
        if names is not None and len({*names}) < len(names):
            raise ValueError(f"found {', '.join(names)}, expected each rule once")
        return names


class MatchingSettings(_Stage):
    """Counterparts → one-to-one alignment."""

    method: Literal["mutual", "one_to_one", "transport"] = Field(
        "mutual", description="best of each other, the heaviest one-to-one set, or transport with mutual best"
    )
    minimum: float = Field(0.5, ge=0, le=1, description='links with less confidence become "none"')
    precision: float | None = Field(
        None, ge=0, le=1, description="as many links, the surest first, as have this mean confidence; unset: all"
    )
    iterations: int = Field(15, ge=1, description="Sinkhorn iterations of the method `transport`")


class Settings(_Stage):
    """Everything a run is decided by."""

    method: str = Field(EMEA, description="emea, a file in baselines/, or module:Class")
    seed: int = Field(0, ge=0, description="of every random draw")
    device: str = Field("cpu", description="cpu, cuda, cuda:1, mps")
    evidence: EvidenceSettings = EvidenceSettings()
    similarity: SimilaritySettings = SimilaritySettings()
    probability: ProbabilitySettings = ProbabilitySettings()
    compatibility: CompatibilitySettings = CompatibilitySettings()
    em: EMSettings = EMSettings()
    matching: MatchingSettings = MatchingSettings()
    encoders: dict[str, dict[str, Any]] = Field(default_factory=dict, description="settings of encoders by name")
    rules: dict[str, dict[str, Any]] = Field(default_factory=dict, description="settings of rules by name")
    baselines: dict[str, dict[str, Any]] = Field(default_factory=dict, description="settings of other methods by name")

    @model_validator(mode="after")
    def _plugins_know_their_settings(self) -> Settings:
        kinds: tuple[tuple[str, dict[str, dict[str, Any]], type], ...] = (
            ("encoders", self.encoders, Encoder),
            ("rules", self.rules, Rule),
            ("baselines", self.baselines, Baseline),
        )
        for folder, given, kind in kinds:
            for name, values in given.items():
                plugin_settings(f"{folder}.{name}", plugins.find(folder, name, kind), values)
        return self

    @property
    def considered(self) -> int:
        """K: how many counterparts of each entity the rules look at. Values tell more of them apart."""
        return self.compatibility.candidates or (20 if self.evidence.counts_values else 10)

    @property
    def rule_names(self) -> tuple[str, ...]:
        """The rules at work."""
        usual = ("paris", "disagreement") if self.evidence.counts_values else ("paris",)
        return usual if self.em.rules is None else self.em.rules

    def encoder_settings(self) -> PluginSettings:
        """The chosen encoder's own settings."""
        name = self.em.encoder
        return plugin_settings(f"encoders.{name}", plugins.find("encoders", name, Encoder), self.encoders.get(name, {}))

    def rule_settings(self, name: str) -> PluginSettings:
        """A rule's own settings."""
        return plugin_settings(f"rules.{name}", plugins.find("rules", name, Rule), self.rules.get(name, {}))

    def baseline_settings(self) -> PluginSettings:
        """The chosen method's own settings, where it is not the loop."""
        name = self.method
        baseline = plugins.find("baselines", name, Baseline)
        return plugin_settings(f"baselines.{name}", baseline, self.baselines.get(name, {}))

    def resolved(self) -> dict[str, Any]:
        """Every setting that counts with its value, those of the chosen plug-ins included."""
        em = self.em.model_copy(update={"rules": self.rule_names})
        values = self.model_copy(update={"em": em}).model_dump(mode="json", exclude_none=True)
        if self.method != EMEA:
            kept = {name: values[name] for name in ("method", "seed", "device", "evidence", "matching")}
            own = self.baseline_settings().model_dump(mode="json", exclude_none=True)
            return {**kept, "baselines": {self.method: own}}
        del values["baselines"]
        values["encoders"] = {self.em.encoder: self.encoder_settings().model_dump(mode="json", exclude_none=True)}
        values["rules"] = {
            name: self.rule_settings(name).model_dump(mode="json", exclude_none=True) for name in self.rule_names
        }
        return values


PRESETS: dict[str, dict[str, Any]] = {  # what each preset changes of the defaults
    "fast": {},
    "best": {  # propagation first, then with it Dual-AMN and RREA
        "em": {"encoder": "committee", "rounds": 9},
        "encoders": {"committee": {"settings": {"dual_amn": {"more_epochs": 10, "dropout": 0.3}}}},
    },
    "paper": {  # Guiding Neural Entity Alignment with Compatibility; its open choices: docs/reproduce/questions.md
        "probability": {"balance": 0, "fit_to": "validation", "prior_pairs": 0},  # eq. 1–3
        "compatibility": {"directions": "forward", "candidates": 10, "abstain": False, "sweeps": 3},
        "em": {"encoder": "rrea", "labels": "best", "rounds": 10, "settled": 0.01},
        "rules": {"paris": {"evidence": "forward", "minimum": 0.5}},  # eq. paris_prob; what is more likely than not
    },
}


def load(preset: str = "fast", config: Path | None = None, assignments: Iterable[str] = (), **given: Any) -> Settings:
    """Settings from a preset, a TOML file, assignments such as `em.rounds=5`, and given values, each over the last.

    >>> load(assignments=["em.rounds=5"], seed=3).em.rounds
    5
    """
    if preset not in PRESETS:
        raise SettingsError(f"unknown preset '{preset}'; known are {', '.join(PRESETS)}")
    values = _merged(PRESETS[preset], read_config(config) if config else {})
    for assignment in assignments:
        values = _merged(values, _assigned(assignment))
    values = _merged(values, {key: value for key, value in given.items() if value is not None})
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise _explained(error, Settings, "") from error
    settings.resolved()  # the chosen encoder and rules exist
    return settings


def read_config(path: Path, table: str | None = None) -> dict[str, Any]:
    """The settings in a TOML file, or its table `run`, which says what a run was made of."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is no TOML: {error}") from error
    run = values.pop("run", {})
    return run if table == "run" else values


def _assigned(assignment: str) -> dict[str, Any]:
    """A line of TOML, except that a text needs no quotes: `rules.paris.scope=blanket`."""
    key, equals, text = assignment.partition("=")
    for value in (text, json.dumps(text.strip())):
        try:
            if equals and "\n" not in assignment:
                return tomllib.loads(f"{key} = {value}")
        except tomllib.TOMLDecodeError:
            continue
    hint = "; a name with a colon wants quotes: 'encoders.\"module:Class\".dimension=32'" if ":" in key else ""
    raise SettingsError(f"found {assignment!r}, expected KEY=VALUE such as em.rounds=5{hint}")


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Both, the second over the first, table by table."""
    result = dict(first)
    for key, value in second.items():
        both_tables = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = _merged(result[key], value) if both_tables else value
    return result


def plugin_settings(place: str, plugin: type[Encoder | Rule | Baseline], values: dict[str, Any]) -> PluginSettings:
    """A plug-in's settings from values that stand at a place such as encoders.rrea."""
    try:
        return plugin.Settings(**values)
    except ValidationError as error:
        raise _explained(error, plugin.Settings, place) from error


def _explained(error: ValidationError, model: type[BaseModel], place: str) -> SettingsError:
    """The first problem in one sentence: the key, what was found, what was expected."""
    problem = error.errors()[0]
    path = [str(part) for part in problem["loc"]]
    name = ".".join([*filter(None, [place]), *path])
    if problem["type"] != "extra_forbidden":
        return SettingsError(
            f"setting {name}: found {problem['input']!r}; {problem['msg'][:1].lower()}{problem['msg'][1:]}"
        )
    for part in path[:-1]:
        model = model.model_fields[part].annotation  # type: ignore[assignment]
    known = list(model.model_fields)
    close = get_close_matches(path[-1], known, 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return SettingsError(f"unknown setting {name}; known here are {', '.join(known)}{hint}")
