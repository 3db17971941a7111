"""The relation of ranks to covariates in an audit: the test, its picture, and the line that is always printed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calibrant.core.claims import Claim, Subject
from calibrant.core.findings import Figure, Setting
from calibrant.core.results import TestResult
from calibrant.core.words import NAMED, listed
from calibrant.ranking.conditional_map import MapOptions, map_of
from calibrant.ranking.conditional_regions import Region
from calibrant.ranking.conditional_test import CONDITIONAL_TEST, ConditionalOptions
from calibrant.ranking.counting import Ranked
from calibrant.ranking.kept_ranks import KeptRanks

MIN_REDRAWS, MAX_REDRAWS = 399, 999  # adjusted for a few checks, a p-value of fewer could not be small
MAX_WORK = 3e10  # rows times pairs of covariates, columns and redraws: above, boxes are not searched
RELATION = "what was known of a row predicts where its outcome falls among the draws"
READING = (
    "How much too high predictions are in cells of each covariate, in predictive standard deviations, clearest first. "
    "The limits are for all cells together. Shaded: the region that deviates most."
)


class Relation(NamedTuple):
    """What the test of ranks against covariates found, at a level that allows for other checks."""

    found: TestResult
    kept: KeptRanks
    searched_boxes: bool

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions that are stated, clearest first."""
        found: tuple[Region, ...] = self.found.details["regions"]
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coordinates."""
        return self.kept.counted[0].names

    def regions_of(self, name: str) -> list[Region]:
        """Return the regions of one coordinate, clearest first."""
        return [region for region in self.regions if region.column == name or len(self.names) == 1]

    @property
    def functions(self) -> tuple[str, ...]:
        """What changes with covariates, of each coordinate: "spread" if only that is known to, "shift", or nothing."""
        clearest = np.atleast_1d(self.found.details["function_each"]).tolist()
        return tuple(
            "shift" if any(region.function == "shift" for region in self.regions_of(name)) else clearest[c]
            for c, name in enumerate(self.names)
        )

    def figure(self, setting: Setting) -> tuple[Figure, ...]:
        """Return the picture of shift along the covariates, if cells have enough rows."""
        options = MapOptions(None, setting.level, MIN_REDRAWS, setting.rng)
        curve = map_of(self.kept, options, self.found)
        if curve is None:
            return ()
        shown = replace(
            curve, details={**curve.details, "regions": tuple(region.without_rows() for region in self.regions)}
        )
        return (Figure("conditional_map", "Predictions along the covariates", READING, shown),)

    def claims(self) -> list[Claim]:
        """Return the regions as descriptions: they were chosen after looking."""
        return [
            Claim(
                "description",
                Subject("covariates", name=region.text),
                f"region_{region.function}",
                region.shift if region.function == "shift" else region.spread,
                rows=region.n,
                expected=float(region.function == "spread"),
                test="conditional_test",
                pvalue=region.pvalue,
            )
            for region in self.regions
        ]

    def sentence(self, p: str, *, rejects: bool) -> str:
        """Return the line on covariates, printed whatever else was found; `p` is the adjusted p-value in words."""
        if not rejects:
            return f"No relation between ranks and covariates was found ({p}){self._visible()}."
        related = [name for name, function in zip(self.names, self.functions, strict=True) if function]
        others = [name for name in related if not self.regions_of(name)]
        firsts = [region for region in self.regions if region is self.regions_of(region.column)[0]]
        if not firsts:
            return f"{_capitalised(RELATION)}{self._without_region(others)} ({p})."
        parts = _first_few([region.text for region in firsts], "{} more coordinates have regions too")
        if others:
            parts.append(f"ranks of {_coordinates(others)} change with the covariates too")
        if len(parts) == 1:
            return f"{_capitalised(parts[0])} ({p}): {RELATION}."
        said = [*(f"{_capitalised(part)}." for part in parts), f"{_capitalised(RELATION)} ({p})."]
        return " ".join(said)

    def _without_region(self, names: list[str]) -> str:
        """Say which coordinates are related to covariates, and along which direction if it is one."""
        of = f" of {_coordinates(names)}" if len(self.names) > 1 and names else ""
        direction = self.found.details["direction"] if len(names) == 1 else ""
        return of + (f", {direction}" if direction else "")

    def _visible(self) -> str:
        visible = float(self.found.details["visible"])
        if not math.isfinite(visible):
            return ""
        up = math.ceil(round(100 * visible, 6)) / 100
        half = "in half of the rows, set apart by one covariate,"
        return f"; a bias of {up:.2f} predictive sd {half} would have been found at least 4 times in 5"


def relation(ranked: Ranked, w: Any, setting: Setting, *, checks: int) -> Relation:
    """Test ranks against the covariates of a setting, at a level that allows for so many checks of this page."""
    covariates = setting.covariates
    assert covariates is not None
    kept = KeptRanks.of_ranked(ranked, np.asarray(w), covariates)
    B = max(MIN_REDRAWS, min(setting.resamples, MAX_REDRAWS))
    q = covariates.q
    work = kept.n * q * (q + 1) / 2 * kept.rank.shape[1] * 2 * B
    level = 1 - (1 - setting.level) / (checks * setting.families)
    pairs: list[tuple[int, int]] | None = None if work <= MAX_WORK else []
    options = ConditionalOptions(None, "joint", "permutation", level, B, pairs, setting.rng)
    return Relation(CONDITIONAL_TEST.finish(kept, options), kept, pairs is None)


def _first_few(texts: list[str], more: str) -> list[str]:
    """Return the first few texts and, in the words of `more`, the number of the others.

    >>> _first_few(["a", "b", "c", "d", "e", "f"], "{} more")
    ['a', 'b', 'c', 'd', '2 more']
    """
    left = len(texts) - NAMED
    return [*texts[:NAMED], *([more.format(left)] if left > 0 else [])]


def _coordinates(names: list[str]) -> str:
    return listed(_first_few([str(Subject("coordinate", name=name)) for name in names], "{} more coordinates"))


def _capitalised(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
