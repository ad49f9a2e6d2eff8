"""Similarity of names: character n-grams and edit distance after transliteration, and optionally a sentence encoder."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import torch
from anyascii import anyascii
from rapidfuzz.fuzz import ratio
from rapidfuzz.process import cpdist
from scipy.sparse import csr_matrix
from torch import Tensor

from emea.errors import SettingsError
from emea.evidence.ngrams import Letters, ngrams, products
from emea.evidence.rare import nearest_joined
from emea.kernels.limits import NAME_BLOCK
from emea.kernels.ranges import distinct
from emea.settings import EvidenceSettings

CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # where a word of birthDate or TVSeries begins
RIVALS = 5  # nearest strings by n-grams, or by sentences, whose similarity is computed


def alike(left: Sequence[str], right: Sequence[str], settings: EvidenceSettings) -> tuple[np.ndarray, np.ndarray]:
    """Positions of mutually most similar strings, [pairs, 2], and their similarities, [pairs]; pairs less similar than
    `least_likeness` are left out."""
    first, second = ([romanised(text) for text in side] for side in (left, right))
    few = len(left) * len(right) <= settings.most_strings**2
    pairs, cosine = (_near_by_ngrams if few else nearest_joined)(first, second, RIVALS)
    texts = [first[row] for row in pairs[:, 0].tolist()], [second[row] for row in pairs[:, 1].tolist()]
    likeness = (cosine + cpdist(*texts, scorer=ratio, dtype=np.float64, workers=-1) / 100) / 2
    if settings.sentences is not None:
        vectors = sentence_vectors([*left, *right], str(settings.sentences))
        own, other = vectors[: len(left)], vectors[len(left) :]
        meant = _near_both_ways(
            lambda rows: own[rows] @ other.T, lambda rows: other[rows] @ own.T, RIVALS, len(left), len(right)
        )
        agreement = (own[meant[:, 0]] * other[meant[:, 1]]).sum(1).numpy()
        pairs, likeness = np.concatenate([pairs, meant]), np.concatenate([likeness, agreement])
    return _mutual(pairs, likeness.clip(0, 1), settings.least_likeness)


def romanised(text: str) -> str:
    """In Latin letters, without accents and case; text that cannot be transliterated stays as it is.

    >>> romanised("Αθήνα"), romanised("北京"), romanised("Łódź")
    ('athina', 'beijing', 'lodz')
    """
    return anyascii(text).casefold() or text


def sentence_vectors(texts: Sequence[str], folder: str) -> Tensor:
    """Vectors of length 1 of the strings by a sentence encoder in a folder, [strings, features]; downloads nothing."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise SettingsError("evidence.sentences needs a package: pip install sentence-transformers") from error
    model = SentenceTransformer(folder, local_files_only=True, device="cpu")
    found: Tensor = model.encode(list(texts), convert_to_tensor=True, normalize_embeddings=True)
    return found.float().cpu()


def local_names(entities: pa.Array) -> list[str]:
    """The last part of each entity's name, after the last slash, hash or colon, as words; empty for a blank node.

    >>> local_names(pa.array(["http://ex.org/C%C3%B4te_d'Ivoire", "urn:x:foundedBy", "_:b1"]))
    ["Côte d'Ivoire", 'foundedBy', '']
    """
    named = ("" if name.startswith("_:") else name for name in entities.to_pylist())
    ends = (name.rstrip("/#").replace("#", "/").replace(":", "/").rpartition("/")[2] for name in named)
    return [unquote(end).replace("_", " ") for end in ends]


def _near_by_ngrams(left: Sequence[str], right: Sequence[str], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct pairs of a string and one of those nearest to it by n-grams, [pairs, 2], and their cosines, [pairs];
    every string is compared with all of the other side."""
    grams = ngrams(Letters(left), Letters(right))
    pairs = _near_both_ways(
        lambda rows: _dense(grams[0][rows] @ grams[1].T),
        lambda rows: _dense(grams[1][rows] @ grams[0].T),
        count,
        len(left),
        len(right),
    )
    return pairs, products(*grams, pairs)


def _dense(cosines: csr_matrix) -> Tensor:
    return torch.from_numpy(cosines.toarray().astype(np.float32))


def _near_both_ways(
    forward: Callable[[slice], Tensor], backward: Callable[[slice], Tensor], count: int, left: int, right: int
) -> np.ndarray:
    """Distinct pairs of a string and one of its nearest on the other side, [pairs, 2]."""
    found = [_near(left, right, count, forward), _near(right, left, count, backward)[:, ::-1]]
    return distinct(np.concatenate(found))


def _near(rows: int, columns: int, count: int, cosines: Callable[[slice], Tensor]) -> np.ndarray:
    """Pairs of each row and the columns with its largest cosines, [pairs, 2]."""
    block, count = max(1, NAME_BLOCK // max(columns, 1)), min(count, columns)
    found = [cosines(slice(start, start + block)).topk(count, 1).indices for start in range(0, rows, block)]
    column = torch.cat(found) if found else torch.empty(0, count, dtype=torch.int64)
    row = torch.arange(len(column))[:, None].expand_as(column)
    return torch.stack([row.flatten(), column.flatten()], 1).numpy()


def _mutual(pairs: np.ndarray, likeness: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """The pairs that are the best for both of their strings; ties are left out."""
    kept = np.flatnonzero(likeness >= least)
    order = kept[np.lexsort((-likeness[kept], *pairs[kept].T[::-1]))]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (pairs[order[1:]] != pairs[order[:-1]]).any(1)
    pairs, likeness = pairs[order[new]], likeness[order[new]]  # of a pair found twice, the higher likeness
    best = np.ones(len(pairs), dtype=bool)
    for side in pairs.T:
        highest = np.zeros(side.max() + 1 if len(side) else 0)
        np.maximum.at(highest, side, likeness)
        top = likeness >= highest[side] - 1e-9
        best &= top & (np.bincount(side[top], minlength=len(highest))[side] == 1)
    return pairs[best], likeness[best]
