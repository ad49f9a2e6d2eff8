"""What a cluster loses, a run survives: the same bytes come out, whatever was killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
import torch
from ray.cluster_utils import Cluster as Machines

from emea import plugins
from emea.candidates import table
from emea.contracts import GraphWriter
from emea.data import Graph, Links, Task
from emea.engine import LOCAL, Engine, Made
from emea.engine.ray import Cluster, _name
from emea.evidence.prepared import Prepared, prepare
from emea.method import em
from emea.method.rounds import Round
from emea.runs.folder import CHECKPOINT
from emea.settings import Settings, load

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("ray"),  # two clusters on two cores wait for each other
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning"),
]
STORE = 2**28  # bytes of each machine's object store: less than the campaign makes, so that some of it goes to disk
STAGES = {
    *("plain view", "weighted view", "both views"),
    *("projected", "nearest lists", "lists scanned", "nearest of part", "pairs of part"),
    *("best", "balanced", "factors of pairs"),
}
KILLS = 20
ENTITIES, PART = 6000, 2500  # of each graph, and of its parts
FILES = ("alignment.tsv", "candidates.tsv", "relations.tsv", "rounds.jsonl", "grounds.safetensors")


class Campaign:
    """Three machines, each a process of this one: a head that does not work, and two that do."""

    def __init__(self) -> None:
        self.machines = Machines(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False},
        )
        self.workers = [self.add(), self.add()]
        ray.init(address=self.machines.address, log_to_driver=False)

    def add(self, *, wait: bool = True) -> Any:
        return self.machines.add_node(wait=wait, num_cpus=1, object_store_memory=STORE)

    def lose_one(self) -> None:
        """A machine goes, without a word, and another comes."""
        self.machines.remove_node(self.workers.pop(0), allow_graceful=False)
        self.workers.append(self.add(wait=False))

    def processes(self) -> list[psutil.Process]:
        """Those that work on something: not the agents of a machine, without which it is lost."""
        titles = ((process, (process.info["cmdline"] or [""])[0]) for process in psutil.process_iter(["cmdline"]))
        return [process for process, title in titles if title.removeprefix("ray::") in STAGES]


@pytest.fixture(scope="module")
def campaign() -> Iterator[Campaign]:
    found = Campaign()
    yield found
    ray.shutdown()
    found.machines.shutdown()


@pytest.fixture(scope="module")
def problem() -> tuple[Prepared, Settings]:
    """Graphs that take a few seconds, searched like large ones."""
    settings = load(em={"rounds": 1}, similarity={"bounded": 0})
    draw, graphs = torch.Generator().manual_seed(0), []
    ends = torch.randint(ENTITIES, (2, 8 * ENTITIES), generator=draw)
    triples = torch.stack([ends[0], torch.randint(20, (8 * ENTITIES,), generator=draw), ends[1]], 1)
    for side in ("source", "target"):
        names = [
            [f"urn:{side}:{kind}{number:05}" for number in range(count)] for kind, count in (("e", ENTITIES), ("r", 20))
        ]
        graphs.append(Graph.build(*names, triples[torch.rand(len(triples), generator=draw) < 0.7]))
    known = torch.arange(0, ENTITIES, 10)
    return prepare(Task(graphs[0], graphs[1], Links.build(known, known)), settings.evidence), settings


def found(problem: tuple[Prepared, Settings], engine: Engine = LOCAL) -> list[torch.Tensor]:
    """All that the last round says; its candidates are in several parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "PART", PART)
        last: Round = deque(em.rounds(*problem, engine=engine), maxlen=1)[0]
    pairs = last.agreed.candidates
    beliefs = last.agreed.forward, last.agreed.backward, last.believed.forward
    return [pairs.source, pairs.target, pairs.cosine, *beliefs, *last.state.labels.columns, last.state.random]


@pytest.fixture(scope="module")
def expected(problem: tuple[Prepared, Settings]) -> list[torch.Tensor]:
    return found(problem)


def assert_same(one: list[torch.Tensor], other: list[torch.Tensor]) -> None:
    assert all(torch.equal(here, there) for here, there in zip(one, other, strict=True))


class Disturbed(Cluster):
    """Something happens in the middle of each kind of work, the first time that it is done."""

    def __init__(self, happens: Callable[[], None]) -> None:
        super().__init__()
        self.happens, self.disturbed = happens, set[str]()

    def map(self, work: Any, *given: Any) -> Made[Any]:
        made = super().map(work, *given)
        self._disturb(_name(work))
        return made

    def exchange(self, work: Any, *given: Any) -> list[Made[Any]]:
        made = super().exchange(work, *given)
        self._disturb(_name(work))
        return made

    def _disturb(self, name: str) -> None:
        if name in STAGES - self.disturbed:
            self.disturbed.add(name)
            time.sleep(0.3)
            self.happens()


def a_machine_is_lost_in_every_stage(
    campaign: Campaign, problem: tuple[Prepared, Settings], expected: list[torch.Tensor]
) -> None:
    engine = Disturbed(campaign.lose_one)
    assert_same(found(problem, engine), expected)
    assert engine.disturbed == STAGES
    assert engine.record()["nodes"] == 3


def processes_are_killed_at_random(
    campaign: Campaign, problem: tuple[Prepared, Settings], expected: list[torch.Tensor]
) -> None:
    draw, killed, over = random.Random(0), 0, threading.Event()

    def kill() -> None:
        nonlocal killed
        while killed < KILLS and not over.wait(draw.uniform(0.1, 0.6)):
            working = campaign.processes()
            if working:
                draw.choice(working).send_signal(signal.SIGKILL)
                killed += 1

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        results = [found(problem, Cluster())]
        while killed < KILLS:
            results.append(found(problem, Cluster()))
    finally:
        over.set()
        killer.join()
    for each in results:
        assert_same(each, expected)
    assert killed == KILLS


def a_slow_machine_only_takes_longer(
    campaign: Campaign, problem: tuple[Prepared, Settings], expected: list[torch.Tensor]
) -> None:
    halted = []

    def halt() -> None:
        stopped = campaign.processes()[:1]
        halted.extend(stopped)
        for process in stopped:
            process.suspend()
        threading.Timer(2.0, lambda: [process.resume() for process in stopped if process.is_running()]).start()

    assert_same(found(problem, Disturbed(halt)), expected)
    assert halted


def command(folder: Path, *more: str) -> list[str]:
    code = "import sys\nfrom emea.cli import main\nsys.argv[0] = 'emea'\nmain()"
    return [sys.executable, "-c", code, "align", *more, "--out", str(folder)]


@pytest.fixture(scope="module")
def whole(problem: tuple[Prepared, Settings], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder of a run that nobody disturbs, on one machine, and what it was given."""
    files, task = tmp_path_factory.mktemp("files"), problem[0].given
    writer = plugins.find("formats", "rdf", GraphWriter)()
    for name, graph in (("source", task.source), ("target", task.target)):
        writer.write_graph(graph, files / f"{name}.nt")
    rows = zip(*(names.to_pylist() for names in task.names(task.seeds)), strict=True)
    (files / "seeds.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in rows))
    given = [str(files / "source.nt"), str(files / "target.nt"), "--seeds", str(files / "seeds.tsv")]
    given += ["--evidence", "structure", "--set", "similarity.bounded=0", "--set", "em.rounds=3"]
    subprocess.run(command(files / "whole", *given), check=True, capture_output=True)
    return files / "whole", given


def the_driver_is_killed_and_resumed(
    campaign: Campaign, tmp_path: Path, moment: str, engine: str, whole: tuple[Path, list[str]]
) -> None:
    folder, given = whole
    broken = tmp_path / "broken"
    there = os.environ | {"RAY_ADDRESS": campaign.machines.address}
    line = command(broken, *given, "--engine", "ray")
    driver = subprocess.Popen(line, env=there, stderr=subprocess.PIPE, text=True)
    assert driver.stderr is not None
    for said in driver.stderr:
        if said.startswith("round 0"):
            break
    time.sleep(0 if moment == "between" else 1)
    driver.kill()
    driver.wait()
    assert (broken / CHECKPOINT).exists()
    driver.stderr.close()
    subprocess.run(command(broken, "--resume", "--engine", engine), check=True, capture_output=True, env=there)
    for name in FILES:
        assert (broken / name).read_bytes() == (folder / name).read_bytes(), name
    assert (broken / "engine.json").exists() == (engine == "ray")


def test_a_campaign_of_faults(
    campaign: Campaign,
    problem: tuple[Prepared, Settings],
    expected: list[torch.Tensor],
    whole: tuple[Path, list[str]],
    tmp_path: Path,
) -> None:
    """One after the other, on one cluster: what is killed in one must not be what another waits for."""
    a_machine_is_lost_in_every_stage(campaign, problem, expected)
    processes_are_killed_at_random(campaign, problem, expected)
    a_slow_machine_only_takes_longer(campaign, problem, expected)
    for moment, engine in (("between", "ray"), ("within", "local")):
        the_driver_is_killed_and_resumed(campaign, tmp_path / moment, moment, engine, whole)
