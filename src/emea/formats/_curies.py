"""Shortens names to CURIEs that strict readers accept, and expands them again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import quote, unquote

SHARE = 0.01  # of a graph's names must be in a namespace for it to get a prefix; other names are cut at a shorter one
OWN_PREFIX, OWN_NAMESPACE = "emea", "urn:emea:"  # for names that are not IRIs

IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`\x00-\x20]+")
# Some readers drop a prefix if all its local parts begin with anything but a letter, digit or underscore, such as a
# percent sign, so .../resource/天 is cut one slash earlier. In a local part, colons may only follow the first slash.
LOCAL = re.compile(r"[A-Za-z0-9_][^:/#]*(?:/.*)?")
BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
KEPT = "/:@!$&()*+,;=?~%"  # not encoded in a local part, unlike quotes, #, | and brackets

Cut = tuple[str, str]  # namespace and local part


def shorten(names: list[str], side: str, prefixes: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """The CURIEs for one graph's names, and the prefix map with the prefixes of this side added.

    >>> shorten(["http://example.org/Zürich", "Bern"], "source", {})
    (['source:Z%C3%BCrich', 'emea:source/Bern'], {'source': 'http://example.org/', 'emea': 'urn:emea:'})
    """
    counts = Counter(next(_cuts(name), (OWN_NAMESPACE, ""))[0] for name in names)
    frequent = {namespace for namespace, count in counts.items() if count >= SHARE * len(names)}
    cuts = [_cut(name, side, frequent) for name in names]
    used = Counter(namespace for namespace, _ in cuts)
    declared = {namespace: prefix for prefix, namespace in prefixes.items()}
    for namespace in sorted(used.keys() - declared.keys(), key=lambda namespace: (-used[namespace], namespace)):
        wanted = OWN_PREFIX if namespace == OWN_NAMESPACE else side
        declared[namespace] = _free_prefix(wanted, set(declared.values()))
    curies = [f"{declared[namespace]}:{local}" for namespace, local in cuts]
    return curies, {prefix: namespace for namespace, prefix in declared.items()}


def lengthen(curie: str, side: str, prefixes: dict[str, str]) -> str:
    """The name that `shorten` turned into this CURIE, unless the name already contained percent-encoded characters.

    >>> lengthen("source:Z%C3%BCrich", "source", {"source": "http://example.org/"})
    'http://example.org/Zürich'
    """
    prefix, _, local = curie.partition(":")
    return unquote(prefixes[prefix] + local).removeprefix(f"{OWN_NAMESPACE}{side}/")


def _cut(name: str, side: str, frequent: set[str]) -> Cut:
    """Namespace and local part, percent-encoded; the namespace is the longest frequent one, or else the scheme."""
    cuts = list(_cuts(name))
    chosen = [cut for cut in cuts if cut[0] in frequent] or [cut for cut in cuts if cut[0].endswith("://")]
    if not chosen:
        return OWN_NAMESPACE, f"{side}/{quote(name, safe='')}"
    namespace, local = chosen[0]
    return _encode(namespace, KEPT + "#"), _encode(local, KEPT)


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
