"""What the workflow installs is what pyproject.toml asks for, in the versions of constraints.txt, checked by hashes."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import NamedTuple

import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

REPOSITORY = Path(__file__).parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ASKED = [Requirement(each) for each in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"])]
LOCK = (REPOSITORY / ".github" / "requirements.txt").read_text(encoding="utf-8")
CONSTRAINTS = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8")
WORKFLOW = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
MAKEFILE = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
AGAIN = "make lock writes it anew"
TORCH = "torch"  # whose builds for CPUs are not on PyPI
# Python, system: where the lock has to hold
PLACES = [
    {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": system,
        "platform_machine": machine,
    }
    for python in ("3.11", "3.12", "3.13", "3.14")
    for system, machine in (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("win32", "AMD64"))
]


class Locked(NamedTuple):
    version: Version
    marker: Marker | None
    hashes: list[str]


def locked(text: str) -> dict[str, Locked]:
    found = {}
    for block in re.split(r"^(?=[^\s#])", text, flags=re.MULTILINE)[1:]:
        line = Requirement(block.splitlines()[0].rstrip("\\ "))
        name = canonicalize_name(line.name)
        assert name not in found, f"{name} is there twice"
        found[name] = Locked(
            Version(str(line.specifier).removeprefix("==")), line.marker, re.findall(r"--hash=(\S+)", block)
        )
    return found


FOUND = locked(LOCK)
PINNED = {canonicalize_name(name): Version(each) for name, each in re.findall(r"^([\w.-]+)==(\S+)$", CONSTRAINTS, re.M)}


def wanted(marker: Marker | None, place: dict[str, str]) -> bool:
    return marker is None or marker.evaluate({**place, "extra": ""})


def missing(asked: list[Requirement], places: list[dict[str, str]]) -> list[str]:
    """What is not locked where it is needed, or in a version that does not fit."""
    wrong = []
    for place in places:
        for each in asked:
            name = canonicalize_name(each.name)
            if name == TORCH or not wanted(each.marker, place):
                continue
            there = FOUND.get(name)
            if there is None or not wanted(there.marker, place):
                wrong.append(f"{name} is missing for {place['sys_platform']}, {place['python_version']}")
            elif there.version not in each.specifier:
                wrong.append(f"{each} was asked for, {there.version} is locked")
    return wrong


def test_all_that_is_asked_for_is_locked() -> None:
    assert len(ASKED) > 40
    assert missing(ASKED, PLACES) == [], AGAIN


def test_the_check_notices() -> None:
    asked = [Requirement("scipy>=999"), Requirement("absent>=1"), Requirement("triton>=3; sys_platform == 'linux'")]
    assert {each.partition(" ")[0] for each in missing(asked, PLACES)} == {"scipy>=999", "absent"}
    everywhere = missing([Requirement("triton>=3")], PLACES)
    assert {each.split()[4] for each in everywhere} == {"darwin,", "win32,"}


def test_what_packages_ask_for_is_locked_as_well() -> None:
    """Of those that are installed here in the version that is locked, torch among them."""
    seen, wrong = 0, []
    for name in (*FOUND, TORCH):
        try:
            here = Version(Version(version(name)).public)  # without +cpu
        except PackageNotFoundError:
            continue
        if here == (PINNED[TORCH] if name == TORCH else FOUND[name].version):
            seen += 1
            places = [place for place in PLACES if name == TORCH or wanted(FOUND[name].marker, place)]
            wrong += missing([Requirement(each) for each in requires(name) or []], places)
    assert seen > 90
    assert wrong == [], AGAIN


def test_every_package_has_hashes_and_nothing_says_from_where() -> None:
    assert len(FOUND) > 100
    assert all(each.hashes for each in FOUND.values())
    kinds = {re.sub(r"[0-9a-f]{64}", "…", value) for each in FOUND.values() for value in each.hashes}
    assert kinds == {"sha256:…"}
    assert not re.search(r"https?:|file:|^-|--(?!hash=)| @ ", LOCK, re.MULTILINE)


def test_versions_are_those_of_make() -> None:
    """Both files were made at one time, so that no test sees other versions than another."""
    both = FOUND.keys() & PINNED.keys()
    assert len(both) > 90
    assert {name: str(FOUND[name].version) for name in both} == {name: str(PINNED[name]) for name in both}, AGAIN
    assert TORCH not in FOUND
    assert next(each for each in ASKED if each.name == TORCH).specifier.contains(PINNED[TORCH])
    assert not [name for name in FOUND if name.startswith(("nvidia-", "cuda-"))]


def test_the_workflow_installs_by_hash() -> None:
    """First of all, and afterwards from nowhere, except for the release, which is tried out as others will."""
    for name in ("check", "versions", "release"):
        steps = [step for step in WORKFLOW["jobs"][name]["steps"] if str(step.get("run")).startswith("make")]
        assert steps[0]["run"] == "make locked"
        offline = [step.get("env", {}).get("PIP_NO_INDEX") == "1" for step in steps[1:]]
        assert offline == [name != "release"]
    recipe = re.search(r"^locked:\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert recipe is not None
    installs = [line for line in recipe[1].splitlines() if "pip install" in line]
    installs += [
        step["run"]
        for job in WORKFLOW["jobs"].values()
        for step in job["steps"]
        if "pip install" in str(step.get("run"))
    ]
    by_hash = [line for line in installs if "--require-hashes --requirement .github/requirements.txt" in line]
    (other,) = set(installs) - set(by_hash)
    assert len(by_hash) == 2
    assert "--no-deps --index-url $(CPU_BUILDS) --constraint constraints.txt torch" in other


def test_actions_are_named_by_what_they_are() -> None:
    """A tag can be moved, a commit cannot."""
    used = {step["uses"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "uses" in step}
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each) for each in used)


def test_versions_of_python_are_told_alike() -> None:
    told = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if each.startswith("Programming Language ::")][
        1:
    ]
    assert told == WORKFLOW["jobs"]["versions"]["strategy"]["matrix"]["python"]
    assert PROJECT["requires-python"] == f">={told[0]}"
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert f"Python {told[0]} to {told[-1]}" in readme
