"""Changes to files that keep to their structure: tokens, lines, fields, members of archives, columns of tables."""

import io
import random
import re
import zipfile
from collections.abc import Callable
from contextlib import suppress

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")
BRACKETS = [(b"[", b"]"), (b"(", b")"), (b"{", b"}"), (b"<a>", b"</a>"), (b"[ <urn:p> ", b" ]"), (b'{"a":', b"}")]
WORDS = [
    *(
        b"0",
        b"-0",
        b"1e999",
        b"-1e999",
        b"NaN",
        b"Infinity",
        b"18446744073709551616",
        b"1/0",
        b"0.1.2",
        b"\xef\xbc\x91",
    ),
    *(
        b"null",
        b"None",
        b"true",
        b"\xe2\x80\xae",
        b"\xe2\x80\x8b",
        b"\x1b[2J",
        b"\x07",
        b"\xcc\x81" * 50,
        b"a" * 70_000,
    ),
    *(
        b"../../x",
        b"file:///dev/zero",
        b"urn:x",
        b"_:b0",
        b"\xf0\x9d\x92\xb3",
        b"\xc3\xa9",
        b"e\xcc\x81",
        b"\xef\xbf\xbe",
    ),
]
ENCODINGS = ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7", "cp1252", "shift_jis"]
DEPTHS = (1, 3, 100, 5_000)
LARGEST = 1 << 20  # bytes, beyond which nothing more is done to a file
KINDS = [pa.string(), pa.int8(), pa.float64(), pa.bool_(), pa.binary(), pa.timestamp("ns"), pa.decimal128(38, 3)]
Mutation = Callable[[list[bytes], random.Random], list[bytes]]


def restructured(name: str, content: bytes, choice: random.Random) -> bytes:
    """The file with one to three changes of its structure; as it is where none fits."""
    for _ in range(choice.randint(1, 3)):
        if len(content) > LARGEST:
            break
        if content[:2] == b"PK":
            content = _repacked(content, choice)
        elif content[:4] == b"PAR1" or content[:6] == b"ARROW1":
            content = _columns_changed(content, choice)
        else:
            content = _text_changed(name, content, choice)
    return content


def _text_changed(name: str, content: bytes, choice: random.Random) -> bytes:
    """Tokens or lines moved, or the whole in another encoding."""
    if choice.random() < 0.05:
        with suppress(UnicodeError):
            return content.decode().encode(choice.choice(ENCODINGS), "replace")
    if choice.random() < 0.3:
        return b"".join(choice.choice(LINES)(content.splitlines(keepends=True), choice))
    if choice.random() < 0.2:
        separator = b"," if ".csv" in name else b"\t"
        lines = content.split(b"\n")
        place = choice.randrange(len(lines))
        lines[place] = separator.join(choice.choice(TOKENS)(lines[place].split(separator), choice))
        return b"\n".join(lines)
    return b"".join(choice.choice(TOKENS)(TOKEN.findall(content), choice))


def _place(parts: list[bytes], choice: random.Random) -> int:
    return choice.randrange(len(parts)) if parts else 0


def _swapped(parts: list[bytes], choice: random.Random) -> list[bytes]:
    parts = list(parts)
    if parts:
        one, two = _place(parts, choice), _place(parts, choice)
        parts[one], parts[two] = parts[two], parts[one]
    return parts


def _dropped(parts: list[bytes], choice: random.Random) -> list[bytes]:
    place = _place(parts, choice)
    return parts[:place] + parts[place + choice.choice((1, 1, 2, 10)) :]


def _repeated(parts: list[bytes], choice: random.Random) -> list[bytes]:
    place = _place(parts, choice)
    end = place + choice.choice((1, 2, 5))
    times = choice.choice((1, 2, 300))
    if times * sum(map(len, parts[place:end])) > LARGEST:
        times = 1
    return parts[:end] + parts[place:end] * times + parts[end:]


def _renamed(parts: list[bytes], choice: random.Random) -> list[bytes]:
    """One token that is another everywhere: what refers to it refers to nothing, or to something else."""
    if not parts:
        return parts
    old, new = choice.choice(parts), choice.choice([*WORDS, choice.choice(parts)])
    if parts.count(old) * len(new) > LARGEST:
        return parts
    return [new if part == old else part for part in parts]


def _replaced(parts: list[bytes], choice: random.Random) -> list[bytes]:
    place = _place(parts, choice)
    return [*parts[:place], choice.choice(WORDS), *parts[place + 1 :]]


def _nested(parts: list[bytes], choice: random.Random) -> list[bytes]:
    place, (left, right), depth = _place(parts, choice), choice.choice(BRACKETS), choice.choice(DEPTHS)
    end = place + choice.choice((0, 1, 5))
    closing = [right * depth] if choice.random() < 0.7 else []
    return [*parts[:place], left * depth, *parts[place:end], *closing, *parts[end:]]


LINES: list[Mutation] = [_swapped, _dropped, _repeated, _replaced]
TOKENS: list[Mutation] = [*LINES, _renamed, _nested]


def _repacked(content: bytes, choice: random.Random) -> bytes:
    """An archive with one member changed."""
    made = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as given, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
            names = given.namelist()
            changed = choice.choice(names)
            for name in names:
                member = given.read(name)
                packed.writestr(name, _text_changed(name, member, choice) if name == changed else member)
    except (zipfile.BadZipFile, IndexError, RuntimeError, EOFError):
        return content
    return made.getvalue()


def _columns_changed(content: bytes, choice: random.Random) -> bytes:
    """A table with a column of another type, name or number."""
    is_parquet = content[:4] == b"PAR1"
    try:
        table = pq.read_table(io.BytesIO(content)) if is_parquet else pa.feather.read_table(io.BytesIO(content))
        place = choice.randrange(table.num_columns)
        name, column = table.column_names[place], table.column(place)
        how = choice.randrange(6)
        if how == 0:
            table = table.remove_column(place)
        elif how == 1:
            table = table.append_column(name, column)  # two of one name
        elif how == 2:
            table = table.set_column(place, name, pa.nulls(len(table), choice.choice(KINDS)))
        elif how == 3:
            table = table.set_column(place, name, column.cast(choice.choice(KINDS)))
        elif how == 4:
            table = table.set_column(place, name, pa.array([[each] for each in column.to_pylist()]))
        else:
            table = table.rename_columns([choice.choice(WORDS).decode("utf-8", "replace")] * table.num_columns)
        made = io.BytesIO()
        (pq.write_table if is_parquet else pa.feather.write_feather)(table, made)
    except (pa.ArrowException, ValueError, OSError):
        return content
    return made.getvalue()
