"""Similarity of names: character n-grams and edit distance after transliteration, and optionally a sentence encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import torch
from anyascii import anyascii
from rapidfuzz.fuzz import ratio
from scipy.sparse import csr_matrix
from torch import Tensor

from emea.errors import SettingsError
from emea.kernels.limits import NAME_BLOCK
from emea.settings import EvidenceSettings

RIVALS = 5  # nearest strings by n-grams whose edit distance is computed


def alike(left: Sequence[str], right: Sequence[str], settings: EvidenceSettings) -> tuple[np.ndarray, np.ndarray]:
    """Positions of mutually most similar strings, [pairs, 2], and their similarities, [pairs]; pairs less similar than
    `least_likeness` are left out."""
    first, second = ([romanised(text) for text in side] for side in (left, right))
    grams, sizes = ngrams(first, second), (len(left), len(right))
    pairs = _near_both_ways(
        lambda rows: _dense(grams[0][rows] @ grams[1].T), lambda rows: _dense(grams[1][rows] @ grams[0].T), *sizes
    )
    cosine = np.asarray(grams[0][pairs[:, 0]].multiply(grams[1][pairs[:, 1]]).sum(1)).ravel()
    likeness = (cosine + [ratio(first[a], second[b]) / 100 for a, b in pairs.tolist()]) / 2
    if settings.sentences is not None:
        vectors = sentence_vectors([*left, *right], str(settings.sentences))
        own, other = vectors[: len(left)], vectors[len(left) :]
        meant = _near_both_ways(lambda rows: own[rows] @ other.T, lambda rows: other[rows] @ own.T, *sizes)
        agreement = (own[meant[:, 0]] * other[meant[:, 1]]).sum(1).numpy()
        pairs, likeness = np.concatenate([pairs, meant]), np.concatenate([likeness, agreement])
    return _mutual(pairs, likeness.clip(0, 1), settings.least_likeness)


def romanised(text: str) -> str:
    """In Latin letters, without accents and case; text that cannot be transliterated stays as it is.

    >>> romanised("Αθήνα"), romanised("北京"), romanised("Łódź")
    ('athina', 'beijing', 'lodz')
    """
    return anyascii(text).casefold() or text


def ngrams(left: Sequence[str], right: Sequence[str], size: int = 3) -> tuple[csr_matrix, csr_matrix]:
    """Both lists of strings as TF-IDF rows of character n-grams, of length 1; rarity is counted over both lists."""
    # Imported here: it loads slowly, and few commands compare names.
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [f" {text} " for text in (*left, *right)]
    rows = TfidfVectorizer(analyzer="char", ngram_range=(size, size), lowercase=False).fit_transform(texts)
    return rows[: len(left)], rows[len(left) :]


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


def _dense(products: csr_matrix) -> Tensor:
    return torch.from_numpy(products.toarray().astype(np.float32))


def _near_both_ways(
    forward: Callable[[slice], Tensor], backward: Callable[[slice], Tensor], left: int, right: int
) -> np.ndarray:
    """Distinct pairs of a string and one of its nearest on the other side, [pairs, 2]."""
    found = [_near(left, right, forward), _near(right, left, backward)[:, ::-1]]
    return np.unique(np.concatenate(found), axis=0)


def _near(rows: int, columns: int, products: Callable[[slice], Tensor]) -> np.ndarray:
    """Pairs of each row and the columns with its largest products, [pairs, 2]."""
    block, count = max(1, NAME_BLOCK // max(columns, 1)), min(RIVALS, columns)
    found = [products(slice(start, start + block)).topk(count, 1).indices for start in range(0, rows, block)]
    column = torch.cat(found) if found else torch.empty(0, count, dtype=torch.int64)
    row = torch.arange(len(column))[:, None].expand_as(column)
    return torch.stack([row.flatten(), column.flatten()], 1).numpy()


def _mutual(pairs: np.ndarray, likeness: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """The pairs that are the best for both of their strings; ties are left out."""
    kept = likeness >= least
    pairs, likeness = pairs[kept], likeness[kept]
    order = np.lexsort((-likeness, pairs[:, 1], pairs[:, 0]))
    unique = np.unique(pairs[order], axis=0, return_index=True)[1]  # of a pair found twice, the higher likeness
    pairs, likeness = pairs[order][unique], likeness[order][unique]
    best = np.ones(len(pairs), dtype=bool)
    for side in pairs.T:
        highest = np.zeros(side.max() + 1 if len(side) else 0)
        np.maximum.at(highest, side, likeness)
        top = likeness >= highest[side] - 1e-9
        best &= top & (np.bincount(side[top], minlength=len(highest))[side] == 1)
    return pairs[best], likeness[best]
