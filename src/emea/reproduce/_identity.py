"""Numbers for the files and settings of a stored run, by which it is known again."""

from __future__ import annotations

import hashlib

from emea.settings import Settings

# Settings added after the first runs were stored, with the value that means what was done before.
SINCE: dict[str, dict[str, object]] = {
    "matching": {"cardinality": "one-to-one"},
    "em": {"growth": 0},
    "evidence": {"shared_iris": "same"},  # without effect on structure, of which all stored runs are
    "similarity": {"bounded": None, "shared": 512, "scanned": 2048},  # without effect on stored runs, all of GPUs
}
BEFORE = {"evidence": {"most_strings": (2**13, 100_000)}}  # defaults now and then, without effect on structure


def of_settings(settings: Settings) -> str:
    """A number for all settings but the device, defaults included."""
    values = {name: value for name, value in settings.resolved().items() if name != "device"}
    for stage in values.keys() & SINCE.keys():  # a baseline has fewer stages
        kept, added = values[stage].items(), SINCE[stage]
        values[stage] = {name: value for name, value in kept if name not in added or value != added[name]}
    for name, (now, then) in BEFORE["evidence"].items():
        values["evidence"][name] = then if values["evidence"][name] == now else values["evidence"][name]
    return digest(values)


def digest(value: object) -> str:
    """A short number for a value."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]
