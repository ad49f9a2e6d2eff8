"""Files in object stores and on other file systems that pyarrow knows: copied here, and read as files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from emea.errors import EmeaError, InputError
from emea.formats._addresses import STORES, Address, unknown_scheme, without_password
from emea.formats._files import one_line


def is_stored(place: str | Path) -> bool:
    """Whether a place is the address of a file or a folder.

    >>> is_stored("s3://bucket/a.parquet"), is_stored("https://example.org/sparql"), is_stored(Path("a.ttl"))
    (True, False, False)
    """
    return isinstance(place, str) and "://" in place and place.partition("://")[0].lower() in STORES


def name_of(address: str) -> Path:
    """What the file or folder at an address is called.

    >>> str(name_of("s3://bucket/graphs/a.parquet?region=eu-central-1")), str(name_of("s3://key:secret@bucket"))
    ('a.parquet', 'bucket')
    """
    return Path(PurePosixPath(Address.parse(address).place).name)


@contextmanager
def nearby(place: str | Path) -> Iterator[Path]:
    """A file or folder as a path here: where it is, or a copy for as long as it is needed. What a refusal says of the
    copy it says of the place."""
    if not isinstance(place, str) or "://" not in place:
        yield Path(place)
        return
    if not is_stored(place):
        raise unknown_scheme(place, STORES)
    with TemporaryDirectory(prefix="emea-") as folder:
        copy = _copied(place, Path(folder))
        try:
            yield copy
        except EmeaError as error:
            error.args = (named(str(error), copy, place),)
            raise


def named(text: str, copy: Path, place: str | Path) -> str:
    """What is said of a copy, said of the place that it was copied from."""
    return text.replace(str(copy), str(without_password(place)))


def _copied(address: str, folder: Path) -> Path:
    """A copy in a folder; what lies here already is not copied."""
    from pyarrow import ArrowException
    from pyarrow.fs import FileSystem, FileType, LocalFileSystem, copy_files

    shown, copy = without_password(address), folder / name_of(address)
    try:
        system, path = FileSystem.from_uri(address)
        found = system.get_file_info(path).type
        if found != FileType.NotFound:
            if isinstance(system, LocalFileSystem):
                return Path(path)
            if found == FileType.Directory:
                copy.mkdir()
            copy_files(path, str(copy), source_filesystem=system, destination_filesystem=LocalFileSystem())
    except (OSError, ArrowException) as error:
        reason = str(error).replace(address, str(shown))
        raise InputError(f"{shown} cannot be read: {one_line(reason)}") from None  # it may show the password
    if found == FileType.NotFound:
        raise InputError(f"{shown} does not exist; expected a file or a folder")
    return copy
