"""The relation of ranks to covariates in an audit: the test, its picture, and the line that is always printed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calibrant.core.claims import Claim
from calibrant.core.evidence import Subject
from calibrant.core.findings import Figure, Setting
from calibrant.core.results import TestResult
from calibrant.ranking.conditional_map import MapOptions, map_of
from calibrant.ranking.conditional_regions import Region
from calibrant.ranking.conditional_test import CONDITIONAL_TEST, ConditionalOptions
from calibrant.ranking.counting import Ranked
from calibrant.ranking.kept_ranks import KeptRanks

MIN_REDRAWS, MAX_REDRAWS = 399, 999  # adjusted for a few checks, a p-value of fewer could not be small
MAX_WORK = 3e10  # rows times pairs of covariates, columns and redraws: above, boxes are not searched
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
        return self.kept.counted[0].names

    def regions_of(self, name: str) -> list[Region]:
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
