"""What the scripts that make large pairs share: numbers drawn by hashing, and id files written block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

BLOCK = 1 << 20  # lines that are made at once
SIDES = ("source", "target")


def draw(*keys: int | np.ndarray) -> np.ndarray:
    """A number of 64 bits for each combination of keys, as good as random: SplitMix64 over one key after the other.

    >>> bool(draw(1, np.arange(3))[2] == draw(1, 2))
    True
    """
    found = np.zeros(1, dtype=np.uint64)
    for key in keys:
        found = found + np.asarray(key).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found ^= found >> np.uint64(31)
    return found


def share(drawn: np.ndarray) -> np.ndarray:
    """Drawn numbers as shares, at least 0 and less than 1."""
    found: np.ndarray = (drawn >> np.uint64(11)) * 2.0**-53
    return found


def shuffled(numbers: np.ndarray, size: int, *keys: int) -> np.ndarray:
    """The places of numbers below `size` in one shuffle of them all, which is never stored.

    A Feistel network permutes the numbers of an even count of bits; who lands beyond the size walks on.

    >>> sorted(shuffled(np.arange(10), 10, 7).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    half = np.uint64(max(1, (size.bit_length() + 1) // 2))
    low = (np.uint64(1) << half) - np.uint64(1)
    found, beyond = numbers.astype(np.uint64), np.arange(len(numbers))
    while len(beyond):
        left, right = found[beyond] >> half, found[beyond] & low
        for turn in range(4):
            left, right = right, left ^ (draw(*keys, turn, right) & low)
        found[beyond] = (left << half) | right
        beyond = beyond[found[beyond] >= size]
    return found.astype(np.int64)


def lines(size: int, *keys: int) -> Iterator[np.ndarray]:
    """The numbers below `size` in shuffled order, block by block."""
    for start in range(0, size, BLOCK):
        yield shuffled(np.arange(start, min(size, start + BLOCK)), size, *keys)


def addresses(side: str, ids: np.ndarray, names: pa.Array | None = None) -> pa.Array:
    """An entity's URI: its id, and as the last part its name if it has one (`--local-names` uses that)."""
    parts = [f"http://{side}.example/", pa.array(ids).cast(pa.string()), *([] if names is None else ["/", names])]
    return pc.binary_join_element_wise(*parts, "")


def write_lines(path: Path, size: int, keys: Sequence[int], columns: Callable[[np.ndarray], Sequence[pa.Array]]) -> int:
    """Write a file of tab-separated lines in shuffled order; `columns` makes those with the given numbers."""
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with path.open("wb") as file:
        for numbers in lines(size, *keys):
            made = [pa.array(column) for column in columns(numbers)]
            table = pa.table(made, names=[str(place) for place in range(len(made))])
            csv.write_csv(table, file, options)
    return size
