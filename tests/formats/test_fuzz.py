"""A small share of what `make fuzz` runs."""

import gzip
import random
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emea.errors import EmeaError
from emea.formats import read_graph, read_pair_names
from emea.kernels.devices import peak_memory
from emea.settings import load
from fuzzing import SECONDS, Subject, mutate, run_case, subject_of, subjects

pytestmark = pytest.mark.filterwarnings("ignore::emea.errors.InputWarning")  # what is skipped is told: a good end
MEMORY = 500 << 20  # bytes that all cases together may use beyond what was used before


def seeds(times: range) -> list[int]:
    """Those that break each subject for the first time, the second time …"""
    found: dict[str, list[int]] = {subject.name: [] for subject in subjects()}
    for seed in count():
        if all(len(known) >= times.stop for known in found.values()):
            return [seed for known in found.values() for seed in known[times.start : times.stop]]
        found[subject_of(random.Random(seed)).name].append(seed)
    raise AssertionError


@pytest.mark.parametrize("times", [range(1), pytest.param(range(1, 4), marks=pytest.mark.slow)], ids=["first", "more"])
def test_readers_and_settings_succeed_or_raise_our_error(tmp_path: Path, times: range) -> None:
    before = peak_memory()
    seen, slowest = set(), 0.0
    for seed in seeds(times):
        folder = tmp_path / str(seed)
        folder.mkdir()
        started = time.process_time()  # a busy machine is not a defect
        seen.add(run_case(seed, folder))
        slowest = max(slowest, time.process_time() - started)
    assert seen == {subject.name for subject in subjects()}
    assert slowest < SECONDS
    assert peak_memory() - before < MEMORY


FILES = sorted({Path(name).name for subject in subjects() for name in subject.files if "." in name})


@given(st.sampled_from(FILES), st.one_of(st.binary(max_size=200), st.text(max_size=100).map(str.encode)))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, name: str, content: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    for read in (read_graph, read_pair_names, lambda config: load(config=config)):
        with suppress(EmeaError):
            read(path)


@pytest.mark.parametrize("subject", subjects(), ids=lambda subject: subject.name)
def test_the_files_are_read_before_they_are_broken(tmp_path: Path, subject: Subject) -> None:
    for name, content in subject.files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    subject.run(tmp_path)


def test_mutations_are_repeatable_and_change_something() -> None:
    content = b"some bytes that are broken in many ways"
    mutated = [mutate(content, random.Random(seed)) for seed in range(200)]
    assert mutated == [mutate(content, random.Random(seed)) for seed in range(200)]
    assert sum(each != content for each in mutated) > 150
    assert len(set(mutated)) > 150
