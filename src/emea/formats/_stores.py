"""Files in object stores and on other file systems that pyarrow knows: copied here, and read as files; and how to reach
those systems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from emea.errors import EmeaError, InputError
from emea.formats._addresses import STORES, Address, check_no_address, unknown_scheme, without_password
from emea.formats._files import one_line

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


def is_stored(place: str | Path) -> bool:
    """Whether a place is the address of a file or a folder.

    >>> is_stored("s3://bucket/a.parquet"), is_stored("https://example.org/sparql"), is_stored(Path("a.ttl"))
    (True, False, False)
    """
    return isinstance(place, str) and "://" in place and place.partition("://")[0].lower() in STORES


def check_there(*places: object) -> None:
    """Refuse addresses of files or folders that do not exist, without fetching any."""
    from pyarrow.fs import FileType

    for place in places:
        if isinstance(place, str) and is_stored(place):
            with reached(place) as (system, path):
                found = system.get_file_info(path).type
            if found == FileType.NotFound:
                raise _missing(place)


def name_of(address: str) -> Path:
    """What the file or folder at an address is called.

    >>> str(name_of("s3://bucket/graphs/a.parquet?region=eu-central-1")), str(name_of("s3://key:secret@bucket"))
    ('a.parquet', 'bucket')
    """
    return Path(PurePosixPath(Address.parse(address).place).name)


@contextmanager
def nearby(place: str | Path) -> Iterator[Path]:
    """A file or folder as a path here: where it is, or a copy for as long as it is needed."""
    check_no_address(place)
    if not isinstance(place, str) or "://" not in place:
        yield Path(place)
        return
    if not is_stored(place):
        raise unknown_scheme(place, STORES)
    with TemporaryDirectory(prefix="emea-") as folder:
        copy = _copied(place, Path(folder))
        with said_of(place, copy):
            yield copy


@contextmanager
def said_of(place: str, copy: Path) -> Iterator[None]:
    """What a refusal says of a copy, it says of the place."""
    try:
        yield
    except EmeaError as error:
        error.args = (named(str(error), copy, place),)
        raise


def named(text: str, copy: Path, place: str | Path) -> str:
    """What is said of a copy, said of the place that it was copied from."""
    return text.replace(str(copy), str(without_password(place)))


@contextmanager
def reached(address: str, *, to_write: bool = False) -> Iterator[tuple[FileSystem, str]]:
    """The file system of an address, and the path there; what fails there is told in one sentence."""
    from pyarrow import ArrowException
    from pyarrow.fs import FileSystem

    try:
        yield FileSystem.from_uri(address)
    except (OSError, ArrowException) as error:
        shown = str(without_password(address))
        reason = one_line(str(error).replace(address, shown))
        raise InputError(f"{shown} cannot be {'written' if to_write else 'read'}: {reason}") from None  # no password


def _copied(address: str, folder: Path) -> Path:
    """A copy in a folder; what lies here already is not copied."""
    from pyarrow.fs import FileType, LocalFileSystem, copy_files

    copy = folder / name_of(address)
    with reached(address) as (system, path):
        found = system.get_file_info(path).type
        if found != FileType.NotFound:
            if isinstance(system, LocalFileSystem):
                return Path(path)
            if found == FileType.Directory:
                copy.mkdir()
            copy_files(path, str(copy), source_filesystem=system, destination_filesystem=LocalFileSystem())
    if found == FileType.NotFound:
        raise _missing(address)
    return copy


def _missing(address: str) -> InputError:
    return InputError(f"{without_password(address)} does not exist; expected a file or a folder")
