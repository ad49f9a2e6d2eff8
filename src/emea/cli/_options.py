"""What options are called and mean, and the settings that they come to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeVar

import torch
import typer

from emea import settings
from emea.errors import SettingsError
from emea.settings import PRESETS, Settings

Number = TypeVar("Number", int, float)
Out = Annotated[Path, typer.Option("--out", help="Folder for the results; made if it is not there.")]
Preset = Annotated[str, typer.Option(help=f"Named settings: {', '.join(PRESETS)}.")]
Method = Annotated[
    str | None,
    typer.Option(
        "--method", help="emea, or a system to compare it with; listed by emea baselines.", show_default=False
    ),
]
EncoderName = Annotated[str | None, typer.Option("--encoder", help="Embedding model; listed by emea encoders.")]
Mode = Annotated[
    Literal["sup", "semi"] | None,
    typer.Option(help="Of a trained encoder: supervised, or semi-supervised, also on pairs it finds."),
]
EvidenceKind = Annotated[
    Literal["structure", "names", "literals", "all"] | None,
    typer.Option(
        help="What counts: relations alone, also names, also values, or all; by default all, with --data structure."
    ),
]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 …; by default a GPU where there is one.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Of all random draws; by default the split's number, or 0.")]
Config = Annotated[Path | None, typer.Option(help="Settings in a TOML file, such as another run's settings.toml.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="One setting, such as em.rounds=5; may be repeated.")]
TopK = Annotated[int | None, typer.Option(min=1, help="Candidates written for each source; by default 50.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, for other programs.")]
Force = Annotated[bool, typer.Option("--force", help="Write into a folder that already holds a run.")]


def chosen_settings(  # noqa: PLR0917 - one parameter for each option
    preset: str = "fast",
    config: Path | None = None,
    assignments: list[str] | None = None,
    device: str | None = None,
    seed: int | None = None,
    mode: str | None = None,
) -> Settings:
    """The settings that the options come to, the device decided."""
    assignments = assignments or []
    chosen = settings.load(preset, config, assignments, device=device, seed=seed)
    if mode is not None:
        name = chosen.em.encoder
        if "mode" not in type(chosen.encoder_settings()).model_fields:
            raise SettingsError(f"found --mode {mode}, but encoder '{name}' knows no modes; try --encoder rrea")
        assignments = [*assignments, f'encoders."{name}".mode={mode}']
        chosen = settings.load(preset, config, assignments, device=device, seed=seed)
    decided = device is not None or "device" in chosen.model_fields_set
    if not decided and torch.cuda.is_available():
        chosen = chosen.model_copy(update={"device": "cuda"})
    try:
        torch.empty(0, device=chosen.device)
    except (RuntimeError, AssertionError) as error:
        raise SettingsError(f"device '{chosen.device}' cannot be used here: {str(error).splitlines()[0]}") from error
    return chosen


def numbers(option: str, text: str, kind: type[Number]) -> list[Number]:
    """The numbers in a text with commas."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        whole = "whole numbers" if kind is int else "numbers"
        raise SettingsError(f"{option}: found '{text}', expected {whole} with commas between them") from None
