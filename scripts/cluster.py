"""Measures runs on one machine and on Ray clusters of several sizes, and writes the section of docs/results.md.

    python scripts/lift.py dbp15k/zh_en zh_en_x5 --copies 5
    python scripts/cluster.py DATA NAME [--ratio 0.05] [--workers 1 2 4] [--rounds 1]    # measure a pair
    python scripts/cluster.py --page                                                    # write the section

DATA is a benchmark folder, or a file, with --second FILE. A cluster is started for each number of workers,
each a core, and is stopped afterwards; starting it does not count. What is kept is in docs/bench/cluster.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _records import REPOSITORY, commit, write_sections
from emea.bench.plan import BANDWIDTH, CORES, ENTITIES, NODES, Measured
from emea.report.tables import markdown_table

STORE = REPOSITORY / "docs" / "bench" / "cluster"
FILES = ("alignment.tsv", "candidates.tsv", "relations.tsv", "rounds.jsonl", "grounds.safetensors")
PORT, MEMORY = 6391, 8 * 10**9  # of the cluster, and of its object store in bytes
PLANNED = "zh_en_x5"  # the pair from which other sizes are computed
RAY = [sys.executable, "-m", "ray.scripts.scripts"]


def measured(inputs: list[str], workers: int | None) -> dict[str, Any]:
    """One run: seconds of its rounds, memory of the driver, a number for what it wrote, and what its tasks took."""
    env = os.environ | {"RAY_ADDRESS": f"127.0.0.1:{PORT}", "RAY_AUTH_MODE": "token"}
    if workers is not None:
        start = ["start", "--head", f"--num-cpus={workers}", f"--port={PORT}", f"--object-store-memory={MEMORY}"]
        subprocess.run([*RAY, *start, "--include-dashboard=false"], check=True, capture_output=True, env=env)
    try:
        with tempfile.TemporaryDirectory() as folder:
            engine = [] if workers is None else ["--engine", "ray"]
            line = [sys.executable, "-m", "emea", "align", *inputs, *engine, "--out", folder, "--quiet", "--force"]
            started = time.perf_counter()
            process = subprocess.Popen(line, env=env)
            _, status, used = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - started
            if status:
                raise SystemExit(f"{' '.join(line)} failed")
            return {**described(Path(folder), used, workers), "workers": workers, "whole": round(seconds, 1)}
    finally:
        if workers is not None:
            subprocess.run([*RAY, "stop", "--force"], check=True, capture_output=True)


def described(folder: Path, used: resource.struct_rusage, workers: int | None) -> dict[str, Any]:
    """What a run folder says."""
    digest = hashlib.sha256()
    for name in FILES:
        digest.update((folder / name).read_bytes())
    about = (folder / "settings.toml").read_text(encoding="utf-8")
    sizes = [int(re.search(rf"^{name} = (\d+)", about, re.MULTILINE)[1]) for name in ("sources", "targets")]  # type: ignore[index]
    times = [json.loads(line)["seconds"] for line in (folder / "timings.jsonl").read_text("utf-8").splitlines()]
    found: dict[str, Any] = {"sha256": digest.hexdigest(), "entities": sizes, "rounds": times}
    found["memory"] = used.ru_maxrss * 1024
    if workers is not None:
        found["engine"] = json.loads((folder / "engine.json").read_text(encoding="utf-8"))
        found["memory"] = found["engine"]["memory here"]  # without what evaluation takes, which fetches embeddings
    return found


def measure(options: argparse.Namespace) -> None:
    """All runs of a pair, kept as they end."""
    inputs = ["--data", str(options.data)] if options.second is None else [str(options.data), str(options.second)]
    inputs += ["--ratio", str(options.ratio)] if options.ratio else []
    inputs += [part for each in (f"em.rounds={options.rounds}", *options.set) for part in ("--set", each)]
    STORE.mkdir(parents=True, exist_ok=True)
    runs = []
    for workers in (*[None] * (not options.only), *options.workers):
        runs.append(measured(inputs, workers))
        print(
            options.name,
            workers,
            runs[-1]["rounds"],
            runs[-1]["sha256"][:12],
            f"{runs[-1]['memory'] / 1e9:.2f} GB",
            flush=True,
        )
        record = {"pair": options.name, "ratio": options.ratio, "commit": commit(), "runs": runs}
        (STORE / f"{options.name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def section() -> str:
    """What was measured, and what follows from the run with one worker for the one with two."""
    rows, checks = [], []
    for path in sorted(STORE.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        by_workers = {run["workers"]: run for run in record["runs"]}
        local = by_workers.pop(None, None)
        for run in record["runs"]:
            on = (
                "one machine" if run["workers"] is None else f"Ray, {run['workers']} worker{'s' * (run['workers'] > 1)}"
            )
            rows.append(
                {
                    "pair": record["pair"],
                    "entities": " + ".join(f"{size:,}" for size in run["entities"]),
                    "engine": on,
                    "seconds of rounds": ", ".join(f"{each:.1f}" for each in run["rounds"]),
                    "memory of the driver": f"{run['memory'] / 1e9:.2f} GB",
                    "files": "" if local is None else "the same" if run["sha256"] == local["sha256"] else "differ",
                    "commit": record["commit"],
                }
            )
        if {1, 2} <= by_workers.keys():
            one, two = (of_run(by_workers[count]) for count in (1, 2))
            planned = one.on(1, 2)["seconds"] * one.rounds
            checks.append(
                {
                    "pair": record["pair"],
                    "1 worker": f"{one.seconds:.1f} s",
                    "2 workers, planned": f"{planned:.1f} s",
                    "2 workers": f"{two.seconds:.1f} s",
                    "off by": f"{planned / two.seconds - 1:+.0%}",
                }
            )
    return (
        "## On a cluster\n\nGenerated by `python scripts/cluster.py`: the first rounds of `fast`, two cores in all. "
        "*files*: alignment, candidates, relations, records of the rounds and grounds, by their SHA-256. The first "
        "round on a cluster starts its processes. Memory is that of the process which was started, with the pages "
        "of the object store that it touched, and with the evaluation, which fetches embeddings (not zh_en_x13).\n\n"
        f"{markdown_table(rows)}\n\n"
        "What `emea bench --plan` computes from a run with one worker for one with two:\n\n"
        f"{markdown_table(checks)}\n\n"
        f"And, from {PLANNED} with two workers, for other sizes: computed, not measured, for machines of {CORES} cores "
        f"that fetch {BANDWIDTH / 1e9:g} GB a second. What the driver computes bounds what more machines gain.\n\n"
        f"{markdown_table(planned_rows())}\n"
    )


def planned_rows() -> list[dict[str, str]]:
    """A round of graphs of several sizes on several clusters."""
    record = json.loads((STORE / f"{PLANNED}.json").read_text(encoding="utf-8"))
    measured = of_run(next(run for run in record["runs"] if run["workers"] == 2))
    return [
        {
            "entities": f"{row['entities']:,}",
            "machines": str(row["nodes"]),
            "seconds a round": f"{row['seconds']:,.0f}",
            "of these the driver": f"{row['driver seconds']:,.0f}",
            "into each machine": f"{row['bytes into a machine'] / 1e9:,.1f} GB",
        }
        for row in (measured.on(nodes, CORES, entities) for entities in ENTITIES for nodes in NODES)
    ]


def of_run(run: dict[str, Any]) -> Measured:
    """A kept run as a plan sees it."""
    engine = run["engine"]
    seconds, shared = sum(run["rounds"]), engine["shared bytes"]
    return Measured(
        sum(run["entities"]), len(run["rounds"]), seconds, run["workers"], engine["work"], shared, run["memory"]
    )


def main() -> None:
    """Measure, or write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--second", type=Path)
    parser.add_argument("--ratio", type=float)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--only", action="store_true", help="Measure clusters only.")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.page:
        write_sections(section())
    else:
        measure(options)


if __name__ == "__main__":
    main()
