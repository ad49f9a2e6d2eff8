"""Numbers for the files and settings of a stored run, by which it is known again."""

from __future__ import annotations

import hashlib

from emea.settings import Settings

SINCE = {  # settings added after the first runs were stored, with the value that means what was done before
    "matching": {"cardinality": "one-to-one"},
    "evidence": {"shared_iris": "same"},  # without effect on structure, of which all stored runs are
}


def of_settings(settings: Settings) -> str:
    """A number for all settings but the device, defaults included."""
    values = {name: value for name, value in settings.resolved().items() if name != "device"}
    for stage, added in SINCE.items():
        kept = values[stage].items()
        values[stage] = {name: value for name, value in kept if name not in added or value != added[name]}
    return digest(values)


def digest(value: object) -> str:
    """A short number for a value."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]
