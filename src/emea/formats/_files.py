"""Opens and writes files: packed by suffix, UTF-8 with or without a byte order mark, written whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from emea.errors import InputError
from emea.formats._packing import TORN, is_packed, packing, unpacked_name

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BUFFER = 1 << 20  # native parsers ask for small pieces; a large buffer saves calls back into Python
BLOCK = 1 << 20  # bytes that are split into lines and fields at a time
# A compressed file that expands beyond both is treated as a decompression bomb.
EXPANDED_SIZE, EXPANDED_TIMES = 1 << 30, 200
LONGEST_FIELD = 1 << 28  # characters in a quoted field
LONGEST_LINE = 1 << 28  # bytes
REASON = 300  # characters kept of another library's error message
BREAK = re.compile(r"[\t\r\n]")  # not allowed in names, nor anywhere in TSV
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}  # of columns in CSV, the most usual first
DOUBLE_SUFFIXES = (".sssom.tsv",)
IN_PARTS = Path("parts.parquet")  # stands for a folder of them


def suffix(path: Path) -> str:
    """The suffix that names the format: lower case, with the dot, without that of compression.

    >>> suffix(Path("countries.TTL.gz")), suffix(Path("links.sssom.tsv"))
    ('.ttl', '.sssom.tsv')
    """
    name = unpacked_name(path).lower()
    return next((ending for ending in DOUBLE_SUFFIXES if name.endswith(ending)), Path(name).suffix)


def stem(path: Path) -> str:
    """The name of a file without its suffix.

    >>> stem(Path("nodes.Person.CSV.gz")), stem(Path("links"))
    ('nodes.Person', 'links')
    """
    name = unpacked_name(path)
    return name[: len(name) - len(suffix(path))]


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; False for a name that no file can have."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """Whether a path is a file; False for a name that no file can have."""
    try:
        return path.is_file()
    except OSError:
        return False


def in_parts(path: Path) -> bool:
    """Whether a folder is one Parquet table in parts, as Spark and others write it."""
    if not is_folder(path):
        return False
    names = [each.name for each in path.iterdir() if not each.name.startswith(("_", "."))]
    only_parts = all(name.startswith(("part-", "part.")) and name.endswith(".parquet") for name in names)
    return suffix(path) == ".parquet" or (bool(names) and only_parts)


def one_line(reason: str) -> str:
    """Another library's error message, on one line and shortened for ours.

    >>> one_line("Invalid character '\\n' here")
    "Invalid character ' ' here"
    """
    return " ".join(reason.split())[:REASON] or "unreadable"


def expands_too_far(expanded: int, packed: int) -> bool:
    """Whether these sizes in bytes are treated as a decompression bomb."""
    return expanded > EXPANDED_SIZE and expanded > EXPANDED_TIMES * packed


class TornError(InputError):
    """A compressed file that breaks off, or is damaged; what comes before could be read."""


@contextmanager
def read_by(reader: object, place: object) -> Iterator[None]:
    """For a reader that takes text for UTF-8 without looking: what is not is refused in our words. What a reader of
    another package gives us that we refuse is told with its place."""
    try:
        yield
    except UnicodeDecodeError as error:
        found = f"found byte 0x{error.object[error.start]:02x} at {error.start:,}"
        raise InputError(f"{place}: {found}, expected text in {error.encoding.upper()}; save it so") from error
    except InputError as error:
        if type(reader).__module__.startswith("emea.") or str(place) in str(error):
            raise
        raise InputError(f"{place}, read by {type(reader).__name__}: {error}") from error


class _Unpacked(io.RawIOBase):
    """The decompressed bytes of a file; an error if they expand too far. Where it is damaged, it ends, if `torn`
    is there to be told."""

    def __init__(self, path: Path, packed: BinaryIO, torn: Callable[[str], object] | None) -> None:
        self._path, self._packed, self._file = path, packed, packing(path, packed, "rb")
        self._expanded, self._ended, self._torn = 0, False, torn

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        try:
            size = self._file.readinto(buffer) if self._torn is None else self._read_some(buffer)
        except TORN as error:
            if self._torn is None:
                raise TornError(f"{self._path} cannot be read: {one_line(str(error))}") from error
            if not self._ended:
                self._torn(f"all that follows: {one_line(str(error))}")
            self._ended = True
            return 0
        self._expanded += size
        if expands_too_far(self._expanded, self._packed.tell()):
            raise InputError(
                f"{self._path}: found more than {EXPANDED_SIZE:,} bytes in {self._packed.tell():,} compressed bytes, "
                f"expected at most {EXPANDED_TIMES} times as many; if you trust the file, decompress it first"
            )
        return size

    def _read_some(self, buffer: WriteableBuffer) -> int:
        """What can be had at once: nothing before the place where a file is torn is lost."""
        view = memoryview(buffer)
        data = self._file.read1(len(view))
        view[: len(data)] = data
        return len(data)


@contextmanager
def open_bytes(path: Path, torn: Callable[[str], object] | None = None) -> Iterator[io.BufferedReader]:
    """The bytes of a file, decompressed if its name says so and without a byte order mark. If `torn` is given, a
    compressed file that breaks off is read as far as it goes, and the reason told."""
    try:
        if not path.exists():
            raise InputError(f"{path} does not exist; expected a file")
        if path.is_dir():
            raise InputError(f"{path} is a folder; expected a file")
        with ExitStack() as stack:
            packed = is_packed(path)
            raw = stack.enter_context(path.open("rb", buffering=BUFFER if packed else 0))
            unpacked: io.RawIOBase = _Unpacked(path, raw, torn) if packed else cast(io.RawIOBase, raw)
            file = cast(io.BufferedReader, io.BufferedReader(unpacked, BUFFER))  # drops typeshed's type argument
            if file.peek(3).startswith(BYTE_ORDER_MARK):
                file.read(3)
            yield file
    except (OSError, *TORN) as error:
        raise InputError(f"{path} cannot be read: {one_line(str(error))}") from error


def line_blocks(path: Path, file: io.BufferedIOBase) -> Iterator[bytes]:
    """The bytes of a file in blocks of whole lines."""
    rest: list[bytes] = []
    while block := file.read(BLOCK):
        whole, newline, begun = block.rpartition(b"\n")
        if newline:
            yield b"".join((*rest, whole, newline))
            rest = [begun] if begun else []
        else:
            rest.append(block)
            check_length(path, len(rest) * BLOCK)
    if rest:
        yield b"".join(rest)


def decoded_lines(path: Path, torn: Callable[[str], object] | None = None) -> Iterator[str]:
    """The lines of a UTF-8 file, with line endings."""
    with open_bytes(path, torn) as file:
        yield from decoded(path, byte_lines(path, file))


def byte_lines(path: Path, file: io.BufferedReader) -> Iterator[bytes]:
    """The lines of a file, with line endings."""
    while line := file.readline(LONGEST_LINE + 1):
        check_length(path, len(line))
        yield line


def check_length(path: Path, length: int) -> None:
    """Refuse a line that would fill memory."""
    if length > LONGEST_LINE:
        raise InputError(f"{path}: found a line of more than {LONGEST_LINE:,} bytes, expected shorter ones")


def decoded(path: Path, lines: Iterable[bytes], before: int = 0) -> Iterator[str]:
    """Lines of a UTF-8 file; `before` lines precede them."""
    for number, line in enumerate(lines, before + 1):
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            wide = "; it looks like UTF-16" if line.startswith((b"\xff\xfe", b"\xfe\xff")) else ""
            found = f"found byte 0x{line[error.start]:02x}{wide}"
            raise InputError(f"{path}, line {number}: {found}, expected text in UTF-8; save it so") from error


def numbered_lines(path: Path, torn: Callable[[str], object] | None = None) -> Iterator[tuple[int, str]]:
    """The non-empty lines of a UTF-8 file with their line numbers, without line endings."""
    for number, line in enumerate(decoded_lines(path, torn), 1):
        if text := line.rstrip("\r\n"):
            yield number, text


def fields(path: Path, count: int) -> Iterator[tuple[int, list[str]]]:
    """The tab-separated fields of each non-empty line, exactly `count`; further tabs belong to the last field."""
    return split_fields(path, decoded_lines(path), count)


def split_fields(path: Path, lines: Iterable[str], count: int, before: int = 0) -> Iterator[tuple[int, list[str]]]:
    """The same of lines that `before` others precede."""
    for number, line in enumerate(lines, before + 1):
        text = line.rstrip("\r\n")
        found = text.split("\t", count - 1)
        if len(found) != count:
            if not text:
                continue
            raise InputError(f"{path}, line {number}: found {len(found)} columns, expected {count} separated by tabs")
        yield number, found


def quoted_rows(
    path: Path,
    lines: Iterable[str],
    separator: str,
    before: int = 0,
    skip: Callable[[str, int], object] | None = None,
) -> Iterator[tuple[int, list[str]]]:
    """The non-empty rows in lines with CSV quoting, each with the line it ends on; `before` lines precede them. A row
    that is not quoted so is refused, or told to `skip`."""
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            line = before + reader.line_num
            if skip is None:
                raise InputError(
                    f"{path}, line {line}: {_quoting_fault(error)}; expected standard CSV quoting"
                ) from error
            skip(_quoting_fault(error), line)
            continue
        if row is None:
            return
        if row:
            yield before + reader.line_num, row


def _quoting_fault(error: csv.Error) -> str:
    return "found a carriage return within a row" if "new-line" in str(error) else str(error)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """A file that appears at its path only when complete; compressed if its name says so."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if not path.parent.is_dir():
            raise InputError(f"{path} cannot be written: the folder {path.parent} does not exist")
        with ExitStack() as stack:
            file: BinaryIO = stack.enter_context(part.open("wb"))
            if is_packed(path):
                file = cast(BinaryIO, stack.enter_context(packing(path, file, "wb")))
            yield file
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text to a file that appears only when complete."""
    with writing(path) as file:
        file.write(text.encode())
