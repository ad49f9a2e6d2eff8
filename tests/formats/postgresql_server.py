"""A PostgreSQL server for the tests, if the machine has one to start."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest

PASSWORD = "se:cr@et/1%?#"
PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)  # where Debian has it


@dataclass(frozen=True)
class Server:
    """A running server with the user and database `tester`."""

    port: int

    def address(self, password: str | None = None, query: str = "") -> str:
        """The address of the database."""
        login = "tester" if password is None else f"tester:{password}"
        return f"postgresql://{login}@127.0.0.1:{self.port}/postgres{query}"

    def execute(self, *statements: str) -> None:
        """Change the database."""
        with self._cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def ingest(self, name: str, table: pa.Table) -> None:
        """Add a table."""
        with self._cursor() as cursor:
            cursor.adbc_ingest(name, table)

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
        address = self.address(quote(PASSWORD, safe=""))
        with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
            yield cursor


@contextmanager
def running() -> Iterator[Server]:
    """A server with data of its own; the test is skipped where none can be started."""
    found = shutil.which("initdb", path=os.pathsep.join([os.environ.get("PATH", ""), *map(str, PLACES)]))
    if found is None:
        pytest.skip("PostgreSQL is not installed here (Debian: apt-get install postgresql)")
    programs, who = Path(found).parent, _other_user()
    folder = Path(tempfile.mkdtemp(prefix="emea-postgresql-"))
    try:
        (folder / "password").write_text(PASSWORD)
        if who is not None:
            for path in (folder, folder / "password"):
                os.chown(path, who.pw_uid, who.pw_gid)
        data, port = folder / "data", _free_port()
        secret = ["-A", "scram-sha-256", "-U", "tester", f"--pwfile={folder / 'password'}"]
        _run([programs / "initdb", "-D", data, "--no-sync", *secret], who)
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        control = [programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
        _run([*control, "-o", options, "start"], who)
        try:
            yield Server(port)
        finally:
            _run([*control, "-m", "immediate", "stop"], who)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _other_user() -> pwd.struct_passwd | None:
    """Who runs the server: it refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("PostgreSQL cannot be run by root, and there is no user postgres")


def _run(command: list[str | Path], who: pwd.struct_passwd | None) -> None:
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "cwd": "/", "timeout": 60}
    if who is not None:
        options |= {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
    ended = subprocess.run(command, stderr=subprocess.PIPE, check=False, **options)
    assert ended.returncode == 0, ended.stderr.decode()


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])
