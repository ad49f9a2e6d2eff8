"""The picture of one explanation: well-formed, in proportion, safe, in the formats that were asked for."""

import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from emea.analysis.explanation import BEFORE, Explanation, Group, Part
from emea.errors import SettingsError
from emea.report.bars import PARTS, drawn, save_bars
from emea.result import ShownExplanation

SVG = "{http://www.w3.org/2000/svg}"
GROUPS = (
    Group("encoder", "similar", 2.5),
    Group("paris", "neighbours", 4.0, tuple(Part(f"neighbour {number}", 0.5 + number / 10) for number in range(5))),
    Group("none", "may be alone", -1.5),
    Group("calibration", "", 0.0),
)
FOUND = Explanation("http://a/x", "http://b/y", "X", "Y", "link", 0.9, 2.0, base=-3.0, groups=GROUPS)
HOSTILE = "</text><script>alert(1)</script>\x0b&\u202eمدينة ]]>"


def read(found: Explanation) -> ElementTree.Element:
    return ElementTree.fromstring(drawn(found))


def texts(picture: ElementTree.Element) -> list[str]:
    return [(each.text or "").strip("\u2068\u2069") for each in picture.iter(f"{SVG}text")]


def test_every_bar_is_as_long_as_its_log_odds_and_begins_where_the_last_one_ends() -> None:
    bars = {each.get("data-group"): each for each in read(FOUND).iter(f"{SVG}rect") if each.get("data-group")}
    expected = {BEFORE: -3.0, **{group.name: group.log_odds for group in GROUPS}}
    assert list(bars) == list(expected)
    scale, at = float(bars["paris"].get("width", 0)) / 4.0, None
    for name, log_odds in expected.items():
        left, width = (float(bars[name].get(side, "nan")) for side in ("x", "width"))
        assert width == pytest.approx(scale * abs(log_odds), abs=0.01)
        begin, end = (left, left + width) if log_odds >= 0 else (left + width, left)
        assert at is None or begin == pytest.approx(at, abs=0.01)
        at = end
        assert (bars[name].get("fill") == "none") == (log_odds < 0)  # not told by colour alone
    circle = read(FOUND).find(f"{SVG}circle")
    assert circle is not None
    assert float(circle.get("cx", "nan")) == pytest.approx(at, abs=0.01)


def test_groups_parts_and_their_sum_are_written() -> None:
    told = texts(read(FOUND))
    assert {"Before any evidence", "Similar structure", "+2.50", "−1.50", "Together", "+2.00"} <= set(told)
    assert told.index("neighbour 4") < told.index("neighbour 3")
    assert f"{5 - PARTS} more together" in told
    assert "neighbour 0" not in told


def test_hostile_labels_stay_text() -> None:
    groups = (Group(HOSTILE, HOSTILE, 1.0, (Part(HOSTILE * 50, 1.0),)),)
    found = replace(FOUND, source=HOSTILE, source_label=HOSTILE, groups=groups, notes=(HOSTILE,))
    picture = read(found)
    assert not list(picture.iter(f"{SVG}script"))
    assert any("<script>alert(1)</script>" in text for text in texts(picture))
    whole = drawn(found)
    assert whole.count("\u2068") == whole.count("\u2069")  # directions are kept to each label
    assert max(map(len, texts(picture))) < 130


def test_a_pair_without_bars_is_told_in_words() -> None:
    found = Explanation("a", "b", "A", "B", "seed", 1.0, notes=("this pair was given as known",))
    told = texts(read(found))
    assert "seed" in told
    assert "this pair was given as known" in told


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_pictures_are_written(suffix: str, start: bytes, tmp_path: Path) -> None:
    save_bars(FOUND, tmp_path / f"why{suffix}")
    assert (tmp_path / f"why{suffix}").read_bytes().startswith(start)


def test_without_the_extra_there_is_svg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    save_bars(FOUND, tmp_path / "why.svg")
    with pytest.raises(SettingsError, match=r"\.png needs the extra: pip install 'emea\[plots\]'; \.svg works"):
        save_bars(FOUND, tmp_path / "why.png")
    with pytest.raises(SettingsError, match=r"found why\.gif, expected a picture as \.svg, \.png, \.pdf"):
        save_bars(FOUND, tmp_path / "why.gif")


def test_a_notebook_shows_the_bars() -> None:
    shown = ShownExplanation(**vars(FOUND))
    assert shown._repr_html_() == drawn(FOUND)
    assert shown.to_dict() == FOUND.to_dict()
