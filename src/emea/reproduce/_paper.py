"""Results that the paper and others report, to show beside ours: structure only, Hit@1, MRR, MR."""

from __future__ import annotations

from dataclasses import dataclass

RATIOS = (0.01, 0.05, 0.1, 0.2, 0.3)
Figures = tuple[float, ...]

# Table 1, by set and system, for each ratio: Hit@1, MRR, MR; PARIS and PRASE do not rank
TABLE_1: dict[str, dict[str, tuple[Figures, ...]]] = {
    "zh_en": {
        "PARIS": ((0.01,), (0.221,), (0.414,), (0.532,), (0.589,)),
        "RREA sup": (
            (0.140, 0.215, 652.3),
            (0.413, 0.518, 118.8),
            (0.542, 0.641, 56.9),
            (0.657, 0.745, 26.5),
            (0.720, 0.797, 16.7),
        ),
        "PRASE": ((0.241,), (0.461,), (0.522,), (0.593,), (0.623,)),
        "EMEA sup": (
            (0.517, 0.591, 116.4),
            (0.665, 0.738, 36.8),
            (0.706, 0.777, 27.4),
            (0.748, 0.815, 16.6),
            (0.782, 0.842, 12.6),
        ),
    },
    "ja_en": {
        "PARIS": ((0.002,), (0.226,), (0.395,), (0.511,), (0.577,)),
        "RREA sup": (
            (0.138, 0.203, 684.0),
            (0.391, 0.496, 113.9),
            (0.528, 0.631, 52.6),
            (0.649, 0.740, 25.3),
            (0.717, 0.797, 14.9),
        ),
        "PRASE": ((0.163,), (0.432,), (0.508,), (0.580,), (0.613,)),
        "EMEA sup": (
            (0.411, 0.488, 181.3),
            (0.630, 0.710, 35.9),
            (0.688, 0.764, 24.5),
            (0.736, 0.807, 16.3),
            (0.771, 0.837, 12.6),
        ),
    },
    "fr_en": {
        "PARIS": ((0.016,), (0.281,), (0.473,), (0.584,), (0.628,)),
        "RREA sup": (
            (0.126, 0.208, 366.5),
            (0.424, 0.539, 65.3),
            (0.571, 0.675, 31.3),
            (0.686, 0.775, 14.7),
            (0.742, 0.821, 9.2),
        ),
        "PRASE": ((0.227,), (0.514,), (0.575,), (0.622,), (0.649,)),
        "EMEA sup": (
            (0.480, 0.565, 72.1),
            (0.677, 0.757, 18.0),
            (0.727, 0.802, 9.7),
            (0.773, 0.841, 6.8),
            (0.801, 0.863, 5.9),
        ),
    },
    "dbp_wd": {
        "PARIS": ((0.19,), (0.537,), (0.623,), (0.69,), (0.739,)),
        "RREA sup": (
            (0.278, 0.368, 317.9),
            (0.522, 0.616, 78.4),
            (0.622, 0.709, 36.2),
            (0.711, 0.787, 20.6),
            (0.758, 0.827, 14.0),
        ),
        "PRASE": ((0.517,), (0.531,), (0.679,), (0.726,), (0.754,)),
        "EMEA sup": (
            (0.581, 0.657, 72.8),
            (0.708, 0.778, 21.5),
            (0.755, 0.820, 13.4),
            (0.808, 0.866, 6.6),
            (0.836, 0.889, 7.3),
        ),
    },
    "dbp_yg": {
        "PARIS": ((0.451,), (0.608,), (0.64,), (0.676,), (0.696,)),
        "RREA sup": (
            (0.509, 0.602, 64.4),
            (0.737, 0.803, 21.0),
            (0.782, 0.841, 14.0),
            (0.824, 0.875, 12.0),
            (0.849, 0.894, 6.9),
        ),
        "PRASE": ((0.667,), (0.689,), (0.701,), (0.719,), (0.735,)),
        "EMEA sup": (
            (0.773, 0.828, 17.6),
            (0.811, 0.861, 12.7),
            (0.828, 0.877, 9.2),
            (0.846, 0.891, 10.4),
            (0.862, 0.904, 5.8),
        ),
    },
}

# Table 2: Hit@1, MRR
TABLE_2: dict[str, dict[str, tuple[Figures, ...]]] = {
    "zh_en": {
        "RREA semi": ((0.309, 0.405), (0.590, 0.683), (0.677, 0.757), (0.756, 0.821), (0.794, 0.851)),
        "EMEA semi": ((0.471, 0.541), (0.680, 0.751), (0.731, 0.796), (0.782, 0.840), (0.808, 0.862)),
    },
    "fr_en": {
        "RREA semi": ((0.277, 0.382), (0.610, 0.708), (0.710, 0.791), (0.782, 0.848), (0.819, 0.876)),
        "EMEA semi": ((0.435, 0.518), (0.703, 0.778), (0.762, 0.828), (0.805, 0.865), (0.833, 0.886)),
    },
    "ja_en": {
        "RREA semi": ((0.263, 0.348), (0.550, 0.647), (0.658, 0.743), (0.743, 0.814), (0.790, 0.851)),
        "EMEA semi": ((0.386, 0.457), (0.641, 0.716), (0.711, 0.781), (0.765, 0.829), (0.801, 0.859)),
    },
}

# Table 3, 30 %: Hit@1, MRR of zh_en, ja_en, fr_en
TABLE_3: dict[str, tuple[Figures, Figures, Figures]] = {
    "IPTransE": ((0.406, 0.516), (0.367, 0.474), (0.333, 0.451)),
    "GCN-Align": ((0.413, 0.549), (0.399, 0.546), (0.373, 0.532)),
    "MuGNN": ((0.494, 0.611), (0.501, 0.621), (0.495, 0.621)),
    "RSN": ((0.508, 0.591), (0.507, 0.590), (0.516, 0.605)),
    "AliNet": ((0.539, 0.628), (0.549, 0.645), (0.552, 0.657)),
    "MRAEA sup": ((0.638, 0.736), (0.646, 0.735), (0.666, 0.765)),
    "PSR sup": ((0.702, 0.781), (0.698, 0.782), (0.731, 0.807)),
    "RREA sup": ((0.715, 0.794), (0.713, 0.793), (0.739, 0.816)),
    "Dual-AMN sup": ((0.731, 0.799), (0.726, 0.799), (0.756, 0.827)),
    "BootEA semi": ((0.629, 0.703), (0.622, 0.701), (0.653, 0.731)),
    "MRAEA semi": ((0.757, 0.827), (0.758, 0.826), (0.781, 0.849)),
    "PSR semi": ((0.802, 0.851), (0.803, 0.852), (0.828, 0.874)),
    "RREA semi": ((0.801, 0.857), (0.802, 0.858), (0.827, 0.881)),
    "Dual-AMN semi": ((0.808, 0.857), (0.801, 0.855), (0.840, 0.888)),
}
TABLE_3_SETS = ("zh_en", "ja_en", "fr_en")

# Table 4: seconds on zh_en, by ratio: initialisation, neural module and rules of a round
TIMES = {
    0.01: (254.1, 108.1, 88.5),
    0.05: (249.7, 108.0, 98.2),
    0.1: (249.2, 108.6, 86.0),
    0.2: (252.8, 109.6, 86.7),
    0.3: (252.4, 111.1, 90.2),
}
# Table 5: minutes on dbp_wd
TIMES_100K = {
    0.01: (169.1, 36.8, 19.1),
    0.05: (172.2, 33.0, 15.9),
    0.1: (146.3, 43.5, 22.8),
    0.2: (190.0, 45.3, 29.2),
    0.3: (183.9, 49.0, 30.2),
}


@dataclass(frozen=True)
class Published:
    """The best structure-only Hit@1 that others report on a set, and where."""

    hit: float
    system: str
    source: str
    year: int
    knows: str  # what its released code knows that a blind one would not; empty if nothing was found


_NEUSYMEA = "pseudo-labels and candidates are drawn among the test entities only (its code was read)"
_DATTI = "decodes test entities against each other only (its code was read)"
_UNREAD = "not known: its code was not read"


def _neusymea(hits: Figures, systems: str = "LLLL") -> list[Published]:
    """Up to 10 % from its Table 3, at 20 % from its Table 1."""
    tables = ("Table 3", "Table 3", "Table 3", "Table 1")
    return [
        Published(hit, f"NeuSymEA-{kind}", f"NeurIPS, {table}", 2025, _NEUSYMEA)
        for hit, kind, table in zip(hits, systems, tables, strict=True)
    ]


def _dual_amn(hit: float) -> Published:
    return Published(hit, "Dual-AMN, semi-supervised", "WWW, its paper", 2021, _UNREAD)


BEST = {  # for each ratio; all are ranked among the test targets
    "zh_en": (
        *_neusymea((0.676, 0.735, 0.773, 0.815), "LLLD"),
        Published(0.835, "DATTI on Dual-AMN", "output of its released notebook", 2022, _DATTI),
    ),
    "ja_en": (*_neusymea((0.632, 0.733, 0.773, 0.811)), _dual_amn(0.806)),
    "fr_en": (*_neusymea((0.737, 0.806, 0.827, 0.858)), _dual_amn(0.840)),
}
BEST_ABOUT = (
    "Other systems stand at 20 % than at 30 %, so that the published column need not rise with the labels. NeuSymEA's "
    "Table 3 has .858 for ja_en at 20 %, with all three figures equal to those of fr_en, which must be a slip; its "
    "Table 1 has .811"
)


def told(table: dict[str, dict[str, tuple[Figures, ...]]], data: str, system: str, ratio: float) -> Figures:
    """A table's figures; empty if it has none."""
    rows = table.get(data, {}).get(system)
    return rows[RATIOS.index(ratio)] if rows is not None and ratio in RATIOS else ()


def best_published(data: str, ratio: float) -> Published | None:
    """The best Hit@1 that others report, if known."""
    return BEST[data][RATIOS.index(ratio)] if data in BEST and ratio in RATIOS else None
