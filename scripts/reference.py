"""Writes the pages of docs/reference that follow from the code: commands and settings.

python scripts/reference.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from emea import plugins
from emea.cli import app
from emea.contracts import Baseline, Encoder, Plugin, Rule
from emea.presets import PRESETS
from emea.report.tables import markdown_table
from emea.settings import Settings

PAGES = Path(__file__).parents[1] / "docs" / "reference"
MADE = "<!-- Made by scripts/reference.py. -->"
KINDS: dict[str, type[Plugin[Any]]] = {"encoders": Encoder, "rules": Rule, "baselines": Baseline}


def commands() -> str:
    """Every command with its arguments and options, as `--help` tells them."""
    parts = ["# Commands", MADE, "What `emea COMMAND --help` shows. [What the options are for](../options.md)."]
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        context = command.make_context(name, [], resilient_parsing=True)
        usage = " ".join(command.collect_usage_pieces(context))
        about, _, examples = (command.help or "").replace("\b", "").partition("\n\n")
        shown = "\n".join(line.strip() for line in examples.splitlines() if line.strip())
        parts += [f"## emea {name}", plain(about), f"```\nemea {name} {usage}\n{shown}".rstrip() + "\n```"]
        records = (each.get_help_record(context) for each in command.params)
        rows = [{"": f"`{written(called)}`", "what it does": plain(about)} for called, about in filter(None, records)]
        parts.append(markdown_table(rows))
    return "\n\n".join(parts) + "\n"


def written(option: str) -> str:
    """An option and what it takes, without characters that would end a cell."""
    return option.replace("<list[str]>", "<str>, repeatable").replace("|", " or ")


def settings() -> str:
    """Every setting by stage or plug-in, with its default."""
    parts = [
        "# Settings",
        MADE,
        "Given as `--set em.rounds=5`, in a file (`--config run.toml`, `[em]` and then `rounds = 5`), or in Python "
        "(`emea.Settings(em={'rounds': 5})`). The defaults are the preset `fast`.",
        markdown_table(
            [
                {"preset": f"`{name}`", "what it changes": ", ".join(f"`{each}`" for each in changed(changes)) or "–"}
                for name, changes in PRESETS.items()
            ]
        ),
    ]
    stages = {name: kind for name, field in Settings.model_fields.items() if (kind := model_of(field.annotation))}
    single = [name for name in Settings.model_fields if name not in stages and name not in KINDS]
    parts += ["## For the whole run", markdown_table([row("", name, Settings) for name in single])]
    for name, stage in stages.items():
        rows = [row(f"{name}.", field, stage) for field in stage.model_fields]
        parts += [f"## {name}", plain(stage.__doc__), markdown_table(rows)]
    for kind, contract in KINDS.items():
        for name in plugins.names(kind):
            own = plugins.find(kind, name, contract).Settings
            if own.model_fields:
                rows = [row(f"{kind}.{name}.", field, own) for field in own.model_fields]
                parts += [f"## {kind}: {name}", markdown_table(rows)]
    return "\n\n".join(part for part in parts if part) + "\n"


def model_of(annotation: Any) -> type[BaseModel] | None:
    """The class of a stage's settings, None if it is a single value."""
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def changed(changes: dict[str, Any], before: str = "") -> list[str]:
    """What a preset changes, as it would be given to --set."""
    found = []
    for name, value in changes.items():
        found += changed(value, f"{before}{name}.") if isinstance(value, dict) else [f"{before}{name}={value}"]
    return found


def row(before: str, name: str, model: type[BaseModel]) -> dict[str, str]:
    """A setting's row."""
    field = model.model_fields[name]
    default = field.get_default(call_default_factory=True, validated_data={})
    shown = "" if default is None or default is PydanticUndefined else default
    if isinstance(shown, tuple | list):
        shown = ",".join(map(str, shown))
    return {
        "setting": f"`{before}{name}`",
        "default": f"`{shown}`" if str(shown) else "–",
        "what it is": plain(field.description),
    }


def plain(text: str | None) -> str:
    """A text on one line, as Markdown."""
    return re.sub(r"\s+", " ", (text or "").strip()).replace("|", "\\|").replace("<", "&lt;")


def main() -> None:
    """Write the pages."""
    PAGES.mkdir(exist_ok=True)
    for name, text in {"commands": commands(), "settings": settings()}.items():
        (PAGES / f"{name}.md").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
