"""The run folder and the command line, as a user meets them."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import asdict, is_dataclass
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import pyarrow.csv
import pytest
import sssom_pydantic

import emea
from emea.cli import main
from emea.evidence.prepared import Prepared, prepare
from emea.examples import read_example
from emea.formats import read_pair_names
from emea.runs.finished import evaluate_run
from emea.runs.inputs import Inputs
from emea.runs.run import run
from emea.settings import Settings, load, read_config

WORLD = Path(emea.__file__).parent / "examples" / "world"
GRAPHS = [str(WORLD / "cldr.ttl.gz"), str(WORLD / "geonames.ttl.gz")]
SMALL = ["encoders.propagation.dimension=64", "encoders.propagation.paths=64", "em.rounds=1"]
QUICK = ["--device", "cpu", *(word for setting in SMALL for word in ("--set", setting))]


def command(*arguments: str, folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """What the command prints when it is called in a folder; in this process, which has loaded all it needs."""
    out, err = io.StringIO(), io.StringIO()
    with (
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "argv", ["emea", *arguments]),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    done = subprocess.CompletedProcess(arguments, int(ended.value.code or 0), out.getvalue(), err.getvalue())
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def process(*arguments: str, folder: Path, environment: dict[str, str]) -> None:
    """Call the command in a process of its own."""
    command = [sys.executable, "-m", "emea", *arguments]
    subprocess.run(command, cwd=folder, check=True, env={**os.environ, **environment})


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Seeds and other true links as files."""
    folder = tmp_path_factory.mktemp("pairs")
    rows = (WORLD / "links.tsv").read_text().splitlines()
    seeds, truth = folder / "seeds.tsv", folder / "truth.tsv"
    seeds.write_text("\n".join([rows[0], *rows[1::10]]) + "\n")
    truth.write_text("\n".join(rows) + "\n")
    return seeds, truth


@pytest.fixture(scope="module")
def finished(pairs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over the example's files by the command line."""
    folder = tmp_path_factory.mktemp("runs")
    given = ["--seeds", str(pairs[0]), "--evidence", "structure"]
    done = command("align", *GRAPHS, *given, "--out", "run", *QUICK, folder=folder)
    assert re.search(r"links found besides the 99 seeds; \d\d% of them are expected to be right\n", done.stdout)
    assert "round 1 of at most 1" in done.stderr
    return folder / "run"


def example(*assignments: str) -> tuple[Prepared, Settings, emea.Reference]:
    """The example, prepared; the settings; and its other true links."""
    settings = load(assignments=assignments)
    task, reference = read_example("world")
    return prepare(task, settings.evidence), settings, reference


def table(path: Path) -> pyarrow.Table:
    options = pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False)
    return pyarrow.csv.read_csv(path, parse_options=options)


def test_the_folder_holds_what_it_should(finished: Path) -> None:
    names = {path.name for path in finished.iterdir()}
    assert names == {
        "alignment.tsv", "alignment.sssom.tsv", "alignment.nt", "alignment.review.tsv", "unlinked.tsv",
        "unlinked.targets.tsv", "candidates.tsv", "relations.tsv", "relations.sssom.tsv", "rounds.jsonl",
        "summary.json", "seeds.tsv", "settings.toml", "timings.jsonl", "grounds.safetensors",
    }  # fmt: skip


def test_links_are_one_to_one_and_without_seeds(finished: Path) -> None:
    links, seeds = table(finished / "alignment.tsv"), table(finished / "seeds.tsv")
    labelled = ["source_label", "target_label", "source_type", "target_type", "cardinality"]
    assert links.column_names == ["source", "target", "confidence", "similarity", *labelled]
    assert set(links["cardinality"].to_pylist()) == {"1:1"}
    assert links["source_label"].to_pylist().count("") < links.num_rows / 10
    assert links.num_rows > 100
    for side in ("source", "target"):
        found = links[side].to_pylist()
        assert len(set(found)) == len(found)
        assert not set(found) & set(seeds[side].to_pylist())
    assert all(0.5 <= value <= 1 for value in links["confidence"].to_pylist())
    assert len((finished / "alignment.nt").read_text().splitlines()) == links.num_rows
    mappings = sssom_pydantic.read(finished / "alignment.sssom.tsv")[0]
    assert len(mappings) == links.num_rows
    assert [mapping.subject.name or "" for mapping in mappings] == links["source_label"].to_pylist()
    assert [mapping.object.name or "" for mapping in mappings] == links["target_label"].to_pylist()


def test_every_target_is_linked_or_listed_with_what_it_may_be(finished: Path) -> None:
    alone = table(finished / "unlinked.targets.tsv")
    assert alone.column_names == ["target", "target_label", "candidate", "candidate_label", "probability"]
    linked = [table(finished / name)["target"].to_pylist() for name in ("alignment.tsv", "seeds.tsv")]
    everything = sorted([*alone["target"].to_pylist(), *linked[0], *linked[1]])
    assert everything == emea.read_graph(Path(GRAPHS[1])).entities.to_pylist()
    sources = {*emea.read_graph(Path(GRAPHS[0])).entities.to_pylist(), ""}
    assert {*alone["candidate"].to_pylist()} <= sources
    probable = [each for each in alone["probability"].to_pylist() if each is not None]
    assert probable == sorted(probable, reverse=True)


def test_every_source_is_linked_or_listed_with_a_reason(finished: Path) -> None:
    alone = table(finished / "unlinked.tsv")
    assert alone.column_names == ["source", "source_label", "candidate", "candidate_label", "probability", "why"]
    linked = [table(finished / name)["source"].to_pylist() for name in ("alignment.tsv", "seeds.tsv")]
    everything = sorted([*alone["source"].to_pylist(), *linked[0], *linked[1]])
    assert everything == emea.read_graph(Path(GRAPHS[0])).entities.to_pylist()
    phrases = {
        re.sub(r"(?<=by ).*(?= with)|(?<=fits ).*(?= better)|\.\d+|;.*", "…", why) for why in alone["why"].to_pylist()
    }
    assert {"no counterpart found: … for none, … for the candidate", "taken by … with …"} <= phrases
    assert "confidence … below …" in phrases
    assert len(phrases) < 10
    best = {
        row["source"]: row["probability"] for row in table(finished / "candidates.tsv").to_pylist() if row["rank"] == 1
    }
    for row in alone.to_pylist():
        assert row["why"] == "no candidate" or row["probability"] == pytest.approx(best[row["source"]], rel=1e-4)


def test_the_links_can_be_reviewed(finished: Path, pairs: tuple[Path, Path], tmp_path: Path) -> None:
    links = {row["source"]: row for row in table(finished / "alignment.tsv").to_pylist()}
    lines = [line.split("\t") for line in (finished / "alignment.review.tsv").read_text().splitlines()]
    header, rows = lines[0], lines[1:]
    assert header[:4] == ["decision", "source_label", "target_label", "confidence"]
    review = [dict(zip(header, row, strict=True)) for row in rows]
    assert {row["source"]: row["target"] for row in review} == {row["source"]: row["target"] for row in links.values()}
    doubt = [float(row["confidence"]) for row in review]
    assert doubt == sorted(doubt)
    assert all(row["other_target"] != row["target"] and not row["decision"] for row in review)
    for place, said in ((0, "no"), (1, "yes"), (-1, "y")):
        rows[place][0] = said
    (tmp_path / "checked.tsv").write_text("".join("\t".join(line) + "\n" for line in (header, *rows)))
    for option in ("--decisions", "--seeds"):
        task, _, _ = Inputs(source=GRAPHS[0], target=GRAPHS[1], **{option[2:]: tmp_path / "checked.tsv"}).read()
        assert {*task.names(task.seeds)[0].to_pylist()} == {review[1]["source"], review[-1]["source"]}
        assert task.names(task.exclusions)[0].to_pylist() == [review[0]["source"]]
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("settings.toml", "alignment.review.tsv"):
        shutil.copy(finished / name, folder / name)
    (tmp_path / "checked.tsv").rename(folder / "alignment.review.tsv")
    done = command("align", *GRAPHS, "--out", "run", "--force", folder=tmp_path, code=2)
    assert "alignment.review.tsv holds decisions that would be lost" in " ".join(done.stderr.split())


def test_the_formats_of_the_alignment_are_chosen(finished: Path, tmp_path: Path) -> None:
    for side in ("a", "b"):
        lines = [f'<http://{side}.org/{number}> <http://x.org/name> "number {number}" .' for number in range(20)]
        (tmp_path / f"{side}.nt").write_text("\n".join(lines) + "\n")
    asked = [word for name in ("ttl", "rdf", "csv", "parquet", "csv") for word in ("--format", name)]
    command("align", "a.nt", "b.nt", *asked, "--quiet", *QUICK, folder=tmp_path)
    files = {path.name for path in (tmp_path / "run").glob("alignment.*")} - {"alignment.review.tsv"}
    assert files == {"alignment.tsv", "alignment.ttl", "alignment.rdf", "alignment.csv", "alignment.parquet"}
    links = read_pair_names(tmp_path / "run" / "alignment.tsv").select(["source", "target"])
    assert links.num_rows == 20
    for name in files:
        assert read_pair_names(tmp_path / "run" / name).select(["source", "target"]).equals(links), name
    command("align", "--config", "run/settings.toml", "--out", "run", "--force", "--quiet", folder=tmp_path)
    assert {path.name for path in (tmp_path / "run").glob("alignment.*")} == {*files, "alignment.review.tsv"}


def test_a_few_unknown_seeds_are_skipped_unless_that_is_refused(pairs: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "seeds.tsv").write_text(pairs[0].read_text() + "nobody\tnothing\n")
    given = ["align", *GRAPHS, "--seeds", "seeds.tsv", "--dry-run", "--evidence", "structure", *QUICK]
    done = command(*given, folder=tmp_path)
    assert "warning: skipping 1 of 100 pairs with an unknown name" in " ".join(done.stderr.split())
    assert "skipping" not in command(*given, "--quiet", folder=tmp_path).stderr
    done = command(*given, "--strict-seeds", folder=tmp_path, code=2)
    assert "line 101: found 'nobody', expected an entity of the source graph; --strict-seeds" in " ".join(
        done.stderr.split()
    )


def test_blank_nodes_have_no_name_and_no_same_as(tmp_path: Path) -> None:
    for side in ("a", "b"):
        lines = [f'<http://{side}.org/{number}> <http://x.org/name> "number {number}" .' for number in range(30)]
        lines += [f'_:{side}{number} <http://x.org/name> "node {number}" .' for number in range(10)]
        lines += [f"_:{side}{number} <http://x.org/of> <http://{side}.org/{number}> ." for number in range(10)]
        (tmp_path / f"{side}.nt").write_text("\n".join(lines) + "\n")
    command("align", "a.nt", "b.nt", "--quiet", *QUICK, "--out", "named", folder=tmp_path)
    assert not [row for row in table(tmp_path / "named" / "alignment.tsv").to_pylist() if "_:" in row["source"]]
    given = ("--evidence", "structure", "--seeds", "seeds.tsv", "--min-confidence", "0")
    (tmp_path / "seeds.tsv").write_text("".join(f"http://a.org/{i}\thttp://b.org/{i}\n" for i in range(5)))
    for asked, some in (((), False), (("--set", "evidence.anonymous=true"), True)):
        command("align", "a.nt", "b.nt", "--quiet", *QUICK, *given, *asked, "--out", f"by{some}", folder=tmp_path)
        candidates = table(tmp_path / f"by{some}" / "candidates.tsv").to_pylist()
        assert any(row["source"].startswith("_:") for row in candidates) == some
    asked = ("--set", "evidence.anonymous=true")
    command("align", "a.nt", "b.nt", "--quiet", *QUICK, *asked, folder=tmp_path)
    links = table(tmp_path / "run" / "alignment.tsv").to_pylist()
    between_iris = [row for row in links if not row["source"].startswith("_:") and not row["target"].startswith("_:")]
    assert len(links) > len(between_iris) > 20
    assert len((tmp_path / "run" / "alignment.nt").read_text().splitlines()) == len(between_iris)
    only_blank = ["_:n <http://x.org/r> _:m .\n", "_:m <http://x.org/r> _:n .\n"]
    for name, text in zip(("c.nt", "d.nt"), only_blank, strict=True):
        (tmp_path / name).write_text(text)
    done = command("align", "c.nt", "d.nt", "--local-names", "--out", "other", *QUICK, folder=tmp_path, code=2)
    assert "the graphs share no value" in done.stderr


def test_a_config_that_says_nothing_of_evidence_leaves_it_as_it_is(tmp_path: Path) -> None:
    for side in ("a", "b"):
        rows = [f"{side}{number}\tname\tnumber {number}\tliteral" for number in range(30)]
        (tmp_path / f"{side}.tsv").write_text("\n".join(["head\trelation\ttail\tkind", *rows]) + "\n")
    (tmp_path / "short.toml").write_text("[em]\nrounds = 1\n")
    (tmp_path / "structure.toml").write_text('[evidence]\nkind = "structure"\n')
    command("align", "a.tsv", "b.tsv", "--config", "short.toml", "--quiet", "--device", "cpu", folder=tmp_path)
    assert table(tmp_path / "run" / "alignment.tsv").num_rows == 30
    given = ["--config", "structure.toml", "--out", "other"]
    done = command("align", "a.tsv", "b.tsv", *given, "--device", "cpu", folder=tmp_path, code=2)
    assert "no relation between entities" in done.stderr


def test_seeds_weigh_as_much_as_they_say(tmp_path: Path) -> None:
    for side in ("a", "b"):
        rows = [f"{side}{number}\tnext\t{side}{number + 1}" for number in range(40)]
        (tmp_path / f"{side}.tsv").write_text("\n".join(["head\trelation\ttail", *rows]) + "\n")
    pairs = [f"a{number}\tb{number}\t{0.75 if number else 1}" for number in range(0, 40, 4)]
    (tmp_path / "seeds.tsv").write_text("\n".join(["source\ttarget\tweight", *pairs]) + "\n")
    command("align", "a.tsv", "b.tsv", "--seeds", "seeds.tsv", "--with-seeds", "--quiet", *QUICK, folder=tmp_path)
    found = {row["source"]: row for row in table(tmp_path / "run" / "alignment.tsv").to_pylist()}
    assert found["a0"]["confidence"] == 1
    assert found["a4"]["confidence"] == 0.75


def test_another_method_says_nothing_of_cosines_and_nobody_of_a_licence(tmp_path: Path) -> None:
    for side in ("a", "b"):
        rows = [f"{side}{number}\tname\tnumber {number}\tliteral" for number in range(30)]
        (tmp_path / f"{side}.tsv").write_text("\n".join(["head\trelation\ttail\tkind", *rows]) + "\n")
    command("align", "a.tsv", "b.tsv", "--method", "paris", "--quiet", "--device", "cpu", folder=tmp_path)
    text = (tmp_path / "run" / "alignment.sssom.tsv").read_text()
    assert "similarity" not in text
    assert "license/unspecified" in text


def test_the_demo_writes_over_its_own_folder_alone(finished: Path) -> None:
    done = command("demo", "--out", str(finished), "--quiet", folder=finished.parent, code=2)
    assert "already holds a run" in done.stderr


def test_candidates_are_ranked_by_probability(finished: Path) -> None:
    rows = table(finished / "candidates.tsv").to_pylist()
    assert list(rows[0]) == ["source", "rank", "target", "similarity", "probability"]
    for before, after in pairwise(rows):
        if before["source"] == after["source"]:
            assert before["rank"] <= after["rank"] <= 50
            assert before["probability"] >= after["probability"]
        else:
            assert after["rank"] == 1


def test_settings_say_how_to_do_it_again(finished: Path, pairs: tuple[Path, Path], tmp_path: Path) -> None:
    about = read_config(finished / "settings.toml", "run")
    assert about["source"] == GRAPHS[0]
    assert about["versions"]["emea"] == emea.__version__
    assert about["threads"] >= 1
    config = ["--config", str(finished / "settings.toml")]
    command("align", *GRAPHS, "--seeds", str(pairs[0]), "--out", "again", *config, "--quiet", folder=tmp_path)
    for name in ("alignment.tsv", "candidates.tsv", "rounds.jsonl", "alignment.sssom.tsv", "alignment.nt"):
        assert (finished / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name


@pytest.mark.slow
def test_same_bytes_in_another_folder_time_zone_and_locale(pairs: tuple[Path, Path], tmp_path: Path) -> None:
    results = []
    for name, environment in (
        ("one", {"TZ": "UTC", "LC_ALL": "C"}),
        ("two", {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "0", "PYTHONHASHSEED": "7"}),
    ):
        asked = [
            "align",
            *GRAPHS,
            "--seeds",
            str(pairs[0]),
            "--evidence",
            "structure",
            "--out",
            name,
            "--quiet",
            *QUICK,
        ]
        process(*asked, folder=tmp_path, environment=environment)
        results.append({path.name: path.read_bytes() for path in sorted((tmp_path / name).iterdir())})
        results[-1].pop("timings.jsonl")
    assert results[0] == results[1]


def test_evaluate_agrees_with_the_measures_of_the_run_itself(tmp_path: Path) -> None:
    prepared, settings, reference = example(*SMALL)
    (tmp_path / "run").mkdir()
    _, measures = run(prepared, settings, tmp_path / "run", inputs=Inputs(), reference=reference)
    from_files = evaluate_run(tmp_path / "run", WORLD / "links.tsv")
    assert measures is not None
    assert from_files.reference == measures.reference
    assert {each.mr for decodings in from_files.ranking.values() for each in decodings.values()} == {None}
    for read_back, itself in (
        (from_files.strict, measures.strict),
        (from_files.known_sources, measures.known_sources),
    ):
        for measure in ("links", "precision", "recall", "f1", "calibration_error"):
            assert getattr(read_back, measure) == pytest.approx(getattr(itself, measure), abs=1e-5)
        assert asdict(read_back.curve[-1]) == pytest.approx(asdict(itself.curve[-1]), abs=1e-5)
    for measure in ("hit_at_1", "hit_at_10"):
        read, own = (
            {pool: getattr(decodings["probability"], measure) for pool, decodings in each.ranking.items()}
            for each in (from_files, measures)
        )
        assert read["all targets"] == pytest.approx(own["all targets"], abs=1e-6)
        # some of the 50 written candidates are not test targets, so the file knows less about this pool
        assert own["test targets"] - 0.05 < read["test targets"] <= own["test targets"]


def test_evaluate_reads_folders_of_earlier_versions(finished: Path, pairs: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    path = tmp_path / "run" / "alignment.tsv"
    lines = [line.split("\t")[:4] for line in path.read_text().splitlines()]
    path.write_text("".join("\t".join(line) + "\n" for line in lines))
    assert asdict(evaluate_run(tmp_path / "run", pairs[1])) == asdict(evaluate_run(finished, pairs[1]))


def test_evaluate_prints_tables_and_json(finished: Path, pairs: tuple[Path, Path], tmp_path: Path) -> None:
    asked = ["evaluate", str(finished), "--reference", str(pairs[1])]
    lines = command(*asked, folder=tmp_path).stdout.splitlines()
    assert lines[1].startswith("against 890 true links that were not given; counted: links whose source")
    assert lines[2].split() == [
        "links",
        "precision",
        "recall",
        "F1",
        "calibration",
        "error",
        "Hit@1",
        "(all",
        "targets)",
    ]
    every = command(*asked, "--all", folder=tmp_path).stdout
    main = lines[3].split()
    assert len(lines) == 4
    assert main[:5] in [line.split()[:5] for line in every.splitlines()]
    assert f"all targets   probability  {main[5]}" in every
    assert [line.split()[-1] for line in every.splitlines() if "targets  " in line] == ["–"] * 4
    assert "\nsimilarity: as in candidates.tsv" in every
    assert "\nMR: not known" in every
    as_json = command("evaluate", str(finished), "--reference", str(pairs[1]), "--json", folder=tmp_path)
    assert json.loads(as_json.stdout)["reference"] == 989 - 99


@pytest.mark.slow
def test_a_benchmark_folder_by_ratio_and_by_given_seeds(benchmark_data: Path, tmp_path: Path) -> None:
    folder = str(benchmark_data / "openea" / "D_Y_15K_V1")
    quick = [*QUICK, "--set", "em.rounds=0", "--set", "encoders.propagation.paths=64", "--top-k", "3"]
    done = command("align", "--data", folder, "--fold", "1", "--out", "fold", "--json", *quick, folder=tmp_path)
    assert json.loads(done.stdout)["measures"]["reference"] == 10_500
    assert (tmp_path / "fold" / "metrics.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["align"], "expected two graph files, or --data FOLDER"),
        (["align", "a.ttl", "b.ttl"], "a.ttl does not exist"),
        (["align", *GRAPHS, "--evidence", "structure"], "there are no known pairs"),
        (["align", *GRAPHS, "--seeds", "none.tsv"], "none.tsv does not exist"),
        (["align", *GRAPHS, "--ratio", "0.1"], "--ratio and --fold require --data"),
        (["align", "--data", "nowhere", "--ratio", "0.1"], "nowhere does not exist; expected a folder"),
        (["align", *GRAPHS, "--set", "em.round=2"], "did you mean rounds"),
        (
            ["align", *GRAPHS, "--format", "xml"],
            "--format: found 'xml', expected one of sssom, nt, ttl, rdf, csv, parquet",
        ),
        (["align", *GRAPHS, "--preset", "slow"], "unknown preset 'slow'"),
        (["align", *GRAPHS, "--device", "cuda:99"], "device 'cuda:99' cannot be used here"),
        (["evaluate", "nowhere", "--reference", "x.tsv"], "nowhere is not a run folder"),
    ],
)
def test_bad_input_ends_with_one_sentence_and_code_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["emea", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert message in " ".join(said.split())
    assert "Traceback" not in said
    assert not list(tmp_path.iterdir()), "nothing half-written"


def test_a_finished_run_is_not_written_over(finished: Path, pairs: tuple[Path, Path]) -> None:
    before = (finished / "alignment.tsv").read_bytes()
    again = ["align", *GRAPHS, "--seeds", str(pairs[0]), "--out", str(finished)]
    done = command(*again, folder=finished.parent, code=2)
    assert "already holds a run" in done.stderr
    assert (finished / "alignment.tsv").read_bytes() == before


@pytest.mark.parametrize(("verb", "word"), [("encoders", "propagation"), ("rules", "paris"), ("formats", "sssom")])
def test_lists(verb: str, word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["emea", verb])
    with pytest.raises(SystemExit):
        main()
    assert word in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--help"], ["align", "--help"]], ids=" ".join)
def test_flags_are_shown_without_a_value(words: list[str], tmp_path: Path) -> None:
    shown = command(*words, folder=tmp_path).stdout
    assert "--help" in shown
    assert "bool" not in shown.lower()


def test_public_names() -> None:
    public = {
        "Comparison", "EmeaError", "Fitting", "Graph", "InputError", "Links", "Measures", "Reading", "Reference",
        "Result", "Round", "SavedResult", "Settings", "SettingsError", "Task", "align", "compare", "evaluate",
        "graph", "link", "load", "profile", "read", "read_benchmark", "read_decisions", "read_example", "read_graph",
        "read_reference", "rounds",
    }  # fmt: skip
    assert set(emea.__all__) == public
    assert public <= set(dir(emea))
    assert all(callable(getattr(emea, name)) for name in public)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        emea.nothing  # noqa: B018 - asking is the test
    from emea.contracts import Baseline, Encoder, Rule, TwoSidedRule
    from emea.data import Alignment, Candidates, Counterparts, Embeddings

    for contract in (Baseline, Encoder, Rule, TwoSidedRule):
        assert contract.__abstractmethods__
    for noun in (Alignment, Candidates, Counterparts, Embeddings):
        assert is_dataclass(noun)


@pytest.mark.parametrize(("given", "found"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_waiting_threads_of_the_command_sleep_unless_told_otherwise(given: str | None, found: str) -> None:
    program = "import os, sys; from emea.cli import main\nsys.argv = ['emea', '--version']\ntry: main()\n"
    program += "except SystemExit: print(os.environ['OMP_WAIT_POLICY'])"
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {} if given is None else {"OMP_WAIT_POLICY": given}
    printed = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert printed.stdout.split()[-1] == found


def test_importing_the_package_changes_nothing_and_loads_little() -> None:
    program = (
        "import os, sys; before = dict(os.environ), list(sys.path); import emea, emea.cli; "
        "assert before == (dict(os.environ), list(sys.path)); "
        "print([name for name in ('torch', 'numpy', 'pyarrow', 'scipy', 'sklearn') if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"


def test_the_review_page_starts_without_torch() -> None:
    program = "import sys, emea.review.server; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_computes_nothing_does_without_torch() -> None:
    asked = [
        ["--version"], ["--help"], ["align", "--help"], ["encoders"], ["rules"], ["baselines"], ["formats"],
        ["settings"], ["align", "nowhere.ttl", "x.ttl"], ["align", "--nothing"], ["evaluate"],
        ["align", *GRAPHS, "--ratio", "1"], ["align", *GRAPHS, "--out", __file__],
        ["reproduce", "table1", "--data", "x", "--splits", "a"],
    ]  # fmt: skip
    program = (
        "import sys; from emea.cli import main\n"
        f"for asked in {asked!r}:\n"
        "    sys.argv = ['emea', *asked]\n"
        "    try: main()\n"
        "    except SystemExit: pass\n"
        "    if loaded := {'torch', 'pyarrow'} & sys.modules.keys(): sys.exit(f'{asked} loads {loaded}')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_file_beside_the_data_is_never_imported_in_place_of_a_package(tmp_path: Path) -> None:
    for name in ("pandas.py", "tomli_w.py", "json.py"):
        (tmp_path / name).write_text("raise SystemExit('imported from the current folder')\n")
    script = Path(sys.executable).with_name("emea")  # python -m would put the folder first, as Python does
    asked = ["align", *GRAPHS, "--encoder", "nosuch:Model", "--quiet"]
    done = subprocess.run([script, *asked], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "encoder 'nosuch:Model' cannot be imported" in " ".join(done.stderr.split())


def test_a_reference_may_repeat_sources_targets_and_pairs(finished: Path, tmp_path: Path) -> None:
    links = table(finished / "alignment.tsv").to_pylist()[:3]
    pairs = [(links[0]["source"], links[0]["target"]), (links[0]["source"], links[1]["target"])]
    pairs += [(links[2]["source"], links[1]["target"]), pairs[0]]
    (tmp_path / "truth.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    measures = evaluate_run(finished, tmp_path / "truth.tsv")
    assert measures.reference == 3
    assert measures.known_sources.recall == pytest.approx(1 / 3)
    task = emea.read(*GRAPHS)
    assert len(emea.read_reference(tmp_path / "truth.tsv", task)) == 3
    with pytest.raises(emea.InputError, match="paired with"):
        emea.read(*GRAPHS, tmp_path / "truth.tsv")


def test_nothing_left_to_measure_is_said(finished: Path, tmp_path: Path) -> None:
    done = command("evaluate", str(finished), "--reference", str(finished / "seeds.tsv"), folder=tmp_path, code=2)
    assert "all of its 99 pairs were given to the run; none is left to measure" in done.stderr


def test_a_reference_of_other_graphs_is_refused(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "other.tsv").write_text("nobody\tnothing\n")
    done = command("evaluate", str(finished), "--reference", "other.tsv", folder=tmp_path, code=2)
    said = (
        "found 1 of 1 sources that the run does not know, such as 'nobody'; expected pairs of its graphs, source first"
    )
    assert said in " ".join(done.stderr.split())


def test_a_file_is_not_converted_into_itself(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tr\tb\n")
    done = command("convert", "a.tsv", "../" + tmp_path.name + "/a.tsv", folder=tmp_path, code=2)
    assert "is the file to read, expected another one to write" in done.stderr
    assert (tmp_path / "a.tsv").read_text() == "a\tr\tb\n"


def test_results_and_rounds_say_what_they_are_in_a_line() -> None:
    result = emea.align(read_example("world")[0], load(assignments=[*SMALL, "em.rounds=0"]))
    assert repr(result).startswith("Result(")
    assert repr(result.last).startswith("Round(0, ")
    assert "\n" not in repr(result) + repr(result.last)
