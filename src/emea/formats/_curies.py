"""Shortens names to CURIEs that strict readers accept, and lengthens them again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import quote, unquote

SHARE = 0.01  # of a graph's names must lie in a namespace for it to get a prefix; the others are cut earlier
OWN_PREFIX, OWN_NAMESPACE = "emea", "urn:emea:"  # of names that are no IRIs

IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`\x00-\x20]+")
# Some readers drop the declaration of a prefix whose local parts all begin with something else, such as a percent
# sign: .../resource/天 is cut one slash earlier. A colon belongs behind the first slash of a local part, if anywhere.
LOCAL = re.compile(r"[A-Za-z0-9_][^:/#]*(?:/.*)?")
BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
KEPT = "/:@!$&()*+,;=?~%"  # stay as they are in a local part; quotes, #, | and brackets do not

Cut = tuple[str, str]  # namespace and local part


def shorten(names: list[str], side: str, prefixes: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """The CURIEs of one graph's names, and the prefix map with the prefixes of this side added.

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
    """The name that `shorten` made a CURIE of, unless it held percent signs with digits behind them before.

    >>> lengthen("source:Z%C3%BCrich", "source", {"source": "http://example.org/"})
    'http://example.org/Zürich'
    """
    prefix, _, local = curie.partition(":")
    return unquote(prefixes[prefix] + local).removeprefix(f"{OWN_NAMESPACE}{side}/")


def _cut(name: str, side: str, frequent: set[str]) -> Cut:
    """Namespace and local part, percent-encoded: the longest frequent namespace, or else the scheme."""
    cuts = list(_cuts(name))
    chosen = [cut for cut in cuts if cut[0] in frequent] or [cut for cut in cuts if cut[0].endswith("://")]
    if not chosen:
        return OWN_NAMESPACE, f"{side}/{quote(name, safe='')}"
    namespace, local = chosen[0]
    return _encode(namespace, KEPT + "#"), _encode(local, KEPT)


def _cuts(name: str) -> Iterator[Cut]:
    """The ways to cut an IRI after a slash or hash, or where it has none after a colon, the longest namespace first."""
    if not IRI.fullmatch(name):
        return
    separators = "/#" if "/" in name or "#" in name else ":"
    for end in range(len(name) - 1, 0, -1):
        if name[end - 1] in separators and LOCAL.fullmatch(name, end):
            yield name[:end], name[end:]


def _encode(text: str, kept: str) -> str:
    """The text as it stands in a URI: what is percent-encoded already stays so."""
    return quote(BARE_PERCENT.sub("%25", text), safe=kept)


def _free_prefix(wanted: str, taken: set[str]) -> str:
    """The wanted prefix, or with 2 and so on behind it where it is taken."""
    number = 1
    while (prefix := wanted if number == 1 else f"{wanted}{number}") in taken:
        number += 1
    return prefix
