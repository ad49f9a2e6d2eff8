"""Settings: defaults, presets, files, assignments, and errors that name the key."""

from pathlib import Path

import pytest
import tomli_w
from typer.testing import CliRunner

from emea.cli import app
from emea.encoders.rrea import RREASettings
from emea.errors import SETTINGS, SettingsError
from emea.presets import PRESETS
from emea.runs.inputs import Inputs
from emea.settings import Settings, load, read_config

FEW = {
    "em.rounds": 2,
    "encoders.rrea.epochs": 3,
    "encoders.rrea.more_epochs": 2,
    "em.scouts": 2,
    "encoders.committee.settings.rrea.epochs": 3,
    "encoders.committee.settings.rrea.more_epochs": 2,
    "encoders.committee.settings.dual_amn.epochs": 2,
    "encoders.committee.settings.dual_amn.least_pairs": 16,
}
SHORT = [word for name, value in FEW.items() for word in ("--set", f"{name}={value}")]


def test_each_layer_goes_over_the_last(tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text(tomli_w.dumps({"seed": 1, "em": {"rounds": 3, "minimum": 0.7}, "run": {"data": "x"}}))
    settings = load("fast", config, ["em.rounds=4", "rules.paris.scope=blanket"], seed=9)
    assert (settings.seed, settings.em.rounds, settings.em.minimum) == (9, 4, 0.7)
    assert settings.plugin_settings("rules", "paris").model_dump()["scope"] == "blanket"


def test_resolved_settings_read_back_as_they_were(tmp_path: Path) -> None:
    settings = load(assignments=["encoders.propagation.dimension=64", "similarity.measure=cosine"], seed=4)
    config = tmp_path / "settings.toml"
    config.write_text(tomli_w.dumps(settings.resolved()))
    assert load(config=config).resolved() == settings.resolved()


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_valid(name: str) -> None:
    assert load(name)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("em.roundz=5", "unknown setting em.roundz; known here are .*did you mean rounds"),
        ("matching.min_confidence=0.8", r"unknown setting matching.min_confidence; .*did you mean matching.minimum\?$"),
        ("em.target_precision=0.9", r"unknown setting em.target_precision; .*did you mean matching.precision\?$"),
        ("emm.rounds=5", "unknown setting emm; .*did you mean em"),
        ("em.rounds=-1", "setting em.rounds: found -1; .*greater than or equal to 0"),
        ("em.rounds=many", "setting em.rounds: found 'many'"),
        ("em.rounds", "expected KEY=VALUE"),
        ("rules.paris.scop=own", "unknown setting rules.paris.scop; .*did you mean scope"),
        ("rules.pariss.scope=own", "unknown rule 'pariss'; .*did you mean paris"),
        ("em.rules=['nothing']", "unknown rule 'nothing'"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(assignment: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        load(assignments=[assignment])
    assert "\n" not in str(caught.value)


def test_files_that_are_no_settings(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_config(tmp_path / "missing.toml")
    (tmp_path / "bad.toml").write_text("em = [")
    with pytest.raises(SettingsError, match="is not valid TOML"):
        read_config(tmp_path / "bad.toml")


@pytest.mark.parametrize("name", PRESETS)
def test_a_printed_preset_is_a_file_that_means_the_same(name: str, tmp_path: Path) -> None:
    printed = CliRunner().invoke(app, ["settings", "--preset", name])
    (tmp_path / "mine.toml").write_text(printed.stdout)
    assert read_config(tmp_path / "mine.toml") == PRESETS[name]
    assert load(config=tmp_path / "mine.toml").resolved() == load(name).resolved()


@pytest.fixture
def two_graphs(tmp_path: Path) -> Path:
    """A folder with two small graphs that share names, and some seeds; names link what structure does not."""
    for side in ("a", "b"):
        rows = [f"{side}{number}\tnext\t{side}{number % 7}\tentity" for number in range(24)]
        rows += [f"{side}{number}\tname\tnumber {number}\tliteral" for number in range(24)]
        (tmp_path / f"{side}.tsv").write_text("\n".join(["head\trelation\ttail\tkind", *rows]) + "\n")
    (tmp_path / "seeds.tsv").write_text("".join(f"a{number}\tb{number}\n" for number in range(4)))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_a_run_with_a_printed_preset_is_the_run_with_the_preset(name: str, two_graphs: Path) -> None:
    runner = CliRunner()
    (two_graphs / "mine.toml").write_text(runner.invoke(app, ["settings", "--preset", name]).stdout)
    graphs = [str(two_graphs / file) for file in ("a.tsv", "b.tsv")]
    asked = ["align", *graphs, "--seeds", str(two_graphs / "seeds.tsv"), "--quiet", "--device", "cpu", *SHORT]
    for out, given in (("by_name", ["--preset", name]), ("by_file", ["--config", str(two_graphs / "mine.toml")])):
        done = runner.invoke(app, [*asked, *given, "--out", str(two_graphs / out)])
        assert done.exit_code == 0, done.output
    for file in ("alignment.tsv", "candidates.tsv", "settings.toml"):
        assert (two_graphs / "by_name" / file).read_bytes() == (two_graphs / "by_file" / file).read_bytes(), file
    assert 'kind = "all"' in (two_graphs / "by_file" / "settings.toml").read_text()
    assert len((two_graphs / "by_file" / "alignment.tsv").read_text().splitlines()) > 15


def test_resolved_settings_of_a_committee_name_those_of_its_members() -> None:
    values = load("best").resolved()["encoders"]["committee"]["settings"]
    assert values["dual_amn"]["more_epochs"] == 10  # of the preset
    assert values["rrea"] == RREASettings().model_dump()


def test_settings_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().seed = 3  # type: ignore[misc]


def test_settings_of_plugins_are_checked_however_settings_are_made() -> None:
    with pytest.raises(SettingsError, match="propagtion"):
        Settings(encoders={"propagtion": {"dimension": 3}})
    with pytest.raises(SettingsError, match="depht"):
        Settings(encoders={"propagation": {"depht": 3}})
    with pytest.raises(SettingsError, match="expected each once"):
        load(assignments=["em.rules=paris,paris"])


OLD = """
method = "emea"
seed = 0
device = "cpu"

[evidence]
kind = "all"
most_holders = 1000
least_likeness = 0.5
tolerance = 0.001
local_names = false
most_strings = 100000

[similarity]
candidates = 50
measure = "csls"
neighbours = 10
exact = 33554432
axes = 1024
large = 1073741824

[probability]
scaling = "softmax"
typical_sharpness = 35.0
typical_none = -0.2
prior_pairs = 5.0
fit_candidates = 10
balance = 15
fit_to = "seeds"
folds = 10

[compatibility]
directions = "both"
none = 0.1
sweeps = 1
last_say = 0.2
abstain = true

[em]
encoder = "propagation"
rules = ["paris", "disagreement"]
rounds = 6
labels = "agreed"
weighted = true
minimum = 0.8
settled = 0.0

[matching]
method = "mutual"
minimum = 0.5
iterations = 15

[encoders.propagation]
dimension = 256
depth = 2
paths = 1024
path_weight = 1.5

[rules.paris]
evidence = "both"
minimum = 0.05
scope = "own"
prior = 0.1
prior_strength = 0.1

[rules.disagreement]
minimum = 0.05
prior_strength = 1.0

[run]
source = "a.ttl"
target = "b.ttl"
split = 0
top_k = 50
with_seeds = false
sources = 500
targets = 500
threads = 2

[run.versions]
emea = "0.1.0"
python = "3.11.7"
torch = "2.13.0"
"""


def test_settings_of_version_0_1_0_still_load(tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text(OLD)
    again = load(config=config).resolved()
    assert again["evidence"]["kind"] == "all"
    assert Inputs.parse(read_config(config, "run"), config).target == Path("b.ttl")


def test_a_plug_in_of_a_thousand_dots_is_refused() -> None:
    with pytest.raises(SettingsError, match="cannot be imported"):
        load(assignments=[f"em.rules=['{'a.' * 1000}b']"])


def test_the_setting_named_for_an_option_is_one_and_the_option_is_known() -> None:
    options = " ".join(CliRunner().invoke(app, ["align", "--help"], env={"COLUMNS": "300"}).output.split())
    for option, setting in SETTINGS.items():
        stage, name = setting.split(".")
        assert name in type(getattr(Settings(), stage)).model_fields
        assert f"--{option.replace('_', '-')} " in options


def test_settings_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text("em.rounds = " + "[" * 5000)
    with pytest.raises(SettingsError, match=r"deep\.toml is not valid TOML: .*recursion"):
        load(config=tmp_path / "deep.toml")
    with pytest.raises(SettingsError, match="found "):
        load(assignments=["em.rounds=" + "[" * 5000])
