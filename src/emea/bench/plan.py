"""What a run would take on a cluster of another size: computed from what a run on a cluster measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emea.errors import InputError
from emea.runs.folder import ENGINE
from emea.settings import read_config

NODES = (1, 4, 16, 64)
ENTITIES = (1_000_000, 10_000_000, 100_000_000)  # of both graphs
CORES = 16  # of a machine
BANDWIDTH = 1.25e9  # bytes a second into a machine: 10 Gbit/s
FIXED = 4  # tasks a round up to which their number does not grow with the graphs


@dataclass(frozen=True)
class Measured:
    """A finished run on a cluster."""

    entities: int  # of both graphs
    rounds: int
    seconds: float  # of all rounds
    cores: int
    work: dict[str, dict[str, float]]  # tasks, seconds and bytes of each kind
    shared: float  # bytes
    memory: float  # bytes of the driver at its peak

    @classmethod
    def read(cls, folder: Path) -> Measured:
        """From a run folder."""
        try:
            ran = json.loads((folder / ENGINE).read_text(encoding="utf-8"))
            times = (folder / "timings.jsonl").read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise InputError(f"{folder} is not the folder of a run with --engine ray: {error}") from error
        about = read_config(folder / "settings.toml", "run")
        seconds = [json.loads(line)["seconds"] for line in times[-ran["rounds"] :]]  # of the process that ended the run
        entities = about["sources"] + about["targets"]
        shared, memory = ran["shared bytes"], ran["memory here"]
        return cls(entities, len(seconds), sum(seconds), ran["cpus"], ran["work"], shared, memory)

    @property
    def here(self) -> float:
        """Seconds in which no task ran: what the driver does itself."""
        return max(0.0, self.seconds - self._tasks(self.cores, 1.0))

    def _tasks(self, cores: int, growth: float) -> float:
        """Seconds of all tasks on so many cores, of graphs that are so many times as large."""
        total = 0.0
        for each in self.work.values():
            tasks = each["tasks"] / self.rounds
            at_once = min(cores, tasks if tasks <= FIXED else tasks * growth)
            total += each["seconds"] * growth / max(1.0, at_once)
        return total

    def on(self, nodes: int, cores: int, entities: int | None = None) -> dict[str, Any]:
        """A round of graphs of this size on so many machines: seconds, and bytes that each machine and the driver have
        to hold. Time and bytes are taken to grow with the entities; lists, √entities of them, grow faster."""
        growth = 1.0 if entities is None else entities / self.entities
        moved = growth * (self.shared + sum(each["bytes"] for each in self.work.values())) / self.rounds
        into = moved * (1 - 1 / nodes)  # at most: a machine fetches nothing twice
        driver, tasks = growth * self.here / self.rounds, self._tasks(nodes * cores, growth) / self.rounds
        return {
            "entities": self.entities if entities is None else entities,
            "nodes": nodes,
            "cores": cores,
            "seconds": driver + tasks + into / BANDWIDTH,
            "driver seconds": driver,
            "bytes into a machine": into,
            "bytes made": moved,
            "driver bytes": growth * self.memory,
        }


def plan(folder: Path) -> dict[str, Any]:
    """What rounds would take, from a run folder."""
    measured = Measured.read(folder)
    rows = [measured.on(nodes, CORES, entities) for entities in ENTITIES for nodes in NODES]
    again = measured.on(1, measured.cores)["seconds"] * measured.rounds
    return {
        "entities": measured.entities,
        "cores": measured.cores,
        "seconds": measured.seconds,
        "the same again": again,
        "rows": rows,
    }
