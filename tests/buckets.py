"""A bucket of an object store, on a server of our own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from moto.server import ThreadedMotoServer
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem, copy_files

SECRET = "secret"


class Bucket:
    """A bucket of a server."""

    def __init__(self, port: int) -> None:
        self.query = f"?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"

    def address(self, name: str) -> str:
        """Where a file or a folder of this name is."""
        return f"s3://reader:{SECRET}@graphs/{name}{self.query}"

    def put(self, path: Path, name: str) -> str:
        """Copy a file or a folder there; its address."""
        system, place = FileSystem.from_uri(self.address(name) + "&allow_bucket_creation=true")
        system.create_dir(place if path.is_dir() else str(Path(place).parent))
        copy_files(str(path), place, source_filesystem=LocalFileSystem(), destination_filesystem=system)
        return self.address(name)

    def files(self, name: str) -> dict[str, bytes]:
        """What lies in a folder there."""
        system, place = FileSystem.from_uri(self.address(name))
        found = system.get_file_info(FileSelector(place, allow_not_found=True))
        return {each.base_name: system.open_input_stream(each.path).read() for each in found if each.is_file}


@contextmanager
def served() -> Iterator[Bucket]:
    """A bucket for as long as it is needed."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield Bucket(server.get_host_and_port()[1])
    server.stop()
