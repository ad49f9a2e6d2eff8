"""The lines of tables as programs write them: UTF-8, UTF-16 with a byte order mark, or Windows-1252."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from emea.errors import InputError
from emea.formats._files import BLOCK, LONGEST_LINE, byte_lines, check_length, decoded, open_bytes

BROKEN = "found broken UTF-16; save it as UTF-8"
UTF_8, UTF_16, WINDOWS, BINARY = "utf-8", "utf-16", "cp1252", "binary"
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ZIPPED = b"PK\x03\x04"  # how Excel and zip files begin
SEVERAL = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
LONGEST_CHARACTER = 4  # bytes in UTF-8
CONTROL = bytes(range(9))  # what no text has
UNDEFINED = b"\x81\x8d\x8f\x90\x9d"  # in Windows-1252


def encoding_of(path: Path) -> str:
    """The encoding of a file, told from its bytes; it is read to its end only if nothing before that tells it."""
    high, binary, rest = False, False, b""
    with open_bytes(path, torn=lambda _: None) as file:
        if file.peek(2).startswith(WIDE):
            return UTF_16
        while block := file.read(BLOCK):
            binary = binary or len(block.translate(None, CONTROL + UNDEFINED)) < len(block)
            if not block.isascii():
                high = True
                if SEVERAL.search(rest + block):
                    # Chance has one in random bytes, too; no text in UTF-8 has such control characters with it.
                    return BINARY if len(block.translate(None, CONTROL)) < len(block) else UTF_8
            rest = block[1 - LONGEST_CHARACTER :]
    return UTF_8 if not high else BINARY if binary else WINDOWS


def encoding_notes(path: Path) -> tuple[str, ...]:
    """A sentence, if the encoding of a file was guessed."""
    guessed = "is not UTF-8: read as Windows-1252; if names look wrong, save it as UTF-8"
    return (f"{path} {guessed}",) if encoding_of(path) == WINDOWS else ()


def whole_text(path: Path) -> str:
    """A file in UTF-8, or UTF-16 with a byte order mark, however long its lines are."""
    with open_bytes(path) as file:
        if not file.peek(2).startswith(WIDE):
            return "".join(decoded(path, file))
        try:
            return file.read().decode(UTF_16)
        except UnicodeError as error:
            raise InputError(f"{path}: {BROKEN}") from error


def text_lines(path: Path, torn: Callable[[str], object] | None = None, *, guess: bool = True) -> Iterator[str]:
    """The lines of a file in one of these encodings, with line endings. Windows-1252 is a guess, which is not made of
    text that is in Unicode by its definition."""
    with open_bytes(path, torn) as file:
        start = file.peek(len(ZIPPED))
        if start.startswith(ZIPPED):
            raise InputError(f"{path}: this is an Excel or zip file: call it .xlsx")
        if start.startswith(WIDE):
            yield from _wide_lines(path, file)
        else:
            yield from _lines(path, file) if guess else decoded(path, byte_lines(path, file))


def _lines(path: Path, file: io.BufferedReader) -> Iterator[str]:
    """Only where a line is not UTF-8 is it asked what the file is written in: all before were the same in both."""
    encoding = UTF_8
    for number, line in enumerate(byte_lines(path, file), 1):
        try:
            text = line.decode(encoding)
        except UnicodeDecodeError as error:
            encoding = encoding_of(path)
            if encoding != WINDOWS:
                found = f"found byte 0x{line[error.start]:02x}"
                if encoding == BINARY:
                    raise InputError(f"{path}, line {number}: {found}; this is not text") from error
                raise InputError(f"{path}, line {number}: {found}, expected text in UTF-8; save it so") from error
            text = line.decode(encoding)
        yield text


def _wide_lines(path: Path, file: io.BufferedReader) -> Iterator[str]:
    text, number = io.TextIOWrapper(file, encoding=UTF_16, newline="\n"), 0
    try:
        while line := text.readline(LONGEST_LINE + 1):
            check_length(path, len(line))
            number += 1
            yield line
    except UnicodeError as error:
        raise InputError(f"{path}, line {number + 1}: {BROKEN}") from error
    finally:
        text.detach()  # who opened the file closes it
