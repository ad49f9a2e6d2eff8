"""A run depends on its inputs alone: not on locale, time zone, home, folder or the order of hashes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SHOP = "id,name,city,founded\n" + "".join(
    f"S{number},{name},{city},{1950 + number}\n"
    for number, (name, city) in enumerate(
        [
            ("Bäckerei Müller", "Köln"),
            ("Istanbul Grill", "İzmir"),
            ("ISTANBUL IMBISS", "Ankara"),
            ("Café Ωmega", "Αθήνα"),
            ("東京カメラ", "東京"),
            ("Straße & Söhne", "Linz"),
            ("Dales Outdoor", "Skipton"),
            ("Castle Hotel", "York"),
        ]
    )
)
REGISTER = (
    SHOP.replace("id,name,city,founded", "nr,company,town,year").replace("\nS", "\nR").replace("Müller", "Mueller")
)
OFFLINE = """
import socket, sys

def refuse(*arguments, **named):
    raise AssertionError("the network was asked for")

for name in ("connect", "connect_ex", "bind", "sendto"):
    setattr(socket.socket, name, refuse)
socket.getaddrinfo = socket.create_connection = refuse
from emea.cli import main
sys.argv[0] = "emea"
main()
"""
SURROUNDINGS = {
    "C locale, no UTF-8 mode": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "Latin-1": {"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1:replace"},
    "Turkish": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "another time zone": {"TZ": "Pacific/Kiritimati"},
    "no home": {"HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"},
    "another order of hashes": {"PYTHONHASHSEED": "12345"},
    "a dumb, narrow terminal": {"TERM": "dumb", "COLUMNS": "20", "NO_COLOR": "1"},
}


def linked(folder: Path, surroundings: dict[str, str]) -> dict[str, bytes]:
    """What a run leaves of itself, and how it ended."""
    folder.mkdir(parents=True)
    (folder / "shop.csv").write_text(SHOP, encoding="utf-8")
    (folder / "register.csv").write_text(REGISTER, encoding="utf-8")
    command = [sys.executable, "-m", "emea", "align", "shop.csv", "register.csv", "--out", "run", "--device", "cpu"]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **surroundings},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    names = ("alignment.tsv", "alignment.sssom.tsv", "candidates.tsv", "unlinked.tsv", "relations.tsv")
    return {name: (folder / "run" / name).read_bytes() for name in names}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return linked(tmp_path_factory.mktemp("usual") / "here", {})


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_what_lies_around_a_run_does_not_change_it(name: str, usual: dict[str, bytes], tmp_path: Path) -> None:
    assert linked(tmp_path / "here", SURROUNDINGS[name]) == usual


@pytest.mark.parametrize("name", ["with space", "ümläut", "日本", "a'b\"c", "-dash", "%20#"])
def test_a_folder_may_have_any_name(name: str, usual: dict[str, bytes], tmp_path: Path) -> None:
    assert linked(tmp_path / name, {}) == usual


def test_lines_may_end_as_on_windows(usual: dict[str, bytes], tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    for name, text in (("shop.csv", SHOP), ("register.csv", REGISTER)):
        (folder / name).write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())  # with a byte-order mark
    command = [sys.executable, "-m", "emea", "align", "shop.csv", "register.csv", "--out", "run", "--quiet"]
    subprocess.run(command, cwd=folder, check=True)
    assert (folder / "run" / "alignment.tsv").read_bytes() == usual["alignment.tsv"]


def offline(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A command that fails if it asks for the network."""
    given = [sys.executable, "-c", OFFLINE, *command.split()]
    return subprocess.run(given, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)


def test_an_address_among_the_inputs_asks_for_the_network(tmp_path: Path) -> None:
    """And nothing else does, as the next test shows."""
    (tmp_path / "shop.csv").write_text(SHOP, encoding="utf-8")
    done = offline(tmp_path, "align shop.csv http://127.0.0.1:9/sparql --query dbo:City --out run")
    assert "the network was asked for" in done.stderr


def test_no_command_asks_for_the_network(tmp_path: Path) -> None:
    linked(tmp_path / "here", {})
    commands = [
        "align shop.csv register.csv --out again",
        "align shop.csv register.csv --seeds pairs.tsv --preset fast --force --out again",
        "profile shop.csv register.csv",
        "explain run S7",
        "report run --out report.html",
        "evaluate run --reference pairs.tsv",
        "merge run --out merged.csv",
        "convert shop.csv shop.parquet",
        "decisions run",
        "decisions run --export decided.sssom.tsv",
        "doctor",
        "demo --quiet --device cpu",
    ]
    (tmp_path / "here" / "pairs.tsv").write_text("source\ttarget\nS6\tR6\nS7\tR7\n", encoding="utf-8")
    for command in commands:
        done = offline(tmp_path / "here", command)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
