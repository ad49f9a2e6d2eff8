"""Someone else's encoder and rule, in a file of their own, as the README shows it."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from emea import plugins
from emea.cli import _is_of_the_user, main
from emea.contracts import Encoder, Format
from emea.data import LITERAL_SCHEMA, Graph, Task
from emea.errors import EmeaError, SettingsError
from emea.formats import read_benchmark, read_graph
from emea.runs.checkpoint import Checkpoint
from emea.runs.fingerprint import own_sources
from emea.runs.folder import CHECKPOINT
from emea.settings import load
from tiny_benchmark import write_benchmark

MODULE = """
import torch
from emea.contracts import Encoder, PluginSettings, Rule, TwoSidedRule, unreported
from emea.data import Embeddings

class MySettings(PluginSettings):
    dimension: int = 64
    spoil: bool = False

class MyModel(Encoder[MySettings]):
    Settings = MySettings

    @classmethod
    def features(cls, settings): return settings.dimension

    def __init__(self, task, settings, device):
        self.sizes = len(task.source.entities), len(task.target.entities)
        self.settings = settings
        assert not len(task.seeds) and not len(task.validation)

    def fit(self, pairs, generator, report=unreported):
        shapes = [(size, self.settings.dimension) for size in self.sizes]
        source, target = (torch.nn.functional.normalize(torch.randn(shape, generator=generator)) for shape in shapes)
        target[pairs.target] = source[pairs.source]
        if self.settings.spoil:
            source[0] = float("nan")
        return Embeddings(source, target)

class Changed(MyModel):
    def fit(self, pairs, generator, report=unreported):
        found = super().fit(pairs, generator)
        return Embeddings(self.change(found.source), self.change(found.target))

class Learning(Changed):
    def change(self, vectors): return vectors.double().requires_grad_()

class Arrays(Changed):
    def change(self, vectors): return vectors.numpy()

class Whole(Changed):
    def change(self, vectors): return vectors.long()

class Flat(Changed):
    def change(self, vectors): return vectors[:, 0]

class Uneven(MyModel):
    def fit(self, pairs, generator, report=unreported):
        found = super().fit(pairs, generator)
        return Embeddings(found.source, torch.nn.functional.normalize(found.target[:, :8]))

class Nowhere(MyModel):
    def __init__(self, task, settings): ...

class Forgetful(Encoder[MySettings]):
    @classmethod
    def features(cls, settings): return settings.dimension

    def __init__(self, task, settings, device): ...

    def fit(self, pairs, generator, report=unreported): ...

class MyRule(Rule[PluginSettings]):
    def __init__(self, task, settings, device): ...

    def factors(self, beliefs, embeddings): return torch.zeros_like(beliefs.forward)

class Short(MyRule):
    def factors(self, beliefs, embeddings): return torch.zeros(3)

class Mask(MyRule):
    def factors(self, beliefs, embeddings): return beliefs.forward > 0.5

class Half(MyRule, TwoSidedRule[PluginSettings]):
    pass

class Unfinished(Encoder[MySettings]):
    pass

class Empty(MyModel):
    def fit(self, pairs, generator, report=unreported): return None

class Old(MyModel):
    def fit(self, pairs, generator): return None

class Failing(MyModel):
    def fit(self, pairs, generator, report=unreported): return {}["no such key"]
"""
CHOSEN = ["--set", "em.encoder=mine:MyModel", "--set", "em.rules=paris,mine:MyRule", "--set", "em.rounds=1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MODULE)
    edges = [(number, number % 3, number * 7 % 40) for number in range(40)]
    for side in ("a", "b"):
        rows = [f"urn:{side}:{head}\turn:{side}:r{relation}\turn:{side}:{tail}" for head, relation, tail in edges]
        (tmp_path / f"{side}.tsv").write_text("\n".join(rows) + "\n")
    (tmp_path / "seeds.tsv").write_text("".join(f"urn:a:{number}\turn:b:{number}\n" for number in range(25)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    return tmp_path


def emea(monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    monkeypatch.setattr(sys, "argv", ["emea", "align", "a.tsv", "b.tsv", "--seeds", "seeds.tsv", "--json", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_they_join_the_loop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = ["--set", 'encoders."mine:MyModel".dimension=32']
    assert emea(monkeypatch, *CHOSEN, *own) == 0
    weights = [json.loads(line)["weights"] for line in (folder / "run" / "rounds.jsonl").read_text().splitlines()]
    assert all(set(each) == {"paris", "mine:MyRule"} for each in weights)
    assert "dimension = 32" in (folder / "run" / "settings.toml").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ['encoders."mine:MyModel".spoil=true'],
            "expected rows of length 1 or 0 of the source graph's 40 entities",
        ),
        (["em.rules=mine:Short"], "rule 'mine:Short' returned a tensor of shape [3], expected a number for each of"),
        (["em.rules=mine:MyModel"], "'mine:MyModel' is not a valid rule: expected a subclass of emea.contracts.Rule"),
        (["em.rules=mine:Half"], "rule 'mine:Half' is incomplete; missing: factors_both_ways (emea.contracts)"),
        (
            ["em.encoder=mine:Unfinished"],
            "encoder 'mine:Unfinished' is incomplete; missing: __init__, features, fit (emea.contracts)",
        ),
        (["em.encoder=mine:Missing"], "unknown encoder 'mine:Missing': mine has no Missing"),
        (['encoders."mine:MyModel".dimensoin=3'], "did you mean dimension"),
        (["encoders.mine:MyModel.dimension=3"], "quote a name that contains a colon"),
        (["em.encoder=mine:Empty"], "encoder 'mine:Empty' returned NoneType, expected emea.data.Embeddings"),
        (["em.encoder=mine:Old"], "found fit(self, pairs, generator), expected fit(self, pairs, generator, report)"),
        (["em.encoder=mine:Uneven"], "returned vectors of 64 and 8 numbers for source and target, expected as many"),
        (["em.encoder=mine:Arrays"], "encoder 'mine:Arrays' returned a numpy ndarray for the source graph, expected a"),
        (
            ["em.encoder=mine:Whole"],
            "encoder 'mine:Whole' returned a tensor of int64 and shape [40, 64] for the source",
        ),
        (["em.encoder=mine:Flat"], "encoder 'mine:Flat' returned a tensor of float32 and shape [40] for the source"),
        (
            ["em.encoder=mine:Nowhere"],
            "found __init__(self, task, settings), expected __init__(self, task, settings, device)",
        ),
        (["em.rules=mine:Mask"], "rule 'mine:Mask' returned a tensor of bool, expected floats: a number for each of"),
        (
            ["em.encoder=mine:Forgetful"],
            "encoder 'mine:Forgetful': Forgetful has the settings MySettings but lacks the line: Settings = MySettings",
        ),
        (["em.encoder=mine:Failing"], "mine.py, line 86: KeyError: 'no such key'"),
    ],
)
def test_one_that_breaks_its_contract_is_named(
    options: list[str],
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = [part for option in options for part in ("--set", option)]
    assert emea(monkeypatch, *CHOSEN, *settings) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_vectors_may_be_in_double_precision_and_still_know_their_gradients(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MyModel", "Learning"):
        assert emea(monkeypatch, *CHOSEN, "--set", f"em.encoder=mine:{name}", "--out", name) == 0
    assert (folder / "Learning" / "alignment.tsv").read_text() == (folder / "MyModel" / "alignment.tsv").read_text()


@pytest.mark.parametrize("encoder", ["propagation", "mine:MyModel"])
def test_a_run_is_not_resumed_with_another_plugin(
    encoder: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["--set", f"em.encoder={encoder}", "--set", "em.rules=mine:MyRule", "--set", "em.rounds=2"]
    write = Checkpoint.write

    def stop(saved: Checkpoint, place: Path, task: Task) -> None:
        write(saved, place, task)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "write", stop)
        assert emea(monkeypatch, *chosen) == 130
    before = (folder / "run" / CHECKPOINT).read_bytes()
    (folder / "mine.py").write_text(MODULE + "# changed\n")
    assert emea(monkeypatch, *chosen, "--resume") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"{folder}/mine.py has changed since the run in run began" in said
    assert (folder / "run" / CHECKPOINT).read_bytes() == before
    (folder / "mine.py").write_text(MODULE)
    assert emea(monkeypatch, *chosen, "--resume") == 0


def test_sources_that_compiled_code_names_are_not_files_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").touch()
    assert _is_of_the_user(tmp_path / "mine.py")
    assert not _is_of_the_user(Path("pyarrow/error.pxi"))


# --- in a package of its own ---


@pytest.fixture
def package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package that announces an encoder, a rule and a format."""
    site = folder / "site"
    about = site / "mine-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(
        "[emea.encoders]\nmy_model = mine:MyModel\nrrea = mine:MyModel\n\n[emea.rules]\nmy_rule = mine:MyRule\n\n"
        "[emea.formats]\npipes = mine:Pipes\nfolders = mine:Folders\n"
    )
    pipes = """
import emea
import pyarrow as pa
from emea.contracts import PLAIN, GraphReader, TaskReader

class Folders(TaskReader):
    description = "every folder"

    def detect(self, folder): return "everything"

    def read_task(self, folder, choice): raise AssertionError("not asked for")

class Pipes(GraphReader):
    description = "triples between pipes"
    suffixes = (".pipes", ".tsv")

    def read_graph(self, path, reading=PLAIN):
        rows = [line.split("|") for line in path.read_text().splitlines()]
        return emea.graph(pa.table(dict(zip(("head", "relation", "tail"), zip(*rows)))))
"""
    (site / "mine.py").write_text(MODULE + pipes)
    (folder / "mine.py").unlink()
    monkeypatch.syspath_prepend(site)
    plugins.announced.cache_clear()
    yield folder
    plugins.announced.cache_clear()


def test_what_a_package_announces_is_found_by_name(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "my_model" in plugins.names("encoders")
    assert plugins.summary("encoders", "my_model") == "from mine 1.2"
    chosen = ["--encoder", "my_model", "--set", "em.rules=paris,my_rule", "--set", "encoders.my_model.dimension=32"]
    assert emea(monkeypatch, *chosen, "--set", "em.rounds=1", "--out", "run") == 0
    assert "[encoders.my_model]" in (package / "run" / "settings.toml").read_text()
    settings = load(assignments=["em.encoder=my_model", "em.rules=paris,my_rule"])
    assert own_sources(settings) == {"mine": (package / "site" / "mine.py").resolve()}
    committee = ["em.encoder=committee", 'encoders.committee.members=["rrea", "my_model"]', "em.rules=paris"]
    assert own_sources(load(assignments=committee)).keys() == {"mine"}


def test_a_package_does_not_replace_what_is_built_in(package: Path) -> None:
    assert plugins.names("encoders").count("rrea") == 1
    assert plugins.find("encoders", "rrea", Encoder).__module__ == "emea.encoders.rrea"
    (package / "c.pipes").write_text("x|r|y\ny|r|z\n")
    assert len(read_graph(package / "c.pipes").entities) == 3
    assert len(read_graph(package / "a.tsv").relations) == 3, "the package has this suffix, too"
    assert len(read_benchmark(write_benchmark(package / "zh_en"), ratio=0.3)[0].seeds), "the package reads every folder"


def test_a_package_that_cannot_be_imported_is_named(package: Path) -> None:
    (package / "site" / "mine.py").write_text("import no_such_package\n")
    with pytest.raises(
        SettingsError, match="encoder 'my_model' of the package mine cannot be imported: No module named"
    ):
        plugins.find("encoders", "my_model", Encoder)
    assert read_graph(package / "a.tsv"), "built-in formats do not need it"
    assert read_benchmark(write_benchmark(package / "zh_en"), ratio=0.3), "nor do benchmarks"


def test_what_is_announced_has_to_be_a_class(package: Path) -> None:
    points = next((package / "site").glob("*.dist-info")) / "entry_points.txt"
    points.write_text("[emea.encoders]\nmodule = mine\nmissing = mine:Nothing\nwrong = mine:MyRule\n")
    plugins.announced.cache_clear()
    with pytest.raises(SettingsError, match="'module' is not a valid encoder"):
        plugins.find("encoders", "module", Encoder)
    with pytest.raises(SettingsError, match=r"encoder 'missing' of the package mine cannot be imported: .*Nothing"):
        plugins.find("encoders", "missing", Encoder)
    with pytest.raises(SettingsError, match="'wrong' is not a valid encoder"):
        plugins.find("encoders", "wrong", Encoder)


def test_lists_say_what_cannot_be_used_and_what_is_left_out(
    package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    points = next((package / "site").glob("*.dist-info")) / "entry_points.txt"
    points.write_text(points.read_text() + "\n[emea.baselines]\ngone = mine:Gone\n")
    said = {}
    for kind in ("encoders", "rules", "baselines", "formats"):
        monkeypatch.setattr(sys, "argv", ["emea", kind])
        with pytest.raises(SystemExit):
            main()
        said[kind] = " ".join(capsys.readouterr().out.split())
    assert "my_model from mine 1.2 " in said["encoders"]
    assert "'rrea' of mine 1.2 is left out: the name means another encoder" in said["encoders"]
    assert (
        "gone from mine 1.2, cannot be used: baseline 'gone' of the package mine cannot be imported"
        in said["baselines"]
    )
    assert not any("cannot be used" in said[kind] or "left out" in said[kind] for kind in ("rules", "formats"))
    (package / "site" / "mine.py").write_text("1 / 0")
    monkeypatch.delitem(sys.modules, "mine")
    monkeypatch.setattr(sys, "argv", ["emea", "rules"])
    with pytest.raises(SystemExit):
        main()
    assert "my_rule from mine 1.2, cannot be used: division by zero" in " ".join(capsys.readouterr().out.split())


def test_a_format_that_breaks_its_contract_is_named(package: Path) -> None:
    module = package / "site" / "mine.py"
    (package / "c.pipes").write_text("x|r|y\n")
    module.write_text(module.read_text().replace('    suffixes = (".pipes", ".tsv")\n', ""))
    with pytest.raises(SettingsError, match=r"format 'pipes' is incomplete; missing: suffixes \(emea.contracts\)"):
        plugins.find("formats", "pipes", Format)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("None", "format Pipes returned NoneType, expected a Graph"),
        ('literals({"entity": [0], "text": ["x"]})', "found literals with the columns entity, text, expected entity, "),
    ],
)
def test_what_a_format_returns_is_checked(package: Path, returned: str, message: str) -> None:
    module = package / "site" / "mine.py"
    build = "\nfrom emea.data import Graph\ndef literals(columns):\n    return Graph.build(['a'], [], [], literals="
    module.write_text(
        re.sub(r"return emea.graph\(.*", f"return {returned}", module.read_text()) + build + "pa.table(columns))\n"
    )
    (package / "c.pipes").write_text("x|r|y\n")
    with pytest.raises(EmeaError, match=message):
        read_graph(package / "c.pipes")


def test_literals_may_lack_datatype_and_language_and_come_in_any_order() -> None:
    table = pa.table({"value": ["Rome", "Paris"], "attribute": [0, 0], "entity": [0, 1]})
    graph = Graph.build(["r", "p"], [], [], attributes=["name"], literals=table)
    assert graph.literals.schema == LITERAL_SCHEMA
    told = {graph.entities[row["entity"]].as_py(): row["value"] for row in graph.literals.to_pylist()}
    assert told == {"r": "Rome", "p": "Paris"}
    assert {*graph.literals["language"].to_pylist()} == {""}
