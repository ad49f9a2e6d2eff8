"""Ray: work runs as tasks of a cluster, which runs a task again if the process or the machine it ran on is lost.

What tasks make stays in the cluster's object store, and is made again from what it was made of if it is lost. Tensors
travel as their bytes, and tasks of one machine see the same memory.
"""

from __future__ import annotations

import copy
import logging
import os
import platform
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import ray
import torch
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from torch import Tensor

from emea import __version__
from emea.engine import Block, Engine, Kept, Made, Work
from emea.errors import EngineError

T = TypeVar("T")
NOWHERE = "there is no Ray cluster at {}: {}; one that asks for tokens needs RAY_AUTH_MODE=token here, too"
LOST = "the Ray cluster cannot go on ({}); continue with --resume --out FOLDER, there or with another --engine"
RETRIES = 100  # of a task whose process or machine is lost


@contextmanager
def connected(address: str, gpus: float = 0) -> Iterator[Cluster]:
    """A cluster that runs already, or for the address `ray` one on this machine, as long as it is needed. A program
    that is connected to a cluster stays so."""
    mine = not ray.is_initialized()
    if mine:
        here = {"include_dashboard": False, **({} if "RAY_ADDRESS" in os.environ else {"address": "local"})}
        place: dict[str, Any] = here if address == "ray" else {"address": address}
        logging.getLogger("ray").setLevel(logging.ERROR)  # the level is no argument of a remote client
        try:
            ray.init(**place, log_to_driver=False)
        except (RayError, ConnectionError, RuntimeError, ValueError) as error:
            where = os.environ.get("RAY_ADDRESS", address) if address == "ray" else address
            raise EngineError(NOWHERE.format(where, _one_line(error))) from error
    try:
        cluster = Cluster(gpus)
        cluster.check(gpus)
        yield cluster
    except RayTaskError as error:
        if isinstance(error.cause, RayError):
            raise EngineError(LOST.format(_one_line(error.cause))) from error
        raise error.cause from error  # what went wrong in the work itself
    except RayError as error:
        raise EngineError(LOST.format(_one_line(error))) from error
    except ConnectionError as error:
        if type(error) is not ConnectionError:  # a closed pipe, for instance, is not Ray's
            raise
        raise EngineError(LOST.format(_one_line(error))) from error
    finally:
        if mine:
            ray.shutdown()


class Cluster(Engine):
    """Runs each block as a task of its own, on one core or a share of a GPU."""

    def __init__(self, gpus: float = 0) -> None:
        _register()
        self._gpus, self._told, self._shared = gpus, defaultdict[str, list[Any]](list), 0
        # A task that fails by itself is not run again.
        self._task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES, retry_exceptions=False)(_run)

    def share(self, value: T) -> Kept[T]:
        """Put into the object store."""
        self._shared += _bytes(value)
        return _Object(ray.put(value))

    def map(self, work: Work[T], blocks: Iterable[Block], *shared: Kept[Any]) -> Made[T]:
        """One task a block; all begin as soon as there is room."""
        return _Objects([self._begin(work, block, shared, None)[0] for block in blocks])

    def exchange(
        self, work: Work[Sequence[T]], blocks: Iterable[Block], parts: int, *shared: Kept[Any]
    ) -> list[Made[T]]:
        """The pieces of a task are objects of their own, so that a part fetches only what it gets."""
        made = [self._begin(work, block, shared, parts) for block in blocks]
        return [_Objects([pieces[part] for pieces in made]) for part in range(parts)]

    def _begin(self, work: Work[Any], block: Block, shared: Sequence[Kept[Any]], parts: int | None) -> list[Any]:
        """Start a task; the references to its pieces."""
        layout: list[int | None] = []
        flat: list[Any] = []
        for given in (*block, *shared):
            if isinstance(given, _Objects):
                several = given.take()
                layout.append(len(several))
                flat += several
            else:
                layout.append(None)
                flat.append(given.reference if isinstance(given, _Object) else given)
        made: list[Any]
        *made, told = self._task.options(num_returns=(parts or 1) + 1, name=_name(work)).remote(
            work, layout, parts, bool(self._gpus), *flat
        )
        self._told[_name(work)].append(told)
        return made

    def check(self, gpus: float) -> None:
        """Refuse machines with other versions, which would compute something else, and GPUs that there are not."""
        ours = _versions()
        working = [node for node in _machines() if node["Resources"].get("CPU", 0)]
        if gpus and not any(node["Resources"].get("GPU", 0) for node in working):
            raise EngineError(f"found no GPU in the Ray cluster, expected some for --engine-gpus {gpus:g}")
        for node in working:
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=True)
            task = ray.remote(num_cpus=0, max_retries=RETRIES)(_versions)
            asked = task.options(scheduling_strategy=there).remote()
            try:
                theirs = ray.get(asked)
            except RayTaskError as error:
                raise EngineError(f"a machine of the Ray cluster cannot run emea: {_one_line(error.cause)}") from error
            if theirs != ours:
                raise EngineError(f"a machine of the Ray cluster has {theirs}, expected {ours} as here")

    def record(self) -> dict[str, Any]:
        """The machines, and the tasks, seconds and bytes of each kind of work."""
        work = {}
        for name, told in self._told.items():
            seconds, made = zip(*ray.get(told), strict=True)
            work[name] = {"tasks": len(told), "seconds": round(sum(seconds), 3), "bytes": sum(made)}
        machines = _machines()
        shape = {"nodes": len(machines), "cpus": int(sum(node["Resources"].get("CPU", 0) for node in machines))}
        return {"kind": "ray", **shape, "shared bytes": self._shared, "work": work}


class _Object(Kept[T]):
    def __init__(self, reference: Any) -> None:
        self.reference = reference

    def fetch(self) -> T:
        found: T = ray.get(self.reference)
        return found


class _Objects(Made[T]):
    def __init__(self, references: list[Any]) -> None:
        self._references = references

    def __iter__(self) -> Iterator[T]:
        while self._references:
            yield ray.get(self._references.pop(0))

    def kept(self) -> list[Kept[T]]:
        return [_Object(each) for each in self.take()]

    def take(self) -> list[Any]:
        """The references, which are gone from here: what nobody refers to is freed."""
        taken, self._references = self._references, []
        return taken


def _run(work: Work[Any], layout: list[int | None], parts: int | None, on_gpu: bool, *flat: Any) -> Any:
    """What a task does: its work, with arguments put together again; and what is told about it."""
    _register()
    torch.set_num_threads(1)
    started, values, arguments = time.perf_counter(), iter(flat), []
    for count in layout:
        taken = [next(values) for _ in range(1 if count is None else count)]
        taken = [_moved(each, torch.device("cuda")) for each in taken] if on_gpu else taken
        arguments.append(taken[0] if count is None else iter(taken))
    made = work(*arguments)
    pieces = [made] if parts is None else [*made]
    return (*pieces, (time.perf_counter() - started, sum(map(_bytes, pieces))))


def _versions() -> str:
    return f"Python {platform.python_version()}, emea {__version__} and torch {torch.__version__}"


def _machines() -> list[dict[str, Any]]:
    """Those that are alive."""
    return [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]


def _name(work: Work[Any]) -> str:
    return getattr(work, "func", work).__name__.strip("_").replace("_", " ")


def _one_line(error: BaseException) -> str:
    return " ".join((str(error).strip() or type(error).__name__).split())[:200]


def _parts(value: Any) -> dict[Any, Any] | None:
    """What a value consists of; None for one that has no parts."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    return vars(value) if type(value).__module__.partition(".")[0] == "emea" and hasattr(value, "__dict__") else None


def _moved(value: Any, device: torch.device) -> Any:
    """The same with its tensors on a device."""
    if isinstance(value, Tensor):
        return value.to(device)
    parts = _parts(value)
    if parts is None:
        return value
    moved = {key: _moved(each, device) for key, each in parts.items()}
    if isinstance(value, dict):
        return moved
    if isinstance(value, list | tuple):
        return type(value)(*moved.values()) if hasattr(value, "_fields") else type(value)(moved.values())
    other = copy.copy(value)
    vars(other).update(moved)
    return other


def _bytes(value: Any) -> int:
    """How much memory the tensors of a value take."""
    if isinstance(value, Tensor):
        stored = value.values() if value.layout == torch.sparse_csr else value
        return stored.numel() * stored.element_size() * (1 if stored is value else 3)  # about: with its indices
    return sum(_bytes(each) for each in (_parts(value) or {}).values())


def _register() -> None:
    """Tensors travel as arrays, which the object store does not copy."""
    ray.util.register_serializer(Tensor, serializer=_packed, deserializer=_unpacked)


def _packed(tensor: Tensor) -> tuple[Any, ...]:
    tensor = tensor.detach()
    if tensor.layout == torch.sparse_csr:
        parts = tensor.crow_indices(), tensor.col_indices(), tensor.values()
        return "csr", tuple(tensor.shape), *(_packed(each) for each in parts)
    tensor = tensor.cpu().contiguous()
    halves = tensor.dtype == torch.bfloat16
    return "halves" if halves else "plain", (tensor.view(torch.int16) if halves else tensor).numpy()


def _unpacked(packed: tuple[Any, ...]) -> Tensor:
    kind, first, *rest = packed
    if kind == "csr":
        row, column, value = map(_unpacked, rest)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support")
            return torch.sparse_csr_tensor(row, column, value, first, check_invariants=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")  # nor does work write to it
        tensor = torch.from_numpy(first)
    return tensor.view(torch.bfloat16) if kind == "halves" else tensor
