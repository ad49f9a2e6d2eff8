"""Files in object stores and on other file systems that pyarrow knows: copied here, and read as files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from emea.errors import InputError
from emea.formats._addresses import without_password
from emea.formats._files import one_line

SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "file")


def is_stored(place: str | Path) -> bool:
    """Whether a place is the address of a file or a folder.

    >>> is_stored("s3://bucket/a.parquet"), is_stored("https://example.org/sparql"), is_stored(Path("a.ttl"))
    (True, False, False)
    """
    return isinstance(place, str) and place.partition("://")[0].lower() in SCHEMES and "://" in place


def name_of(address: str) -> Path:
    """What the file or folder at an address is called.

    >>> name_of("s3://bucket/graphs/a.parquet?region=eu-central-1")
    PosixPath('a.parquet')
    """
    return Path(PurePosixPath(address.partition("://")[2].partition("?")[0]).name)


@contextmanager
def nearby(place: str | Path) -> Iterator[Path]:
    """A file or folder as a path here: where it is, or a copy for as long as it is needed. What is said of the copy is
    said of the place."""
    if not (isinstance(place, str) and is_stored(place)):
        yield Path(place)
        return
    with TemporaryDirectory(prefix="emea-") as folder:
        copy = _copied(place, Path(folder))
        try:
            yield copy
        except InputError as error:
            error.args = (str(error).replace(str(copy), str(without_password(place))),)
            raise


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
