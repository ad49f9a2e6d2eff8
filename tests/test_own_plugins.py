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
from emea.contracts import Encoder, Format, GraphReader
from emea.data import LITERAL_SCHEMA, Graph, Task
from emea.errors import EmeaError, InputError, InputWarning, SettingsError
from emea.formats import read_benchmark, read_graph
from emea.runs.checkpoint import Checkpoint
from emea.runs.fingerprint import own_sources
from emea.runs.folder import CHECKPOINT
from emea.settings import load
from tiny_benchmark import write_benchmark

MODULE = (
    """
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
    """
    + '"""Says nothing.\n\n    Nothing at all."""'
    + """

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

class Coarse(Changed):
    def change(self, vectors): return vectors.half()

class Unbound(MyModel):
    def features(self, settings): return settings.dimension

class Listed(MyModel):
    def state(self): return {"seen": [1, 2]}

class Narrow(MyRule):
    def factors(self, beliefs): return torch.zeros_like(beliefs.forward)

class Huge(MyRule):
    def factors(self, beliefs, embeddings): return torch.full_like(beliefs.forward, 1e300)

class Raiser(MyRule):
    def factors(self, beliefs, embeddings): raise ValueError("boom")

class Late(MyRule):
    times = 0

    def factors(self, beliefs, embeddings):
        Late.times += 1
        if Late.times % 4 == 3:  # each round asks twice
            raise ValueError("boom")
        return super().factors(beliefs, embeddings)
"""
)
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
        (["em.encoder=mine:Failing"], "mine.py, line 90: KeyError: 'no such key'"),
        (["em.encoder=mine:Coarse"], "encoder 'mine:Coarse' returned a tensor of float16 and shape [40, 64] for the"),
        (["em.encoder=mine:Unbound"], "found features(self, settings), expected @classmethod features(cls, settings)"),
        (["em.encoder=mine:Listed"], "encoder 'mine:Listed': state() has a list, expected a dict of torch tensors"),
        (["em.rules=mine:Narrow"], "found factors(self, beliefs), expected factors(self, beliefs, embeddings)"),
        (["em.rules=mine:Huge"], "numbers beyond ±1,000,000,000, expected a number for each of"),
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


@pytest.mark.parametrize(("rounds", "rule", "left"), [("0", "Raiser", False), ("1", "Late", True)])
def test_a_run_that_fails_before_its_first_round_leaves_nothing(
    rounds: str, rule: str, left: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = ["--set", f"em.rounds={rounds}", "--set", f"em.rules=mine:{rule}"]
    assert emea(monkeypatch, *chosen, "--out", "run") == 2
    assert (folder / "run").exists() == left
    (folder / "kept").mkdir(exist_ok=True)
    (folder / "kept" / "notes.txt").touch()
    assert emea(monkeypatch, *chosen, "--out", "kept") == 2
    assert ({path.name for path in (folder / "kept").iterdir()} == {"notes.txt"}) != left


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
        "[emea.encoders]\nmy_model = mine:MyModel\nrrea = mine:MyModel\n\n"
        "[emea.rules]\nmy_rule = mine:MyRule\nraiser = mine:Raiser\n\n"
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
        rows = [line.split("|") for line in path.read_text("utf-8").splitlines()]
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
    with pytest.raises(SettingsError, match=r"encoder 'my_model' of mine 1\.2 cannot be imported: No module named"):
        plugins.find("encoders", "my_model", Encoder)
    assert read_graph(package / "a.tsv"), "built-in formats do not need it"
    assert read_benchmark(write_benchmark(package / "zh_en"), ratio=0.3), "nor do benchmarks"


def test_what_is_announced_has_to_be_a_class(package: Path) -> None:
    points = next((package / "site").glob("*.dist-info")) / "entry_points.txt"
    points.write_text("[emea.encoders]\nmodule = mine\nmissing = mine:Nothing\nwrong = mine:MyRule\n")
    plugins.announced.cache_clear()
    with pytest.raises(SettingsError, match="'module' is not a valid encoder"):
        plugins.find("encoders", "module", Encoder)
    with pytest.raises(SettingsError, match=r"encoder 'missing' of mine 1.2 cannot be imported: .*Nothing"):
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
    assert "gone from mine 1.2, cannot be used: baseline 'gone' of mine 1.2 cannot be imported" in said["baselines"]
    assert not any("cannot be used" in said[kind] for kind in ("rules", "formats"))
    assert "left out" not in said["rules"]
    assert "my_rule Says nothing. (from mine 1.2)" in said["rules"]
    assert "'.tsv' of format 'pipes' of mine 1.2 is left out: it means table" in said["formats"]
    assert said["formats"].count("left out") == 1
    (package / "site" / "mine.py").write_text("1 / 0")
    monkeypatch.delitem(sys.modules, "mine")
    monkeypatch.setattr(sys, "argv", ["emea", "rules"])
    with pytest.raises(SystemExit):
        main()
    assert (
        "my_rule from mine 1.2, cannot be used: rule 'my_rule' of mine 1.2 cannot be imported: ZeroDivisionError"
        in " ".join(capsys.readouterr().out.split())
    )


def test_an_error_within_a_package_is_told_as_its_own(
    package: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name in ("a.tsv", "b.tsv", "seeds.tsv"):
        (elsewhere / name).write_text((package / name).read_text())
    monkeypatch.chdir(elsewhere)
    assert emea(monkeypatch, "--set", "em.rules=raiser", "--set", "em.rounds=0") == 2
    assert "error: rule 'raiser' of mine 1.2: ValueError: boom" in " ".join(capsys.readouterr().err.split())
    assert emea(monkeypatch, "--set", "em.rules=mine:Raiser", "--set", "em.rounds=0") == 2
    assert "error: rule 'raiser' of mine 1.2: ValueError: boom" in " ".join(capsys.readouterr().err.split())


def test_an_error_of_our_own_is_nobody_elses() -> None:
    with pytest.raises(AttributeError) as raised:
        load().considered.nothing  # type: ignore[attr-defined] # noqa: B018
    assert plugins.culprit(raised.value) is None


def test_a_reader_with_another_signature_is_left_out(package: Path) -> None:
    module = package / "site" / "mine.py"
    module.write_text(module.read_text().replace("read_graph(self, path, reading=PLAIN)", "read_graph(self, path)"))
    (package / "c.pipes").write_text("x|r|y\n")
    signatures = r"format 'pipes': found read_graph\(self, path\), expected read_graph\(self, path, reading\)"
    with (
        pytest.warns(InputWarning, match=f"a format of mine 1.2 is left out: {signatures}"),
        pytest.raises(InputError, match=r"found the suffix '\.pipes'"),
    ):
        read_graph(package / "c.pipes")


def test_a_reader_that_takes_any_bytes_for_text_is_helped(package: Path) -> None:
    (package / "c.pipes").write_bytes(b"x|\xff|y\n")
    with pytest.raises(InputError, match=r"c\.pipes: found byte 0xff at 2, expected text in UTF-8; save it so"):
        read_graph(package / "c.pipes")


@pytest.mark.parametrize(
    ("triples", "literals", "message"),
    [
        ([(0, 0, 2)], None, "found entity number 2, expected a place in a list of 2, the first being 0"),
        ([(-1, 0, 1)], None, "found entity number -1, expected a place"),
        ([(0, 1, 1)], None, "found relation number 1, expected a place in a list of 1"),
        (
            [(0, 1), (1, 0), (0, 0)],
            None,
            r"found triples of shape \[3, 2\], expected \[triples, 3\]: head, relation, tail",
        ),
        ([(0, 0, 1), (0, 1)], None, "found a list as triples, expected whole numbers"),
        (
            [],
            {"entity": [5], "attribute": [0], "value": ["x"]},
            "found entity number 5, expected a place in a list of 2",
        ),
        ([], {"entity": [0], "attribute": [3], "value": ["x"]}, "found attribute number 3, expected a place in a list"),
        (
            [],
            {"entity": [None], "attribute": [0], "value": ["x"]},
            "found literals without entity, expected one in each",
        ),
    ],
)
def test_numbers_that_stand_for_no_name_are_refused(
    triples: list[tuple[int, ...]], literals: dict[str, list[object]] | None, message: str
) -> None:
    table = None if literals is None else pa.table(literals)
    with pytest.raises(InputError, match=message):
        Graph.build(["a", "b"], ["r"], triples, attributes=["name"], literals=table)


def test_literals_may_be_a_table_without_columns() -> None:
    empty = pa.table(dict(zip(("entity", "attribute", "value"), zip(*[], strict=False), strict=False)))
    assert Graph.build(["a"], [], [], literals=empty).literals.schema == LITERAL_SCHEMA


@pytest.mark.parametrize("text", ["=001  shelf-1\n=001  shelf-2\n", "=001  shelf-1\n=780  shelf-2\n"])
def test_the_reader_that_the_page_shows_reads_files_without_values(text: str, folder: Path) -> None:
    page = Path(__file__).parents[1] / "docs" / "how-to" / "format.md"
    found = re.search(r'title="breaker\.py"\n(.*?)```', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    (folder / "breaker.py").write_text(found[1])
    (folder / "books.mrk").write_text(text)
    reader = plugins.find("formats", "breaker:Breaker", GraphReader)()
    graph = reader.read_graph(folder / "books.mrk")
    assert (graph.entities.to_pylist(), graph.literals.num_rows) == (["shelf-1", "shelf-2"], 0)


def test_a_format_that_breaks_its_contract_is_named(package: Path) -> None:
    module = package / "site" / "mine.py"
    (package / "c.pipes").write_text("x|r|y\n")
    module.write_text(module.read_text().replace('    suffixes = (".pipes", ".tsv")\n', ""))
    with pytest.raises(SettingsError, match=r"format 'pipes' is incomplete; missing: suffixes \(emea.contracts\)"):
        plugins.find("formats", "pipes", Format)


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (
            "class Aside(GraphReader):\n    description = 'x'\n",
            "format 'aside' is incomplete; missing: read_graph, suffixes",
        ),
        ("class Aside(Pipes):\n    def __init__(self): raise OSError('no licence')\n", "'aside': OSError: no licence"),
        ("", "cannot be imported: .*Aside"),
    ],
)
def test_a_broken_format_does_not_stop_others(package: Path, broken: str, why: str) -> None:
    points = next((package / "site").glob("*.dist-info")) / "entry_points.txt"
    points.write_text(points.read_text() + "aside = mine:Aside\n")
    plugins.announced.cache_clear()
    module = package / "site" / "mine.py"
    module.write_text(f"{module.read_text()}\n{broken}")
    (package / "c.pipes").write_text("x|r|y\ny|r|z\n")
    with pytest.warns(InputWarning, match=f"a format of mine 1.2 is left out: .*{why}"):
        assert len(read_graph(package / "c.pipes").entities) == 3


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("None", "format Pipes returned NoneType, expected a Graph"),
        (
            'literals({"entity": [0], "text": ["x"]})',
            "c.pipes, read by Pipes: found literals with the columns entity, text, expected entity, ",
        ),
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
