"""Names are compared after transliteration, by n-grams and distance, and by a sentence encoder where one is given."""

import random
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from emea.errors import SettingsError
from emea.evidence.names import alike, romanised
from emea.evidence.ngrams import Letters, ngrams
from emea.settings import EvidenceSettings, load

ALL = EvidenceSettings(kind="all")


def pairs(left: list[str], right: list[str], settings: EvidenceSettings = ALL) -> set[tuple[str, str]]:
    found, likeness = alike(left, right, settings)
    assert ((likeness >= settings.least_likeness) & (likeness <= 1)).all()
    return {(left[a], right[b]) for a, b in found.tolist()}


def test_ngrams_have_length_one_and_say_how_alike_strings_are() -> None:
    left, right = ngrams(Letters(["abcd", "x", "abcd"]), Letters(["abcd", "bcde"]))
    assert np.allclose(left.multiply(left).sum(1), 1)
    likeness = (left @ right.T).toarray()
    assert likeness[0, 0] == pytest.approx(1)
    assert 0 < likeness[0, 1] < 1
    assert likeness[1].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("first", "second"), [("Αθήνα", "Athina"), ("Москва", "Moskva"), ("北京", "Beijing"), ("Düsseldorf", "Dusseldorf")]
)
def test_scripts_do_not_matter(first: str, second: str) -> None:
    assert romanised(first) == romanised(second)
    assert pairs([first, "Xanadu"], [second, "Zembla"]) == {(first, second)}


def test_the_nearest_of_both_sides_are_paired_and_ties_are_not() -> None:
    assert pairs(["albanien", "algerien"], ["albania", "algeria"]) == {("albanien", "albania"), ("algerien", "algeria")}
    assert pairs(["saint john"], ["saint jon", "saint jon"]) == set()


def test_distance_tells_apart_what_ngrams_do_not() -> None:
    assert pairs(["abcabc"], ["abcabcabc", "abcabd"]) == {("abcabc", "abcabcabc")}
    assert pairs(["kirk james", "kirk jane"], ["kirk james t"]) == {("kirk james", "kirk james t")}


def test_the_same_string_is_as_like_as_can_be_and_distance_counts_half() -> None:
    found, likeness = alike(["saint john", "abcabd"], ["abcabc", "saint john"], ALL)
    assert found.tolist() == [[0, 1], [1, 0]]
    left, right = ngrams(Letters(["abcabd", "saint john"]), Letters(["abcabc", "saint john"]))
    cosine = float((left @ right.T).toarray()[0, 0])
    assert likeness.tolist() == pytest.approx([1.0, (cosine + 5 / 6) / 2], abs=1e-6)


def test_nothing_is_like_nothing() -> None:
    assert pairs(["qqq"], ["zzz"]) == set()
    found, likeness = alike(["abc"], ["xyz"], ALL)
    assert found.shape == (0, 2)
    assert likeness.shape == (0,)


def test_signs_without_latin_letters_stay_what_they_are() -> None:
    assert pairs(["ـ", "ا"], ["ـ", "x"]) == {("ـ", "ـ")}


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_the_best_of_both_their_strings(seed: int) -> None:
    """Against the whole table; rivals beyond the nearest five by n-grams are too unlike to matter here."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("abc", k=chance.randint(4, 9))) for _ in range(24)]
    left, right = sorted(set(words[:12])), sorted(set(words[12:]))
    there, back = pairs(left, right), pairs(right, left)
    assert there == {(a, b) for b, a in back}


class Meanings:
    """Stands for a sentence encoder: a few words and what they mean."""

    WORDS = ("ivory coast", "elfenbeinküste", "germany", "deutschland")

    def __init__(self, folder: str, local_files_only: bool, device: str) -> None:
        assert Path(folder).is_dir()
        assert device == "cpu"
        assert local_files_only

    def encode(self, texts: list[str], **chosen: bool) -> torch.Tensor:
        assert chosen == {"convert_to_tensor": True, "normalize_embeddings": True}
        return torch.eye(3)[[self.WORDS.index(text) // 2 if text in self.WORDS else 2 for text in texts]]


def test_a_sentence_encoder_has_its_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = Meanings  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    chosen = EvidenceSettings(kind="all", sentences=tmp_path)
    words = Meanings.WORDS
    assert pairs([words[0], words[2]], [words[1], words[3]]) == set()
    assert pairs([words[0], words[2]], [words[1], words[3]], chosen) == {words[:2], words[2:]}


def test_a_sentence_encoder_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"evidence\.sentences"):
        load(assignments=["evidence.sentences=/nowhere/at/all"])
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(SettingsError, match="sentence-transformers"):
        alike(["a"], ["b"], EvidenceSettings(kind="all", sentences=tmp_path))
