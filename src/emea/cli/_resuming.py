"""Output folders that already hold a run: refused, continued, or overwritten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from emea.cli._options import GraphOptions, MethodOptions, OutputOptions, chosen_inputs, chosen_settings
from emea.cli._reading import ReadingOptions
from emea.errors import InputError, SettingsError
from emea.runs.folder import finished, refuse_losing_decisions, rounds_done
from emea.runs.inputs import Inputs
from emea.settings import EMEA, load, read_config

SETTINGS = "settings.toml"
NOT_OF_THE_RUN = {
    "folder",
    "quiet",
    "as_json",
    "force",
    "engine",
    "engine_gpus",
}  # options that say nothing about what is linked or how


def refuse_finished(folder: Path) -> None:
    """Refuse to resume a run that has ended."""
    if finished(folder):
        raise InputError(f"the run in {folder} is finished; there is nothing to resume")


def refuse_overwriting(folder: Path, *, force: bool) -> None:
    """Refuse a folder that holds a run, finished or not, unless that is to be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, expected a folder for the results")
    refuse_losing_decisions(folder)
    if force or not (folder / SETTINGS).exists():
        return
    if finished(folder):
        raise SettingsError(f"{folder} already holds a run; give --force to overwrite it, or another --out")
    settings = read_config(folder / SETTINGS)
    if settings.get("method", EMEA) != EMEA:
        raise SettingsError(f"{folder} holds an interrupted run; start over with --force")
    (ended, rounds), em = rounds_done(folder), settings.get("em", {})
    scouts = em.get("scouts", 0)  # each counts its own rounds, and may have another number of them
    whole = f" in scout {ended + 1} of {scouts}" if ended < scouts else f" of {em.get('rounds', '?')}"
    raise SettingsError(
        f"{folder} holds an interrupted run (round {rounds}{whole}); continue with --resume, or start over with --force"
    )


def interrupted(
    folder: Path, graphs: GraphOptions, reading: ReadingOptions, method: MethodOptions, output: OutputOptions
) -> Path:
    """The settings of the interrupted run in a folder; refused if the options ask for another run."""
    path = folder / SETTINGS
    if not path.exists():
        raise InputError(f"{folder} holds no run to resume: it has no {SETTINGS}")
    refuse_finished(folder)
    if not any(_says_something(group) for group in (graphs, reading, method, output)):
        return path
    if graphs.source is None and graphs.data is None and method.config is None:
        raise SettingsError(
            f"--resume goes on with the run in {folder} as it was begun, found other options without its graphs; "
            f"expected the same command as before with --resume, or none but --resume --out {folder}"
        )
    inputs = chosen_inputs(graphs, reading, output, method.config)
    asked = {**chosen_settings(method, inputs, output).resolved(), "run": inputs.table()}
    begun = {**load(config=path).resolved(), "run": Inputs.parse(read_config(path, "run"), path).table()}
    wanted, known = ({name: value for name, value in each.items() if name != "engine"} for each in (asked, begun))
    wanted, known = dict(_flat(wanted)), dict(_flat(known))
    for name in sorted(wanted.keys() | known.keys()):
        if wanted.get(name) != known.get(name) and not _fitted(name, wanted.get(name), known.get(name)):
            raise SettingsError(
                f"the interrupted run in {folder} has {_shown(name, known)}, found {_shown(name, wanted)}; expected "
                f"the same options as before, or none but --resume --out {folder}"
            )
    return path


def _fitted(name: str, wanted: Any, known: Any) -> bool:
    """Whether a run may have another value than it was given because it fitted that to the free memory."""
    if name == "similarity.bounded":
        return bool(known == 0)
    return name == "similarity.block" and known is not None and (wanted is None or known < wanted)


def _says_something(group: GraphOptions | ReadingOptions | MethodOptions | OutputOptions) -> bool:
    """Whether an option about the run is given."""
    for option in fields(group):
        default = None if option.default is MISSING else option.default
        if option.name not in NOT_OF_THE_RUN and getattr(group, option.name) != default:
            return True
    return False


def _flat(values: dict[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    """Each value with its full name; lists as TOML knows no tuples."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{place}{name}.")
        else:
            yield f"{place}{name}", list(value) if isinstance(value, tuple) else value


def _shown(name: str, values: dict[str, Any]) -> str:
    label = name.removeprefix("run.")
    return f"{label} = {values[name]}" if name in values else f"no {label}"
