"""What differs between Linux, macOS and Windows is known in one place, and files are the same everywhere."""

import ast
import io
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from emea.cli import main
from emea.kernels import devices
from emea.kernels.devices import peak_memory
from emea.review import server

SOURCE = Path(__file__).parents[1] / "src" / "emea"
ONLY_UNIX = {"fcntl", "grp", "pwd", "resource", "termios"}


def calls() -> Iterator[tuple[Path, ast.Call]]:
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield path, node


def test_text_has_the_same_encoding_and_line_ends_everywhere() -> None:
    found, seen = [], 0
    for path, call in calls():
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        given = {word.arg for word in call.keywords}
        wanted = {"write_text": {"encoding", "newline"}, "read_text": {"encoding"}}.get(name, set())
        seen += bool(wanted)
        if not wanted <= given and not (name == "read_text" and call.args):
            found.append(f"{path.name}, line {call.lineno}: {name} without {sorted(wanted - given)}")
    assert seen > 10
    assert found == []


def test_modules_that_windows_lacks_are_not_imported_with_ours() -> None:
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & ONLY_UNIX, path


def test_the_peak_on_linux_is_that_of_the_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for process, text in {"self": "Name:\tbäm\nVmHWM:\t    2048 kB\n", "7": "Name:\tended\n"}.items():
        (tmp_path / process).mkdir()
        (tmp_path / process / "status").write_text(text, encoding="utf-8")
    monkeypatch.setattr(devices, "PROCESSES", tmp_path)
    assert peak_memory() == 2 << 20
    assert peak_memory(7) == 0


def test_the_peak_on_macos_is_told_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(devices, "PROCESSES", tmp_path)
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=123_456_789))
    assert peak_memory() == 123_456_789


@pytest.mark.parametrize(
    ("held", "told"), [(SimpleNamespace(rss=5), 5), (SimpleNamespace(rss=5, peak_wset=9), 9)], ids=["now", "Windows"]
)
def test_the_peak_elsewhere_is_that_of_psutil(
    held: SimpleNamespace, told: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "PROCESSES", tmp_path)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(psutil, "Process", lambda _: SimpleNamespace(memory_info=lambda: held))
    assert peak_memory() == told


def test_the_peak_is_plausible_here() -> None:
    assert 1e7 < psutil.Process().memory_info().rss < 2 * peak_memory() < 1e12


def test_the_review_page_shares_its_port_with_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_KEEPALIVE, raising=False)  # stands for Windows
    with server._bound("127.0.0.1", 0) as place:
        assert place.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) == 0
        assert place.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) != 0


def test_what_a_pipe_has_no_letters_for_is_shown_as_question_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, where pipes have some hundred letters."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("id,name,city\n1,Café,Köln\n2,東京カメラ,東京\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    said = b""
    for command in ("align a.csv b.csv --out run --quiet --device cpu", "explain run 2"):
        pipe = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
        monkeypatch.setattr(sys, "stdout", pipe)
        monkeypatch.setattr(sys, "argv", ["emea", *command.split()])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        pipe.flush()
        said = pipe.buffer.getvalue()  # type: ignore[attr-defined]
    assert "?????" in said.decode("cp1252")
