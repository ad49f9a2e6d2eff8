"""The plain version of `emea.formats._curies.shorten`: one name after the other."""

from __future__ import annotations

from collections import Counter

from emea.formats._curies import OWN_NAMESPACE, OWN_PREFIX, SHARE, _cut, _cuts, _free_prefix


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
