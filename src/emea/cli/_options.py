"""The options as values: what they are called, what they mean, and the settings they lead to."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import typer

from emea.cli._reading import ReadingOptions
from emea.cli._sizes import size_of
from emea.errors import SettingsError
from emea.presets import PRESETS
from emea.runs.folder import ALIGNMENTS, USUAL_FORMATS
from emea.runs.inputs import Inputs, usual_evidence
from emea.settings import EMEA, Settings, load, read_config

Number = TypeVar("Number", int, float)
INPUT, METHOD, OUTPUT, LONG = "Input", "Method", "Output", "Long runs"  # groups in --help

Device = Annotated[
    str | None, typer.Option(help="cpu, cuda, cuda:1 …; default: a GPU if there is one.", rich_help_panel=METHOD)
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change one setting, such as em.rounds=5; repeatable.", rich_help_panel=METHOD),
]
Out = Annotated[str, typer.Option("--out", metavar="<path>", help="Folder for the results, or address in a store.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=OUTPUT)]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.", rich_help_panel=OUTPUT)]
All = Annotated[bool, typer.Option("--all", help="Show all measures, not the main ones alone.")]
Ratio = Annotated[
    float | None, typer.Option(help="With --data: share of its links to use as seeds.", rich_help_panel=INPUT)
]
Seeds = Annotated[str | None, typer.Option(help="Known pairs: two columns, source and target.", metavar="<path>")]
Data = Annotated[
    Path | None,
    typer.Option(help="Benchmark folder (OpenEA or id files) instead of two files.", rich_help_panel=INPUT),
]


@dataclass(frozen=True)
class GraphOptions:
    """What to link."""

    source: Annotated[
        str | None,
        typer.Argument(help="Graph to link from: a file (see emea formats), a folder of tables, or an address."),
    ] = None
    target: Annotated[str | None, typer.Argument(help="Graph to link to.")] = None
    seeds: Seeds = None
    decisions: Annotated[
        list[Path] | None,
        typer.Option(help="Checked links: a file of pairs, or a run's folder; repeatable, added to those of --config."),
    ] = None
    data: Data = None
    ratio: Ratio = None
    split: Annotated[
        int | None,
        typer.Option(min=0, help="With --ratio: number of the random split; default 0.", rich_help_panel=INPUT),
    ] = None
    strict_seeds: Annotated[
        bool | None,
        typer.Option("--strict-seeds", help="Refuse any pair with an unknown name.", rich_help_panel=INPUT),
    ] = None
    fold: Annotated[int | None, typer.Option(help="With --data: fold of an OpenEA folder.", rich_help_panel=INPUT)] = (
        None
    )


@dataclass(frozen=True)
class MethodOptions:
    """How to link."""

    preset: Annotated[str, typer.Option(help=f"Named settings: {', '.join(PRESETS)}.")] = "fast"
    evidence: Annotated[
        Literal["structure", "names", "literals", "all"] | None,
        typer.Option(
            help="What to compare: structure only, also names, also values, or all; default: all, or "
            "structure with --data."
        ),
    ] = None
    local_names: Annotated[
        bool,
        typer.Option("--local-names", help="Use the last part of URIs as names.", rich_help_panel=METHOD),
    ] = False
    shared_iris: Annotated[
        Literal["same", "ignore"] | None,
        typer.Option(help="What an IRI in both graphs says; default: the same entity.", rich_help_panel=METHOD),
    ] = None
    method: Annotated[
        str | None,
        typer.Option(help="emea, or a baseline (see emea baselines).", show_default=False, rich_help_panel=METHOD),
    ] = None
    encoder: Annotated[
        str | None, typer.Option(help="Embedding model (see emea encoders).", rich_help_panel=METHOD)
    ] = None
    mode: Annotated[
        Literal["sup", "semi"] | None,
        typer.Option(help="Train the encoder supervised or semi-supervised.", rich_help_panel=METHOD),
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(help="Settings from a TOML file, such as another run's settings.toml.", rich_help_panel=METHOD),
    ] = None
    assignments: Set = None
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Random seed; default: the number of the split, or 0.", rich_help_panel=METHOD),
    ] = None
    device: Device = None
    engine: Annotated[
        str | None,
        typer.Option(help="local (default), ray, or a Ray cluster such as ray://HOST:10001.", rich_help_panel=METHOD),
    ] = None
    engine_gpus: Annotated[
        float | None, typer.Option(min=0, help="GPUs of each task on a Ray cluster.", rich_help_panel=METHOD)
    ] = None


@dataclass(frozen=True)
class OutputOptions:
    """What to write, and where."""

    folder: Out = "run"
    cardinality: Annotated[
        Literal["one-to-one", "many-to-one", "one-to-many", "many-to-many"] | None,
        typer.Option(
            help="Links that an entity may have; default one-to-one. With many-to-one, several sources, such as "
            "duplicates, may be linked to one target."
        ),
    ] = None
    min_confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="Drop links with lower confidence; default 0.5.")
    ] = None
    target_precision: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Keep as many links as possible at this expected precision."),
    ] = None
    top_k: Annotated[
        int | None,
        typer.Option(min=1, help="Candidates to write for each source; default 50.", rich_help_panel=OUTPUT),
    ] = None
    with_seeds: Annotated[
        bool, typer.Option("--with-seeds", help="Include the seeds among the links.", rich_help_panel=OUTPUT)
    ] = False
    reasons: Annotated[
        bool,
        typer.Option("--reasons", help="Write why each link was found, in one line beside it.", rich_help_panel=OUTPUT),
    ] = False
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help=f"Write the links also as {', '.join(ALIGNMENTS)}; repeatable, default {', '.join(USUAL_FORMATS)}. "
            "With parquet, candidates and unlinked sources are Parquet, too.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a run in the output folder.", rich_help_panel=OUTPUT)
    ] = False
    quiet: Quiet = False
    as_json: Json = False


@dataclass(frozen=True)
class LongRunOptions:
    """For runs that take long."""

    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate memory and time, and stop.", rich_help_panel=LONG)
    ] = False
    memory: Annotated[
        float | None,
        typer.Option(
            "--memory",
            parser=size_of,
            metavar="<size>",
            help="Make the run fit into so much memory, such as 8GB, or say what it would need; default: what is free.",
            rich_help_panel=LONG,
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue the run in --out after its last round.", rich_help_panel=LONG),
    ] = False


@dataclass(frozen=True)
class ScreenOptions:
    """What the terminal shows."""

    everything: All = False


def flattened(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb that takes dataclasses of options, as Typer needs it: with a parameter for each option."""
    groups = [kind for name, kind in get_type_hints(verb).items() if name != "return"]
    assert all(is_dataclass(group) for group in groups)

    @wraps(verb)
    def called(**given: Any) -> None:
        verb(*(group(**{field.name: given[field.name] for field in fields(group)}) for group in groups))

    parameters = []
    for group in groups:
        hints = get_type_hints(group, include_extras=True)
        parameters += [_parameter(field, hints[field.name]) for field in fields(group)]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {}
    return called


def _parameter(field: Field[Any], kind: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def chosen_inputs(graphs: GraphOptions, reading: ReadingOptions, output: OutputOptions, config: Path | None) -> Inputs:
    """The inputs that the options lead to, over those of a settings file."""
    given = {field.name: getattr(graphs, field.name) for field in fields(graphs)}
    given |= reading.readings(graphs.source, graphs.target)
    given |= {"top_k": output.top_k, "with_seeds": output.with_seeds or None, "formats": output.formats}
    given |= {"reasons": output.reasons or None}
    given = {name: value for name, value in given.items() if value is not None}
    inputs = Inputs(**given) if config is None else Inputs.parse(read_config(config, "run"), config).over(given)
    inputs.check(split_given=graphs.split is not None)
    return inputs.absolute()


def chosen_settings(
    method: MethodOptions, inputs: Inputs | None = None, output: OutputOptions | None = None
) -> Settings:
    """The settings that the options lead to, with the device decided."""
    given: dict[str, Any] = {"device": method.device, "seed": method.seed, "method": method.method}
    if method.method not in {None, EMEA} and (method.encoder or method.mode):
        raise SettingsError(f"--encoder and --mode require the method emea, found --method {method.method}")
    if method.local_names and method.evidence == "structure":
        raise SettingsError("--local-names uses URIs as names, which --evidence structure ignores")
    if method.seed is None and method.config is None and inputs is not None and inputs.ratio is not None:
        given["seed"] = inputs.split
    given["evidence"] = _evidence(method, inputs)
    engine = {"kind": method.engine, "gpus": method.engine_gpus}
    given["engine"] = {name: value for name, value in engine.items() if value is not None}
    if method.encoder is not None:
        given["em"] = {"encoder": method.encoder}
    if output is not None:
        wanted = {
            "cardinality": output.cardinality,
            "minimum": output.min_confidence,
            "precision": output.target_precision,
        }
        given["matching"] = {name: value for name, value in wanted.items() if value is not None}
    chosen = load(method.preset, method.config, method.assignments or (), **given)
    if method.mode is not None:
        name = chosen.em.encoder
        if "mode" not in type(chosen.encoder_settings()).model_fields:
            raise SettingsError(f"found --mode {method.mode}, but encoder '{name}' has no modes; try --encoder rrea")
        modes = {"encoders": {name: {"mode": method.mode}}}
        chosen = load(method.preset, method.config, method.assignments or (), **given, **modes)
    return decided(chosen)


def _evidence(method: MethodOptions, inputs: Inputs | None) -> dict[str, Any]:
    """What is usual for the inputs, unless something says otherwise; names from URIs are compared in any case."""
    stated = method.config is not None and "kind" in read_config(method.config).get("evidence", {})
    stated |= any(assignment.strip().startswith("evidence.kind") for assignment in method.assignments or ())
    usual = usual_evidence(benchmark=inputs is None or not (inputs.source or method.local_names))
    kind = method.evidence or (None if stated else usual)
    chosen = {"kind": kind, "local_names": method.local_names or None, "shared_iris": method.shared_iris}
    return {name: value for name, value in chosen.items() if value is not None}


def decided(chosen: Settings) -> Settings:
    """The settings with a device that works here: the given one, or a GPU if there is one."""
    import torch

    if "device" not in chosen.model_fields_set and torch.cuda.is_available():
        chosen = chosen.model_copy(update={"device": "cuda"})
    try:
        torch.empty(0, device=chosen.device)
    except (RuntimeError, AssertionError) as error:
        raise SettingsError(f"device '{chosen.device}' cannot be used here: {str(error).splitlines()[0]}") from error
    return chosen


def numbers(option: str, text: str, kind: type[Number]) -> list[Number]:
    """The numbers in a comma-separated text."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        whole = "integers" if kind is int else "numbers"
        raise SettingsError(f"{option}: found '{text}', expected {whole} separated by commas") from None
