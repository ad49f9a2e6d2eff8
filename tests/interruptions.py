"""Runs that are interrupted."""

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from emea.cli import main
from emea.data import Task
from emea.runs.checkpoint import Checkpoint


class Case:
    """A run by the command line, called in this process, that a round interrupts."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch
        for side in ("a", "b"):
            rows = [f"{side}{number}\tnext\t{side}{number * number % 31}" for number in range(60)]
            (folder / f"{side}.tsv").write_text("\n".join(["head\trelation\ttail", *rows]) + "\n")
        (folder / "seeds.tsv").write_text("".join(f"a{number}\tb{number}\n" for number in range(30)))
        (folder / "fewer.tsv").write_text("".join(f"a{number}\tb{number}\n" for number in range(20)))

    def align(self, *more: str, seeds: str = "seeds.tsv", rounds: int = 3, code: int = 0) -> str:
        """What the command says."""
        files = [str(self.folder / name) for name in ("a.tsv", "b.tsv", seeds)]
        asked = ["align", *files[:2], "--seeds", files[2], "--set", f"em.rounds={rounds}", "--evidence", "structure"]
        return self.command(*asked, "--device", "cpu", *more, code=code)

    def command(self, *arguments: str, code: int = 0) -> str:
        """What a command says, in one line."""
        self.monkeypatch.chdir(self.folder)
        self.monkeypatch.setattr(sys, "argv", ["emea", *arguments])
        said = io.StringIO()
        with redirect_stderr(said), redirect_stdout(said), pytest.raises(SystemExit) as ended:
            main()
        assert int(ended.value.code or 0) == code, said.getvalue()
        return " ".join(said.getvalue().split())

    def interrupt(self, out: str, after: int = 1, more: Sequence[str] = (), shown: str | None = None) -> None:
        """A run that is interrupted from the keyboard after a round; its folder may be shown as something else."""
        write = Checkpoint.write

        def stop(saved: Checkpoint, folder: Path, task: Task) -> None:
            write(saved, folder, task)
            if saved.state.done == after + 1:
                raise KeyboardInterrupt

        with self.monkeypatch.context() as patched:
            patched.setattr(Checkpoint, "write", stop)
            assert f"continue with: emea align --resume --out {shown or out}" in self.align(
                "--out", out, *more, code=130
            )
