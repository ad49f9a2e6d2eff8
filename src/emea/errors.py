"""Errors that a user can fix. Any other exception that escapes is an internal error."""

from __future__ import annotations


class EmeaError(Exception):
    """Something the user gave cannot be used; the message says what was found and what was expected."""

    exit_code = 2


class InputError(EmeaError):
    """A file, folder or pair that cannot be read as what it should be."""


class SettingsError(EmeaError):
    """An unknown setting or an impossible value."""


class PluginError(EmeaError):
    """An encoder or rule that breaks its contract."""


class NotEnoughMemoryError(EmeaError):
    """The run would not fit into memory; the message says what would."""

    exit_code = 3
