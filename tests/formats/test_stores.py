"""Files in object stores: read as if they lay here, asked of a server of our own."""

from itertools import pairwise
from pathlib import Path

import pytest
from pyarrow.fs import FileSystem, LocalFileSystem, copy_files
from typer.testing import CliRunner

import emea
from buckets import SECRET, Bucket
from emea.cli import app
from emea.errors import InputError
from emea.formats import convert, read_graph
from emea.formats._stores import nearby

pytestmark = pytest.mark.slow  # a server of objects for each


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    for side in "ab":
        names = [f"{side}{number}" for number in range(40)]
        rows = (f"{one}\tnear\t{other}\n" for one, other in pairwise(names))
        (tmp_path / f"{side}.tsv").write_text("".join(rows), encoding="utf-8")
    (tmp_path / "pairs.tsv").write_text("".join(f"a{i}\tb{i}\n" for i in range(0, 40, 4)), encoding="utf-8")
    return tmp_path


def test_a_run_reads_graphs_and_seeds_from_a_bucket(bucket: Bucket, graphs: Path) -> None:
    here = [str(graphs / name) for name in ("a.tsv", "b.tsv", "pairs.tsv")]
    there = [bucket.put(Path(path), f"in/{Path(path).name}") for path in here]
    written = []
    for out, (source, target, seeds) in (("near", here), ("far", there)):
        asked = ["align", source, target, "--seeds", seeds, "--out", str(graphs / out), "--set", "em.rounds=1"]
        done = CliRunner().invoke(app, asked)
        assert done.exit_code == 0, done.output
        assert SECRET not in done.output
        written.append((graphs / out / "alignment.tsv").read_bytes())
    assert written[0] == written[1] != b""
    assert SECRET not in (graphs / "far" / "settings.toml").read_text(encoding="utf-8")


def test_a_table_in_parts_and_pairs_are_converted(bucket: Bucket, graphs: Path) -> None:
    whole = read_graph(graphs / "a.tsv")
    parts = graphs / "a.parquet"
    parts.mkdir()
    convert(graphs / "a.tsv", parts / "part-0.parquet")
    assert "39 triples" in convert(bucket.put(parts, "a.parquet"), graphs / "again.tsv")
    assert [*read_graph(graphs / "again.tsv").entities] == [*whole.entities]
    assert "10 pairs" in convert(bucket.put(graphs / "pairs.tsv", "pairs.tsv"), graphs / "pairs.sssom.tsv")


def test_a_whole_bucket_is_a_folder_and_its_key_is_never_shown(bucket: Bucket, tmp_path: Path) -> None:
    for side in ("one", "two"):
        (tmp_path / f"{side}.csv").write_text("id,name\n1,Ada\n2,Bea\n", encoding="utf-8")
    address = f"s3://reader:{SECRET}@tables.example{bucket.query}"
    system, place = FileSystem.from_uri(address + "&allow_bucket_creation=true")
    system.create_dir(place)
    copy_files(str(tmp_path), place, source_filesystem=LocalFileSystem(), destination_filesystem=system)
    found = read_graph(address)
    assert found.literals.num_rows == 4
    assert found.notes
    shown = CliRunner().invoke(app, ["profile", address, str(tmp_path), "--id-column", "id"])
    assert shown.exit_code == 0, shown.output
    for said in (*found.notes, shown.output):
        assert SECRET not in said
        assert "emea-" not in said  # the copy's folder
    assert any("s3://tables.example" in note for note in found.notes)


def test_seeds_of_a_benchmark_lie_in_a_bucket_and_other_addresses_are_refused(bucket: Bucket, graphs: Path) -> None:
    task = emea.read(graphs / "a.tsv", graphs / "b.tsv", bucket.put(graphs / "pairs.tsv", "seeds.tsv"))
    assert len(emea.read_decisions(bucket.address("seeds.tsv"), task).seeds) == 10
    with pytest.raises(InputError, match=r"^https://me@example.org/pairs.tsv: found the scheme 'https'") as refused:
        emea.read(graphs / "a.tsv", graphs / "b.tsv", "https://me:secret@example.org/pairs.tsv")
    assert SECRET not in str(refused.value)


def test_what_is_missing_or_wrong_is_named_by_its_address(bucket: Bucket, graphs: Path) -> None:
    with pytest.raises(InputError, match=r"^s3://graphs/none\.tsv.* does not exist") as missing:
        read_graph(bucket.address("none.tsv"))
    (graphs / "odd.tsv").write_text("a\tb\nc\td\te\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"^s3://graphs/odd\.tsv") as odd:
        read_graph(bucket.put(graphs / "odd.tsv", "odd.tsv"))
    with pytest.raises(InputError, match=r"^s3://graphs/a\.tsv.* cannot be read: ") as refused:
        read_graph(f"s3://reader:{SECRET}@graphs/a.tsv?endpoint_override=127.0.0.1:1&scheme=http&region=us-east-1")
    with pytest.raises(InputError, match=r"^s3://graphs/a\.tsv\?colour=red cannot be read: .*colour") as unknown:
        read_graph(f"s3://reader:{SECRET}@graphs/a.tsv?colour=red")
    for error in (missing, odd, refused, unknown):
        assert SECRET not in str(error.value)
        assert "emea-" not in str(error.value)  # the copy's folder


def test_a_file_s_address_is_a_file(graphs: Path) -> None:
    path = graphs / "a.tsv"
    assert [*read_graph(path.as_uri()).entities] == [*read_graph(path).entities]
    with pytest.raises(InputError, match="does not exist"):
        read_graph((graphs / "none.tsv").as_uri())


def test_an_unknown_scheme_names_those_known() -> None:
    with pytest.raises(InputError, match=r"found the scheme 'ftp', expected a file or one of .*http.*s3"):
        read_graph("ftp://example.org/a.ttl")
    known = r"found the scheme 'ftp', expected a file or one of abfs, .*hdfs, s3$"
    with pytest.raises(InputError, match=known), nearby("FTP://example.org/pairs.tsv"):
        pass
