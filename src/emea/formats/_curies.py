"""Shortens names to CURIEs that strict readers accept, and expands them again; makes IRIs of those that are none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import NamedNode

SHARE = 0.01  # of a graph's names must be in a namespace for it to get a prefix; other names are cut at a shorter one
OWN_PREFIX, OWN_NAMESPACE = "emea", "urn:emea:"  # for names that are not IRIs

IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`\x00-\x20]+")
# Some readers drop a prefix if all its local parts begin with anything but a letter, digit or underscore, such as a
# percent sign, so .../resource/天 is cut one slash earlier. In a local part, colons may only follow the first slash.
LOCAL = re.compile(r"[A-Za-z0-9_][^:/#]*(?:/.*)?")
BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
KEPT = "/:@!$&()*+,;=?~%"  # not encoded in a local part, unlike quotes, #, | and brackets
CHARACTER = r"[^\pZ\pC<>\"{}|\\^`]"  # of an IRI, blanks and control characters of all kinds left out
# An IRI cut as `_cuts` cuts it first; others than these, such as urn:a, are left to that.
FIRST_CUT = (
    rf"^(?P<namespace>[A-Za-z][A-Za-z0-9+.-]*:{CHARACTER}*[/#])"
    rf"(?P<local>[A-Za-z0-9_][^:/#\pZ\pC<>\"{{}}|\\^`]*(?:/{CHARACTER}*)?)$"
)
PERCENT, HEXADECIMAL = ord("%"), np.frombuffer(b"0123456789ABCDEF", np.uint8)
PLAIN = f"_.-~{KEPT}".encode()
IS_ENCODED = bytes(not ((each < 128 and chr(each).isalnum()) or each in PLAIN) for each in range(256))  # by byte
ROWS = 1 << 16  # encoded at a time

Cut = tuple[str, str]  # namespace and local part


def shorten(names: pa.Array, side: str, prefixes: dict[str, str]) -> tuple[pa.Array, dict[str, str]]:
    """The CURIEs for one graph's names, and the prefix map with the prefixes of this side added.

    >>> shorten(pa.array(["http://example.org/Zürich", "Bern"]), "source", {})[0].to_pylist()
    ['source:Z%C3%BCrich', 'emea:source/Bern']
    """
    namespace, local = _split(names.cast(pa.large_string()), side)
    counts = namespace.value_counts()
    used = dict(zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True))
    declared = {each: prefix for prefix, each in prefixes.items()}
    for each in sorted(used.keys() - declared.keys(), key=lambda each: (-used[each], each)):
        wanted = OWN_PREFIX if each == OWN_NAMESPACE else side
        declared[each] = _free_prefix(wanted, set(declared.values()))
    encoded = namespace.dictionary_encode()
    chosen = pa.array([declared[each] for each in encoded.dictionary.to_pylist()], pa.large_string())
    curies = pc.binary_join_element_wise(chosen.take(encoded.indices), local, pa.scalar(":", pa.large_string()))
    return curies, {prefix: each for each, prefix in declared.items()}


def lengthen(curie: str, side: str, prefixes: dict[str, str]) -> str:
    """The name that `shorten` turned into this CURIE, unless the name already contained percent-encoded characters.

    >>> lengthen("source:Z%C3%BCrich", "source", {"source": "http://example.org/"})
    'http://example.org/Zürich'
    """
    prefix, _, local = curie.partition(":")
    return unquote(prefixes[prefix] + local).removeprefix(f"{OWN_NAMESPACE}{side}/")


def as_iris(names: pa.Array, side: str) -> pa.Array:
    """The names, those that are neither IRIs nor blank nodes as the IRIs that their CURIEs stand for.

    >>> as_iris(pa.array(["http://example.org/a", "_:b", "A 13/1112"]), "source").to_pylist()
    ['http://example.org/a', '_:b', 'urn:emea:source/A%2013%2F1112']
    """
    texts = names.to_pylist()
    kept = (name.startswith("_:") or _is_iri(name) for name in texts)
    iris = [name if keep else OWN_NAMESPACE + _own(name, side) for name, keep in zip(texts, kept, strict=True)]
    return pa.array(iris, pa.large_string())


def not_recovered(names: pa.Array, curies: pa.Array, side: str, prefixes: dict[str, str]) -> list[int]:
    """The rows whose names `lengthen` does not find, because they were already percent-encoded or look like ours."""
    doubtful = pc.or_(pc.match_substring(names, "%"), pc.starts_with(names, OWN_NAMESPACE)).to_numpy(
        zero_copy_only=False
    )
    rows = np.flatnonzero(doubtful)
    pairs = zip(rows.tolist(), names.take(rows).to_pylist(), curies.take(rows).to_pylist(), strict=True)
    return [row for row, name, curie in pairs if lengthen(curie, side, prefixes) != name]


def _split(names: pa.Array, side: str) -> tuple[pa.Array, pa.Array]:
    """Namespaces and local parts, percent-encoded; a namespace is the longest frequent one, or else the scheme."""
    found = pc.extract_regex(names, FIRST_CUT)
    namespace, local = (part.fill_null("") for part in found.flatten())
    first = namespace.dictionary_encode()
    counts = dict(zip(first.dictionary.to_pylist(), np.bincount(first.indices.to_numpy()).tolist(), strict=False))
    others = np.flatnonzero(found.is_null().to_numpy(zero_copy_only=False))
    counts.pop("", None)
    for name in names.take(others).to_pylist():
        each = next(_cuts(name), (OWN_NAMESPACE, ""))[0]
        counts[each] = counts.get(each, 0) + 1
    frequent = {each for each, count in counts.items() if count >= SHARE * len(names)}
    usual = pc.is_in(namespace, pa.array(sorted(frequent), pa.large_string())).to_numpy(zero_copy_only=False)
    usual &= ~pc.match_substring(local, "%").to_numpy(zero_copy_only=False)
    encoded = pa.array([_encode(each, f"{KEPT}#") for each in first.dictionary.to_pylist()], pa.large_string())
    rows = np.flatnonzero(~usual)
    cuts = [_cut(name, side, frequent) for name in names.take(rows).to_pylist()]
    parts = zip(*cuts, strict=True) if cuts else ((), ())
    replaced = [pa.array(part, pa.large_string()) for part in parts]
    mask = pa.array(~usual)
    spaces, locals_ = encoded.take(first.indices), _percent_encoded(local)
    return pc.replace_with_mask(spaces, mask, replaced[0]), pc.replace_with_mask(locals_, mask, replaced[1])


def _percent_encoded(texts: pa.Array) -> pa.Array:
    """Texts percent-encoded byte by byte, except for what is kept in a local part."""
    parts = (texts.slice(start, ROWS) for start in range(0, max(len(texts), 1), ROWS))
    return pa.concat_arrays([_encoded_part(part) for part in parts])


def _encoded_part(texts: pa.Array) -> pa.Array:
    if not len(texts):
        return texts
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    encoded = np.frombuffer(data.tobytes().translate(IS_ENCODED), bool)
    if not encoded.any():
        return texts
    ends = np.cumsum(1 + 2 * encoded.astype(np.int64))
    starts = np.append(0, ends)
    filled = np.empty(ends[-1], np.uint8)
    filled[starts[:-1][~encoded]] = data[~encoded]
    for place, part in enumerate((PERCENT, HEXADECIMAL[data[encoded] >> 4], HEXADECIMAL[data[encoded] & 15])):
        filled[starts[:-1][encoded] + place] = part
    bounds = np.ascontiguousarray(starts[offsets - offsets[0]])
    return pa.Array.from_buffers(texts.type, len(texts), [None, pa.py_buffer(bounds), pa.py_buffer(filled)])


def _cut(name: str, side: str, frequent: set[str]) -> Cut:
    """Namespace and local part, percent-encoded; the namespace is the longest frequent one, or else the scheme."""
    cuts = list(_cuts(name))
    chosen = [cut for cut in cuts if cut[0] in frequent] or [cut for cut in cuts if cut[0].endswith("://")]
    if not chosen:
        return OWN_NAMESPACE, _own(name, side)
    namespace, local = chosen[0]
    return _encode(namespace, KEPT + "#"), _encode(local, KEPT)


def _own(name: str, side: str) -> str:
    """What a name that is no IRI is called in our own namespace."""
    return f"{side}/{quote(name, safe='')}"


def _is_iri(name: str) -> bool:
    try:
        NamedNode(name)
    except ValueError:
        return False
    return True


def _cuts(name: str) -> Iterator[Cut]:
    """The ways to cut an IRI after a slash or hash, or after a colon if it has neither; the longest namespace first."""
    if not IRI.fullmatch(name):
        return
    separators = "/#" if "/" in name or "#" in name else ":"
    for end in range(len(name) - 1, 0, -1):
        if name[end - 1] in separators and LOCAL.fullmatch(name, end):
            yield name[:end], name[end:]


def _encode(text: str, kept: str) -> str:
    """The text percent-encoded for a URI; what is already encoded is left as it is."""
    return quote(BARE_PERCENT.sub("%25", text), safe=kept)


def _free_prefix(wanted: str, taken: set[str]) -> str:
    """The wanted prefix, followed by 2, 3 and so on if it is taken."""
    number = 1
    while (prefix := wanted if number == 1 else f"{wanted}{number}") in taken:
        number += 1
    return prefix
