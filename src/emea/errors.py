"""The errors a user can mend; anything else that escapes is a defect of ours."""

from __future__ import annotations


class EmeaError(Exception):
    """Something the user gave cannot be used; the message says what, where, and what was expected."""

    exit_code = 2


class InputError(EmeaError):
    """A file, a folder or a pair that cannot be read as what it should be."""


class SettingsError(EmeaError):
    """An unknown setting or an impossible value."""


class PluginError(EmeaError):
    """An encoder or a rule that does not keep its contract."""
