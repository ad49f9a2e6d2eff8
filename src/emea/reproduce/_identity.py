"""Numbers for the files and settings of a stored run, by which it is known again."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path
from typing import Any

from emea import plugins
from emea.contracts import Plugin
from emea.settings import EMEA, Settings

# Settings added after the first runs were stored, by stage or plug-in, with the value that means what was done before.
SINCE: dict[str, dict[str, object]] = {
    "matching": {"cardinality": "one-to-one"},
    "em": {"growth": 0.0, "scouts": 0},
    "probability": {"discount": False},
    "propagation": {"shared": False, "forget": False, "far": 1.0},
    "dual_amn": {"negatives": 0},
    "evidence": {"shared_iris": "same"},  # without effect on structure, of which all stored runs are
    "similarity": {"bounded": None, "shared": 512, "scanned": 2048},  # without effect on stored runs, all of GPUs
}
BEFORE = {  # defaults now and then
    "evidence": {"most_strings": (2**13, 100_000)},  # without effect on structure
    "similarity": {"axes": (512, 1024)},  # without effect on stored runs, all of GPUs
}


def of_settings(settings: Settings) -> str:
    """A number for all settings but the device and the engine, defaults included."""
    values = {name: value for name, value in settings.resolved().items() if name not in {"device", "engine"}}
    values = {name: _as_before(name, value) for name, value in values.items()}
    for stage, changed in BEFORE.items():
        for name, (now, then) in changed.items():
            if values.get(stage, {}).get(name) == now:
                values[stage][name] = then
    return digest(values)


def of_plugins(settings: Settings) -> list[str]:
    """A number for the files of plug-ins from elsewhere, which may change without changing a setting."""
    if settings.method != EMEA:
        used = [("baselines", settings.method)]
    else:
        used = [("encoders", settings.em.encoder), *(("rules", name) for name in settings.rule_names)]
    classes = [plugins.find(kind, name, Plugin) for kind, name in used]
    files = [Path(inspect.getfile(each)) for each in classes if not each.__module__.startswith("emea.")]
    return [hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]] if files else []


def _as_before(name: str, value: Any) -> Any:
    """A stage's settings, or those of the plug-ins in it, without what says that nothing new is done."""
    if not isinstance(value, dict):
        return value
    added = SINCE.get(name, {})
    kept = {key: each for key, each in value.items() if key not in added or each != added[key]}
    return {key: _as_before(key, each) for key, each in kept.items()}


def digest(value: object) -> str:
    """A short number for a value."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]
