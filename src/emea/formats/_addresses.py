"""Addresses of servers, and their passwords, which are never shown or kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode

from emea.errors import InputError

SERVERS = ("http", "https", "postgresql", "postgres")  # schemes of what is asked
STORES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "file")  # schemes of files that lie elsewhere
KEYED = ("s3", "gs", "gcs")  # whose login is a key; without it, what the surroundings have counts
SECRET = ("password", "sslpassword", "client_secret", "sig")  # parameters: PostgreSQL's, Azure's


@dataclass(frozen=True)
class Address:
    """The parts of an address."""

    scheme: str
    user: str
    password: str | None
    place: str  # host, port and path
    parameters: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, address: str) -> Address:
        """The parts. In a database's address, a password may hold slashes and at signs as they are: what follows the
        last at sign is its place."""
        scheme, _, rest = address.partition("://")
        has_path = scheme.lower() in ("http", "https", *STORES)
        host, slash, path = rest.partition("/") if has_path else (rest, "", "")
        login, _, host = host.rpartition("@")
        place, _, query = (host + slash + path).partition("?")
        user, colon, password = login.partition(":")
        parameters = tuple(parse_qsl(query, keep_blank_values=True))
        return cls(scheme.lower(), unquote(user), unquote(password) if colon else None, place, parameters)

    def text(self, *, secret: bool) -> str:
        """The address, with or without the secrets in it."""
        login = quote(self.user, safe="") if secret or self.scheme not in KEYED else ""
        if secret and self.password is not None:
            login += ":" + quote(self.password, safe="")
        kept = [(name, value) for name, value in self.parameters if secret or name.lower() not in SECRET]
        query = urlencode(kept, safe=":/", quote_via=quote)
        return f"{self.scheme}://" + (f"{login}@" if login else "") + self.place + (f"?{query}" if query else "")


def check_no_address(place: object) -> None:
    """Refuse a path that was made of an address.

    >>> check_no_address(Path("s3://bucket/a.ttl"))
    Traceback (most recent call last):
    emea.errors.InputError: found the address s3://bucket/a.ttl as a Path, which drops a slash; expected it as text
    """
    if isinstance(place, Path) and place.parts and place.parts[0].lower().removesuffix(":") in (*STORES, *SERVERS):
        scheme, *rest = place.parts
        if scheme.endswith(":"):
            shown = without_password(f"{scheme}//{'/'.join(rest)}")
            raise InputError(f"found the address {shown} as a Path, which drops a slash; expected it as text")


def unknown_scheme(place: str, known: Iterable[str]) -> InputError:
    """An address that cannot be read from, and what could be."""
    found = f"found the scheme '{Address.parse(place).scheme}'"
    return InputError(f"{without_password(place)}: {found}, expected a file or one of {', '.join(sorted(known))}")


def without_password(place: str | Path) -> str | Path:
    """An address without the password in it; a path as it is.

    >>> without_password("postgresql://reader:secret@example.org/world?schema=a&password=secret")
    'postgresql://reader@example.org/world?schema=a'
    >>> without_password("s3://key:secret@bucket/snap@2024.ttl")
    's3://bucket/snap@2024.ttl'
    """
    if not isinstance(place, str) or "://" not in place:
        return place
    parts = Address.parse(place)
    secret = parts.password is not None or any(name.lower() in SECRET for name, _ in parts.parameters)
    return parts.text(secret=False) if secret else place
