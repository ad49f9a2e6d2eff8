"""What all tests share."""

import gc
import importlib
import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
import typer

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from buckets import Bucket
    from interruptions import Case

LARGE = {"test_blindness", "test_quality", "test_world"}  # tests whose tensors repay the wait for a second thread


def pytest_collection(session: pytest.Session) -> None:
    """Before the first module of tests is imported."""
    if session.config.getoption("dist") != "no":  # this process only hands out tests: it needs none of this
        return
    import hypothesis
    import torch

    hypothesis.settings.register_profile("patient", deadline=None)  # a busy machine is no defect
    hypothesis.settings.load_profile("patient")
    if not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"  # kernels for GPUs are then run by an interpreter
    gc.disable()  # until all tests are collected: of hundreds of modules that are imported nothing goes away


def pytest_collection_finish() -> None:
    gc.freeze()  # what was imported stays: no search for what can go shall look at it
    gc.enable()


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A script as a module."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "scripts")
    return importlib.import_module


@pytest.fixture(autouse=True, scope="module")
def one_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small tensors: several threads would wait for each other longer than they compute."""
    import torch

    threads = torch.get_num_threads()
    if request.node.path.stem not in LARGE:
        torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True, scope="session")
def made_once() -> Iterator[None]:
    """What all tests may share: the graphs of the example, the command with all its options, and how fast this machine
    multiplies, which every run would try out."""
    from emea import examples
    from emea.runs import estimate

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(estimate, "matrix_rate", cache(estimate.matrix_rate))
        patched.setattr(examples, "read_graph", cache(examples.read_graph))
        patched.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session")
def bucket() -> "Iterator[Bucket]":
    """A bucket of an object store, once for all tests."""
    from buckets import served

    with served() as found:
        yield found


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Case":
    """A run by the command line that can be interrupted."""
    from interruptions import Case

    return Case(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """Debian's Chromium, once for all tests."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=600_000)  # milliseconds: a busy machine is no defect
    program = shutil.which("chromium")
    if program is None:
        pytest.fail("found no chromium, expected one: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def benchmark_data() -> Path:
    """The folder of benchmark graphs: EMEA_DATA, or .data in the repository; its absence is a failure in CI."""
    given = os.environ.get("EMEA_DATA")
    folder = Path(given) if given else Path(__file__).parents[1] / ".data"
    if not folder.is_dir():
        message = f"no benchmark graphs in {folder}: unpack them there, or set EMEA_DATA"
        if given or os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder
