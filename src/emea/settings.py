"""One frozen model for each stage, with its defaults; read from TOML; an unknown key is an error."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, DirectoryPath, Field, ValidationError, model_validator

from emea import plugins
from emea.contracts import Plugin, PluginSettings
from emea.errors import SettingsError, explained
from emea.plugins import plugin_settings
from emea.presets import PRESETS

EMEA = "emea"  # the method of this package, as opposed to the baselines


def _by_commas(value: Any) -> Any:
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value


def _once_each(names: tuple[str, ...]) -> tuple[str, ...]:
    if len({*names}) < len(names):
        raise ValueError(f"found {', '.join(names)}, expected each once")
    return names


Names = Annotated[tuple[str, ...], BeforeValidator(_by_commas), AfterValidator(_once_each)]  # or comma-separated


class EvidenceSettings(PluginSettings):
    """Which literals count as evidence."""

    kind: Literal["structure", "names", "literals", "all"] = Field(
        "structure", description="relations only; or also equal and similar strings; or also equal values; or all"
    )
    most_holders: int = Field(1000, ge=1, description="ignore values held by more entities than this")
    least_likeness: float = Field(
        0.5, ge=0, le=1, description="least mean of trigram cosine and edit ratio of similar strings"
    )
    tolerance: float = Field(1e-3, gt=0, description="largest relative difference of similar numbers, not both whole")
    sentences: DirectoryPath | None = Field(
        None, description="folder of a sentence-transformers model that compares names"
    )
    shared_iris: Literal["same", "ignore"] = Field(
        "same", description="whether an IRI that both graphs use speaks for the same entity"
    )
    local_names: bool = Field(False, description="use the last part of a URI as a name of its entity")
    anonymous: bool = Field(False, description="also link blank nodes, W3C vocabulary terms and nodes that hold names")
    most_strings: int = Field(
        2**13,
        ge=0,
        description="compare each string with all of the other side up to this many a side; beyond, with those that "
        "share its rarest n-grams",
    )

    @property
    def counts_values(self) -> bool:
        """Whether literals are used."""
        return self.kind != "structure"


class SimilaritySettings(PluginSettings):
    """Embeddings → candidates."""

    candidates: int = Field(50, ge=1, description="nearest entities kept for each entity, both ways")
    measure: Literal["csls", "cosine"] = Field("csls", description="what ranks the candidates")
    neighbours: int = Field(10, ge=1, description="nearest entities whose mean cosine CSLS subtracts")
    exact: int = Field(
        2**25, ge=0, description="compute all cosines exactly up to this many pairs; beyond, only those of the nearest"
    )
    axes: int = Field(512, ge=1, description="main axes of the embeddings used by the approximate search")
    large: int = Field(2**30, ge=0, description="use three quarters of the axes beyond this many pairs")
    bounded: int | None = Field(
        None,
        ge=0,
        description="beyond this many pairs, each entity looks at `shared` and `scanned` others only; if unset 2²⁸, "
        "and 2³² on GPUs and on CPUs with fast bfloat16, which compare all of them sooner",
    )
    shared: int = Field(512, ge=1, description="entities looked at that share known pairs within two steps")
    scanned: int = Field(2048, ge=1, description="entities looked at on the nearest lists of an inverted file")
    block: int | None = Field(
        None, ge=1, description="rows of the similarity matrix held at a time; if unset by its width"
    )


class ProbabilitySettings(PluginSettings):
    """Similarity → probability (paper 4.1)."""

    scaling: Literal["softmax", "minmax"] = Field(
        "softmax", description="eq. 1–2, or each entity's similarities rescaled to 0–1 and divided by their sum"
    )
    sharpness: float | None = Field(
        None, gt=0, le=300, description="(ω₁ − ω₂)/τ of eq. 1–2; if unset fitted to held-out seeds"
    )
    typical_sharpness: float = Field(35.0, gt=0, description="sharpness assumed without any pair to fit it to")
    none: float | None = Field(None, le=2, description='similarity that is no better than "none"; fitted if unset')
    typical_none: float = Field(-0.2, description='value of "none" assumed without any pair to fit it to')
    prior_pairs: float = Field(30.0, ge=0, description="weight of the typical sharpness and none, in held-out pairs")
    fit_candidates: int = Field(10, ge=1, description="nearest candidates used by the fit")
    balance: int = Field(15, ge=0, description='Sinkhorn iterations, both ways, with "none"; 0: eq. 2 alone')
    fit_to: Literal["seeds", "known", "validation"] = Field(
        "seeds",
        description="fit probabilities to folds of the seeds that are hidden from the encoder, to the seeds that it "
        "knows (eq. 3), or to validation pairs",
    )
    folds: int = Field(
        10, ge=0, description="each round hides one of this many folds of the seeds from the encoder; 0 hides none"
    )
    discount: bool = Field(True, description="be less sure, the larger the share of labels that the loop found itself")


class CompatibilitySettings(PluginSettings):
    """Candidates, rule weights and "none" in the compatibility model (paper 4.2–4.4)."""

    candidates: int | None = Field(
        None, ge=1, description="K: best counterparts of each entity given to the rules; if unset 10, or 20 with values"
    )
    directions: Literal["both", "forward"] = Field(
        "both", description="measure compatibility both ways, or only from source to target, as the paper does"
    )
    none: float = Field(0.1, ge=0, description='a pair beats "none" if its factors exceed this, of weaker rules less')
    sweeps: int = Field(1, ge=1, description="coordinate ascent: how often q* is refined, each time from q_Θ · q*")
    last_say: float = Field(
        0.2, ge=0, description="exponent of q* in the final beliefs; the encoder learned from it, too"
    )
    abstain: bool = Field(True, description='allow "none" as an answer; if false, one of the candidates is right')


class EMSettings(PluginSettings):
    """Algorithm 1."""

    encoder: str = Field("propagation", description="a name that `emea encoders` lists, or module:Class")
    rules: Names | None = Field(
        None,
        description="names that `emea rules` lists, or module:Class, by commas; empty: none; unset: paris, and "
        "disagreement with values",
    )
    scouts: int = Field(0, ge=0, description="loops as in fast before, and what they agree on is the start")
    rounds: int = Field(15, ge=0, description="rounds after the first fit, at most")
    labels: Literal["agreed", "one-sided", "best", "sampled"] = Field(
        "agreed",
        description="pseudo-labels: confident pairs that encoder and rules agree on, best from both sides or from the "
        "source alone; or for every source the best of q*, or a sample from it (Algorithm 1)",
    )
    weighted: bool = Field(True, description="weight agreed pseudo-labels by their confidence")
    minimum: float = Field(0.8, ge=0, le=1, description="lowest confidence of agreed pseudo-labels")
    growth: float = Field(0.002, ge=0, description="stop once there are hardly more labels, by this share; 0: go on")
    settled: float = Field(0.0, ge=0, le=1, description="stop if a smaller share of labels is new; 1e-9: if none is")


class MatchingSettings(PluginSettings):
    """Counterparts → alignment."""

    cardinality: Literal["one-to-one", "many-to-one", "one-to-many", "many-to-many"] = Field(
        "one-to-one", description="many-to-one: several sources may be linked to one target; and so on"
    )
    method: Literal["mutual", "one_to_one", "transport"] = Field(
        "mutual",
        description="one-to-one: mutually best pairs, the heaviest set, or transport followed by mutually best",
    )
    minimum: float = Field(0.5, ge=0, le=1, description='links with lower confidence become "none"')
    precision: float | None = Field(
        None, ge=0, le=1, description="keep as many links as possible at this expected precision; unset: all"
    )
    iterations: int = Field(15, ge=1, description="Sinkhorn iterations of the method `transport`")
    judge: bool = Field(
        True, description='where values count, judge links by all evidence together, with "none" estimated from it'
    )


class EngineSettings(PluginSettings):
    """Where heavy loops run."""

    kind: str = Field("local", description="local, ray, or the address of a Ray cluster, such as ray://HOST:10001")
    gpus: float = Field(0, ge=0, description="GPUs, or a share of one, of each task on a Ray cluster")


class Settings(PluginSettings):
    """Everything that determines a run."""

    method: str = Field(EMEA, description="emea, a name that `emea baselines` lists, or module:Class")
    seed: int = Field(0, ge=0, description="seed of every random draw")
    device: str = Field("cpu", description="cpu, cuda, cuda:1, mps")
    engine: EngineSettings = EngineSettings()
    evidence: EvidenceSettings = EvidenceSettings()
    similarity: SimilaritySettings = SimilaritySettings()
    probability: ProbabilitySettings = ProbabilitySettings()
    compatibility: CompatibilitySettings = CompatibilitySettings()
    em: EMSettings = EMSettings()
    matching: MatchingSettings = MatchingSettings()
    encoders: dict[str, dict[str, Any]] = Field(default_factory=dict, description="settings of encoders by name")
    rules: dict[str, dict[str, Any]] = Field(default_factory=dict, description="settings of rules by name")
    baselines: dict[str, dict[str, Any]] = Field(default_factory=dict, description="settings of baselines by name")

    @model_validator(mode="wrap")
    @classmethod
    def _mistakes_in_one_sentence(cls, values: Any, build: Callable[[Any], Settings]) -> Settings:
        try:
            built = build(values)
        except ValidationError as error:
            raise explained(error, cls, "") from None
        for kind in ("encoders", "rules", "baselines"):
            for name in getattr(built, kind):
                built.plugin_settings(kind, name)
        return built

    @property
    def considered(self) -> int:
        """K: how many counterparts of each entity the rules look at. Values tell more of them apart."""
        return self.compatibility.candidates or (20 if self.evidence.counts_values else 10)

    @property
    def judges(self) -> bool:
        """Whether links are judged by values at the end."""
        return self.matching.judge and self.evidence.counts_values

    @property
    def rule_names(self) -> tuple[str, ...]:
        """The rules in use."""
        usual = ("paris", "disagreement") if self.evidence.counts_values else ("paris",)
        return usual if self.em.rules is None else self.em.rules

    def plugin_settings(self, kind: str, name: str) -> PluginSettings:
        """The settings of a plug-in, defaults included; `kind` is encoders, rules or baselines."""
        return plugin_settings(f"{kind}.{name}", plugins.find(kind, name, Plugin), getattr(self, kind).get(name, {}))

    def encoder_settings(self) -> PluginSettings:
        """The settings of the chosen encoder."""
        return self.plugin_settings("encoders", self.em.encoder)

    def resolved(self) -> dict[str, Any]:
        """Every setting in use with its value, including those of the chosen plug-ins."""
        em = self.em.model_copy(update={"rules": self.rule_names})
        values = self.model_copy(update={"em": em}).model_dump(mode="json", exclude_none=True)
        if self.method != EMEA:
            kept = {name: values[name] for name in ("method", "seed", "device", "evidence", "matching")}
            return {**kept, "baselines": self._resolved("baselines", self.method)}
        del values["baselines"]
        values["encoders"] = self._resolved("encoders", self.em.encoder, *[EMSettings().encoder][: self.em.scouts])
        return {**values, "rules": self._resolved("rules", *self.rule_names)}

    def _resolved(self, kind: str, *names: str) -> dict[str, Any]:
        return {name: self.plugin_settings(kind, name).model_dump(mode="json", exclude_none=True) for name in names}


def load(preset: str = "fast", config: Path | None = None, assignments: Iterable[str] = (), **given: Any) -> Settings:
    """Settings from a preset, a TOML file, assignments such as `em.rounds=5`, and given values; later ones win.

    >>> load(assignments=["em.rounds=5"], seed=3).em.rounds
    5
    """
    if preset not in PRESETS:
        raise SettingsError(f"unknown preset '{preset}'; known are {', '.join(PRESETS)}")
    values = _merged(PRESETS[preset], read_config(config) if config else {})
    for assignment in assignments:
        values = _merged(values, _assigned(assignment))
    values = _merged(values, {key: value for key, value in given.items() if value is not None})
    settings = Settings(**values)
    settings.resolved()  # the chosen encoder and rules exist
    return settings


def read_config(path: Path, table: str | None = None) -> dict[str, Any]:
    """The settings in a TOML file, or its table `run`, which describes the inputs of a run."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from error
    run = values.pop("run", {})
    return run if table == "run" else values


def _assigned(assignment: str) -> dict[str, Any]:
    """A line of TOML, except that a string needs no quotes: `rules.paris.scope=blanket`."""
    key, equals, text = assignment.partition("=")
    for value in (text, json.dumps(text.strip())):
        try:
            if equals and "\n" not in assignment:
                return tomllib.loads(f"{key} = {value}")
        except (tomllib.TOMLDecodeError, RecursionError):
            continue
    hint = "; quote a name that contains a colon: 'encoders.\"module:Class\".dimension=32'" if ":" in key else ""
    raise SettingsError(f"found {assignment!r}, expected KEY=VALUE such as em.rounds=5{hint}")


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Both, the second over the first, table by table."""
    result = dict(first)
    for key, value in second.items():
        both_tables = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = _merged(result[key], value) if both_tables else value
    return result
