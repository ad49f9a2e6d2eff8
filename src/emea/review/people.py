"""Who decides: a token for each person, which their browser exchanges for a cookie."""

from __future__ import annotations

import getpass
import hmac
import secrets
from collections.abc import Sequence

from emea.errors import SettingsError

LONGEST = 80  # characters of a name


class People:
    """The people who may decide, as long as the server runs."""

    def __init__(self, names: Sequence[str] = (), tokens: Sequence[str] = ()) -> None:
        """Those of these names, or else whoever started the server; tokens are drawn unless given."""
        names = [name.strip() for name in names] or [_myself()]
        for name in names:
            if not name or len(name) > LONGEST or not name.isprintable() or "|" in name:
                expected = f"expected at most {LONGEST} letters, without |"
                raise SettingsError(f"--person: found '{name}', {expected}")
        if len(set(names)) < len(names):
            raise SettingsError("--person: found the same name twice, expected different ones")
        given = list(tokens) or [secrets.token_urlsafe(32) for _ in names]
        self.tokens = dict(zip(names, given, strict=True))
        self._sessions = {secrets.token_urlsafe(32): name for name in names}

    def session(self, token: str) -> str | None:
        """What a person's cookie holds, in exchange for their token."""
        who = _holder({given: name for name, given in self.tokens.items()}, token)
        return next((session for session, name in self._sessions.items() if name == who), None)

    def who(self, session: str) -> str | None:
        """Whose cookie this is."""
        return _holder(self._sessions, session)


def _holder(secrets_: dict[str, str], given: str) -> str | None:
    """Whose secret this is; takes as long for a wrong one."""
    found = [name for secret, name in secrets_.items() if hmac.compare_digest(secret.encode(), given.encode())]
    return found[0] if found else None


def _myself() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without names
        return "reviewer"
