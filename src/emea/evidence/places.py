"""Where entities are, on the Earth or in the sky: positions read off a graph, who is close to whom, and how far apart
two are."""

from __future__ import annotations

import re

import numpy as np
import pyarrow.compute as pc
from scipy.spatial import cKDTree

from emea.data import Graph
from emea.evidence.names import CAMEL, local_names
from emea.evidence.values import NUMBER_FORM, Values
from emea.kernels.ranges import distinct

UNIT = r"([ _]?\(?(deg(ree)?s?|dd|decimal|wgs[ _]?84)\)?)?$"
LATITUDE = re.compile(
    r"(^|[^a-z])(lat(itude?|itudine)?|dec(lination)?|breitengrad|geo\w*[ _.]*breite|breedtegraad|breddegrad|breddgrad|"
    rf"широта|纬度|緯度|위도){UNIT}"
)
LONGITUDE = re.compile(
    r"(^|[^a-z])(lon|lng|long(itude?|itudine)?|ra|right[ _]?ascension|l(ä|ae)ngengrad|geo\w*[ _.]*l(ä|ae)nge|"
    rf"lengtegraad|l(en|æn)gdegrad|längdgrad|долгота|经度|經度|経度|경도){UNIT}"
)
LARGEST = 90.0, 360.0  # of a latitude and of a longitude
NUMBER = r"([-+]?\d{1,3}(?:\.\d+)?)"
FRACTION = r"([-+]?\d{1,3}\.\d+)"  # numbers of whole degrees might be anything
POINT = re.compile(rf"(?i)^\s*(?:<[^>]*>)?\s*(?:srid=\d+;)?\s*point\s*z?\s*\(\s*{NUMBER}\s+{NUMBER}")  # longitude first
BOTH = re.compile(rf"^\s*\(?\s*{FRACTION}\s*[,;]\s*{FRACTION}\s*\)?\s*$")  # latitude first
PERHAPS = r"(?i)^\s*(?:<|srid|point|\(?\s*[-+]?\d{1,2}\.\d+\s*[,;])"  # what such texts begin with, for Arrow
MOSTLY = 0.5  # share of an attribute's values that are positions, for it to hold positions
KILOMETRES = np.array(
    [0.3, 1.0, 4.0, 15.0, 60.0, 150.0, 400.0, 1000.0]
)  # distances from which a pair has level 1, 2, …
RADIUS = 6371.0  # of the Earth, in kilometres
NEAREST, FARTHEST = 5, 60.0  # how many close entities are considered for each, and how far they may be, in kilometres
ALONE, OTHERS = 1.0, 4.0  # two that are so close are likely the same, if all others are so many times as far


def read_positions(graph: Graph, values: Values) -> tuple[np.ndarray, np.ndarray]:
    """Each entity's latitude and longitude in degrees, or declination and right ascension, [entities, 2], NaN if
    unknown; and the attributes that hold them."""
    position = np.full((len(graph.entities), 2), np.nan)
    ends = [CAMEL.sub(" ", last).casefold() for last in local_names(values.attributes)]
    found = [
        [
            number
            for number, end in enumerate(ends)
            if name.search(end) and _numbers(values, number, largest) is not None
        ]
        for name, largest in zip((LATITUDE, LONGITUDE), LARGEST, strict=True)
    ]
    if all(found):
        for column, (attributes, largest) in enumerate(zip(found, LARGEST, strict=True)):
            for attribute in attributes:
                entity, degrees = _numbers(values, attribute, largest) or (np.empty(0, int), np.empty(0))
                position[entity, column] = degrees
        position[np.isnan(position).any(1)] = np.nan
        return position, np.array(found[0] + found[1])
    return position, _read_points(graph, position)


def _numbers(values: Values, attribute: int, largest: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Entities and their values of an attribute, as far as these are numbers up to some size; None if few are."""
    rows = values.rows[attribute]
    forms = (values.forms[form] for form in values.value[rows].tolist())
    number = np.array([float(form[2:]) if form.startswith(NUMBER_FORM) else np.nan for form in forms])
    kept = np.abs(number) <= largest
    return (values.entity[rows[kept]], number[kept]) if len(rows) and kept.mean() >= MOSTLY else None


def _read_points(graph: Graph, position: np.ndarray) -> np.ndarray:
    """Write down positions that are single values: POINT(13.4 52.5), as WKT has them, or 52.5, 13.4; and return the
    attributes that mostly hold such."""
    table = graph.literals
    likely = table.filter(pc.match_substring_regex(table["value"], PERHAPS))
    total = np.bincount(table["attribute"].to_numpy(), minlength=len(graph.attributes))
    count, found = np.zeros_like(total), []
    for entity, attribute, text in zip(
        *(likely[name].to_pylist() for name in ("entity", "attribute", "value")), strict=True
    ):
        match = POINT.match(text)
        latitude, longitude = (
            match.group(2, 1) if match else both.groups() if (both := BOTH.match(text)) else ("nan", "nan")
        )
        if abs(float(latitude)) <= LARGEST[0] and abs(float(longitude)) <= LARGEST[1]:
            count[attribute] += 1
            found.append((entity, attribute, float(latitude), float(longitude)))
    holding = np.flatnonzero((count > 0) & (count >= MOSTLY * total))
    for entity, attribute, latitude, longitude in found:
        if attribute in holding:
            position[entity] = latitude, longitude
    return holding


def close(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of the nearest entities, a few of each, [pairs, 2]; and whether a pair is far closer to each other than to
    all others, [pairs] bool. Given the same positions twice, pairs of different entities."""
    same = one is other
    known = [_telling(side) for side in (one, other)]
    if not all(map(len, known)):
        return np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=bool)
    there = [_on_sphere(side[rows]) for side, rows in zip((one, other), known, strict=True)]
    chord = 2 * np.sin(min(1.0, FARTHEST / (2 * RADIUS)))
    found, sole = [], []
    for side in (0, 1)[: 1 if same else 2]:
        tree, count = cKDTree(there[1 - side]), min(NEAREST + same, len(known[1 - side]))
        away, near = tree.query(there[side], k=[*range(1, count + 1)], distance_upper_bound=chord)
        inside = np.isfinite(away)
        row, column = np.nonzero(inside)
        pairs = np.stack([known[side][row], known[1 - side][near[row, column]]], 1)
        found.append(pairs if side == 0 else pairs[:, ::-1])
        next_one = np.c_[away, np.full(len(away), np.inf)][:, 1]
        sole.append(
            (column == 0) & (away[row, column] <= ALONE / RADIUS) & (away[row, column] * OTHERS < next_one[row])
        )
    pairs = distinct(np.concatenate(found))
    if same:
        return pairs[pairs[:, 0] < pairs[:, 1]], np.empty(0, dtype=bool)
    width = len(other)
    keys = [each[only, 0] * width + each[only, 1] for each, only in zip(found, sole, strict=True)]
    mutual = np.intersect1d(keys[0], keys[1])
    return pairs, np.isin(pairs[:, 0] * width + pairs[:, 1], mutual)


def _telling(position: np.ndarray) -> np.ndarray:
    """The entities with a position that few others have: that of many is the middle of a town, or means "unknown"."""
    known = np.flatnonzero(~np.isnan(position[:, 0]))
    _, place, count = np.unique(position[known], axis=0, return_inverse=True, return_counts=True)
    return known[count[place.ravel()] <= NEAREST]


def _on_sphere(position: np.ndarray) -> np.ndarray:
    """Points on a sphere of radius 1, [positions, 3]."""
    latitude, longitude = np.radians(position).T
    return np.stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], 1)


def distance_levels(one: np.ndarray, other: np.ndarray, unknown: int) -> np.ndarray:
    """Level of the distance between positions side by side, [pairs]; `unknown` if either is."""
    first, second = np.radians(one), np.radians(other)
    haversine = (
        np.sin((second[:, 0] - first[:, 0]) / 2) ** 2
        + np.cos(first[:, 0]) * np.cos(second[:, 0]) * np.sin((second[:, 1] - first[:, 1]) / 2) ** 2
    )
    away = 2 * RADIUS * np.arcsin(np.sqrt(haversine.clip(0, 1)))
    return np.where(np.isnan(away), unknown, np.searchsorted(KILOMETRES, away, side="right"))
