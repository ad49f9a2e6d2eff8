"""A run whose tables are Parquet: the same tables, and every command that reads a run takes it."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import torch

from emea.data import Candidates, Counterparts, Graph, Links, Task
from emea.formats.table import write_columns
from emea.kernels.segments import segment_rank
from emea.review.tables import Ranked
from emea.runs import results
from emea.runs.finished import evaluate_run
from emea.runs.results import CANDIDATE_SCHEMA, write_candidates
from test_run import QUICK, command
from towns import write_towns

TABLES = ("candidates", "unlinked", "unlinked.targets")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run twice, in the folders `plain` and `packed`; and true pairs."""
    folder = tmp_path_factory.mktemp("runs")
    graphs = map(str, write_towns(folder))
    rows = [f"http://source.example/Place/{town}\thttp://target.example/Town/{2 * town}\n" for town in range(100)]
    (folder / "seeds.tsv").write_text("".join(rows[::3]))
    (folder / "truth.tsv").write_text("".join(rows))
    given = ["align", *graphs, "--seeds", "seeds.tsv", "--evidence", "structure", *QUICK]
    command(*given, "--out", "plain", folder=folder)
    done = command(*given, "--out", "packed", "--format", "parquet", "--format", "sssom", folder=folder)
    assert "candidates.parquet" in done.stdout
    return folder


def test_tables_are_packed_instead_of_written_as_text(runs: Path) -> None:
    names = {path.name for path in (runs / "packed").iterdir()}
    assert {"alignment.tsv", "alignment.parquet", "alignment.sssom.tsv", "alignment.review.tsv"} <= names
    for name in TABLES:
        assert f"{name}.parquet" in names
        assert f"{name}.tsv" not in names
        packed = pq.read_table(runs / "packed" / f"{name}.parquet")
        options = pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False)
        plain = pyarrow.csv.read_csv(runs / "plain" / f"{name}.tsv", parse_options=options)
        assert packed.column_names == plain.column_names
        assert packed[packed.column_names[0]].to_pylist() == plain[plain.column_names[0]].to_pylist()
        assert packed["probability"].to_pylist() == pytest.approx(plain["probability"].to_pylist(), rel=1e-5)
    assert (runs / "packed" / "alignment.tsv").read_bytes() == (runs / "plain" / "alignment.tsv").read_bytes()


def test_a_packed_run_is_measured_like_another(runs: Path) -> None:
    plain, packed = (evaluate_run(runs / name, runs / "truth.tsv").to_dict() for name in ("plain", "packed"))
    assert json.dumps(packed, indent=1) == json.dumps(plain, indent=1)
    command("evaluate", "packed", "--reference", "truth.tsv", folder=runs)


def test_a_packed_run_is_reported_explained_and_compared(runs: Path) -> None:
    command("report", "packed", "--reference", "truth.tsv", "--against", "plain", "--out", "page.html", folder=runs)
    page = (runs / "page.html").read_text()
    assert "each is in unlinked.parquet with its best candidate" in page
    source = pq.read_table(runs / "packed" / "alignment.parquet")["source"][0].as_py()
    plain, packed = (command("explain", name, source, folder=runs).stdout for name in ("plain", "packed"))
    assert packed == plain


def test_candidates_of_a_packed_run_are_reviewed(runs: Path) -> None:
    sources = pq.read_table(runs / "packed" / "alignment.parquet")["source"]
    plain, packed = (
        Ranked.read(runs / name, sources) for name in ("plain/candidates.tsv", "packed/candidates.parquet")
    )
    assert plain is not None
    assert packed is not None
    assert [packed.of(card) for card in range(len(sources))] == [plain.of(card) for card in range(len(sources))]


def test_decisions_on_a_packed_run_count_and_it_is_finished(runs: Path) -> None:
    rows = (runs / "packed" / "alignment.review.tsv").read_text().splitlines()
    (runs / "decided.tsv").write_text("\n".join([rows[0], f"no{rows[1]}", *(f"yes{row}" for row in rows[-3:])]) + "\n")
    config = ["--config", "packed/settings.toml", "--decisions", "decided.tsv", "--out", "second"]
    command("align", *config, "--quiet", folder=runs)
    assert (runs / "second" / "candidates.parquet").exists()
    again = command("align", "--resume", "--out", "second", folder=runs, code=2)
    assert "finished" in again.stderr
    command("align", *config, "--force", "--format", "sssom", "--quiet", folder=runs)
    assert {path.name for path in (runs / "second").glob("candidates.*")} == {"candidates.tsv"}


def test_a_broken_table_is_an_input_error(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for name in ("settings.toml", "alignment.tsv", "seeds.tsv"):
        (tmp_path / "run" / name).write_bytes((runs / "packed" / name).read_bytes())
    (tmp_path / "run" / "candidates.parquet").write_bytes(b"PAR1")
    done = command("evaluate", "run", "--reference", str(runs / "truth.tsv"), folder=tmp_path, code=2)
    assert "candidates.parquet cannot be read as Parquet" in done.stderr.replace("\n", " ")


def plain_candidates(counterparts: Counterparts, task: Task, path: Path, top_k: int) -> None:
    """The plain version of `write_candidates`: all at once."""
    pairs = counterparts.candidates
    rank = segment_rank(pairs.source, pairs.sources, counterparts.forward) + 1
    kept = torch.nonzero(rank <= top_k)[:, 0]
    kept = kept[torch.argsort(rank[kept], stable=True)]
    kept = kept[torch.argsort(pairs.source[kept], stable=True)]
    names = task.names(Links.build(pairs.source[kept], pairs.target[kept]))
    columns = [names[0], rank[kept], names[1], pairs.cosine[kept], counterparts.forward[kept]]
    write_columns(path, CANDIDATE_SCHEMA.names, columns)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("rows", [0, 1, 7, 300])
def test_candidates_in_blocks_are_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, ordered: bool
) -> None:
    draw, generator = random.Random(rows), torch.Generator().manual_seed(rows)
    names = [f"e{number:02}" for number in range(40)]
    graph = Graph.build(names, ["r"], torch.tensor([[number, 0, 0] for number in range(40)]))
    pairs = sorted({(min(draw.randrange(40), draw.randrange(40)), draw.randrange(40)) for _ in range(rows)})
    if not ordered:
        draw.shuffle(pairs)
    source, target = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    probability = torch.randint(0, 4, (len(pairs),), generator=generator) / 3
    cosine = torch.rand(len(pairs), generator=generator)
    candidates = Candidates(source, target, cosine, 40, 40, torch.zeros(40), torch.zeros(40))
    beliefs = Counterparts(candidates, probability, probability, torch.zeros(40), torch.zeros(40))
    task = Task(graph, graph, Links.empty())
    plain_candidates(beliefs, task, tmp_path / "plain.tsv", 3)
    for size in (1, 10, 1 << 18):
        monkeypatch.setattr(results, "BLOCK", size)
        write_candidates(beliefs, task, tmp_path / "blocks.tsv", 3)
        assert (tmp_path / "blocks.tsv").read_bytes() == (tmp_path / "plain.tsv").read_bytes()
    write_candidates(beliefs, task, tmp_path / "blocks.parquet", 3)
    assert pq.read_table(tmp_path / "blocks.parquet").schema.equals(pa.schema(CANDIDATE_SCHEMA))
