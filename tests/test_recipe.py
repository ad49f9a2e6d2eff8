"""The conda recipe asks for what pyproject.toml asks for; rattler-build itself is not at hand here."""

import re
import tomllib
from pathlib import Path

import typer
import yaml
from packaging.requirements import Requirement

import emea
from emea.cli import app

REPOSITORY = Path(__file__).parents[1]
TEXT = (REPOSITORY / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
CONTEXT = yaml.safe_load(TEXT)["context"]
RECIPE = yaml.safe_load(re.sub(r"\$\{\{ (\w+) \}\}", lambda found: CONTEXT.get(found[1], found[0]), TEXT))
SETUP = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETUP["project"]
NAMES = {"torch": "pytorch"}  # that conda-forge calls otherwise


def asked(requirements: list[str]) -> dict[str, str]:
    """The lowest version of each package, by its name there."""
    parsed = [Requirement(each) for each in requirements]
    return {NAMES.get(each.name, each.name): str(each.specifier) for each in parsed}


def told(lines: list[str]) -> dict[str, str]:
    pairs = [line.partition(" ") for line in lines]
    assert len({name for name, _, _ in pairs}) == len(lines)
    return {name: version for name, _, version in pairs}


def test_it_needs_what_the_package_needs() -> None:
    run = told(RECIPE["requirements"]["run"])
    assert run.pop("python") == PROJECT["requires-python"]
    assert run == asked(PROJECT["dependencies"])


def test_it_is_built_with_what_the_package_is_built_with() -> None:
    host = told(RECIPE["requirements"]["host"])
    assert host.pop("python") == f"{CONTEXT['python_min']}.*"
    assert host == {"pip": "", **asked(SETUP["build-system"]["requires"])}
    assert RECIPE["build"]["noarch"] == "python"


def test_what_may_be_there_is_of_an_extra() -> None:
    extras = [each for name, group in PROJECT["optional-dependencies"].items() if name != "dev" for each in group]
    assert told(RECIPE["requirements"]["run_constraints"]).items() <= asked(extras).items()


def test_it_is_of_this_version_with_its_licences_and_command() -> None:
    assert RECIPE["package"] == {"name": PROJECT["name"], "version": emea.__version__}
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert RECIPE["about"]["license_file"] == PROJECT["license-files"]
    entries = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert RECIPE["build"]["python"]["entry_points"] == entries


def test_what_it_tries_out_exists() -> None:
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for line in RECIPE["tests"][1]["script"]:
        name, *words = line.split()
        assert name == "emea"
        if words != ["--version"]:
            known = {option for each in verbs[words[0]].params for option in each.opts}
            assert {word for word in words if word.startswith("--")} <= known
