"""What is said of each quantity: one row of a table. A new quantity is a new row; no function speaks of one alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["points", "share", "skill", "factor", "sd", "number", "count"]


@dataclass(frozen=True)
class Quantity:
    """How a quantity is spoken of.

    `says` is the statement of a headline, with {who}, {found}, {expected}, {meaning} and
    {brackets}; `found` is the value in a table, with {value} and {test}. `below`
    and `above` say what limits below or above the expected value mean.
    """

    says: str
    found: str = "{value}"
    below: str = ""
    above: str = ""
    unit: Unit = "number"
    name: str = ""  # in words; by default the key with spaces
    how: str = ""  # by what mean an error is one number, said before its limits
    is_limit: bool = False  # whether its upper limit is all that is known of it


def _points(says: str, found: str, below: str = "", above: str = "", name: str = "", how: str = "") -> Quantity:
    return Quantity(says, found, below, above, "points", name, how)


def _share(says: str, found: str = "{value}", below: str = "", above: str = "", name: str = "") -> Quantity:
    return Quantity(says, found, below, above, "share", name)


def _width(says: str) -> Quantity:
    return _share(says, below="too narrow", above="wider than needed")


STATED = ("{value}", "stated too high", "stated too low")

QUANTITIES = {
    # distances from calibration
    "rms_error": _points(
        "{who} are off by {found}", "off by {value}", name="calibration error", how="root mean square"
    ),
    "mean_error": _points(
        "so few events show the mean of {who} alone, which is off by {found}",
        "off by {value}",
        name="error of the mean",
    ),
    "cutoff_error": _points("{who} are off by {found}", "off by {value}", name="cutoff calibration error"),
    "coverage_error": _points("coverage of {who} is off by {found}", "off by {value}", how="at its worst"),
    "coverage_shortfall": _points("coverage of {who} falls short by {found}", "short by {value}"),
    "coverage_excess": _points("coverage of {who} is too high by {found}", "too high by {value}"),
    "calibration_error": Quantity("{who} have a calibration error of {found}", "error {value}"),
    # probabilities
    "bias": _points(
        "events happen more often than {who} say by {found}",
        *("{value}", "too high on average", "too low on average", "observed less predicted frequency"),
    ),
    "frequency": _share(
        "{who} are {meaning}: when {expected} is stated, it happens {found} of the time{brackets}",
        *STATED,
        "observed frequency",
    ),
    # regions
    "coverage": _share("{who} cover {found}, stated {expected}", "{value}", "covers too little", "covers too much"),
    "coverage of intervals": _width("{who} cover {found}"),
    "coverage of central intervals": _width("{who} cover {found}"),
    "coverage of sets": _share("{who} cover {found}", "{value}", "too small", "larger than needed"),
    "coverage of coordinate": _width("{who}: central {expected} intervals cover {found}"),
    "coverage of all rows": _width("central {expected} intervals of {who} cover {found}"),
    "share_below": _share(
        "{found} of the outcomes do not exceed {who}",
        *("{value}", "quantile too low", "quantile too high", "share of outcomes below"),
    ),
    # draws
    "shift": Quantity("{who} are off by {found}", "off by {value}", "too low", "too high", "sd"),
    "spread": Quantity(
        "the spread of {who} needs the factor {found}",
        *("spread × {value}", "too wide (under-confident)", "too narrow (over-confident)", "factor"),
    ),
    "outside": _share(
        "{found} of the outcomes lie outside all draws of {who}", "{value} outside all draws", above="too many"
    ),
    "skewed": Quantity("one tail of {who} is too short and the other too long"),
    "heavy-tailed": Quantity("tails of {who} are too long", name="tails too long"),
    "light-tailed": Quantity("tails of {who} are too short", name="tails too short"),
    "two modes": Quantity("outcomes avoid the centre of {who}: two modes are averaged", name="centre avoided"),
    "other": Quantity("ranks of {who} are uneven in no way that has a name", name="uneven ranks"),
    "too wide": Quantity("regions of {who} are too large", name="regions too large"),
    "too narrow or biased": Quantity(
        "regions of {who} are too small, or biased in a direction that these ranks do not show",
        name="regions too small",
    ),
    "wrong shape": Quantity("regions of {who} have the right size and the wrong shape"),
    "uniformity_test": Quantity("outcomes are not like draws of {who}", "ranks not uniform"),
    "joint_ranks": Quantity("all variables together are off", "{test} not uniform", name="joint ranks not uniform"),
    "energy_ranks": Quantity("all variables together are off", "ranks by density not uniform"),
    "tarp_ranks": Quantity(
        "all variables together are off", "ranks by distance to a fit on the covariates not uniform"
    ),
    "ranks": Quantity("ranks by a quantity of the user are not uniform", "ranks of a quantity not uniform"),
    "pair_dependence": Quantity("coordinates do not go together as in the draws", "pairs of coordinates"),
    "relation": Quantity(
        "what was known of a row predicts where its outcome falls among the draws", "related to covariates"
    ),
    "relation of covariates": Quantity("predictions are off with {who}, and no region stands out", "off with these"),
    "dependence": Quantity(
        "{who} do not go together as in the draws",
        "rank correlation {value} from that of the draws",
        *("less together than in the draws", "more together than in the draws"),
    ),
    "draws": Quantity("draws of {who} are not exchangeable", "draws depend or repeat"),
    # regions of covariates, and parts of the rows
    "frequency of region": _share("for {who} events happen {found} of the time, stated {expected}", *STATED),
    "right class": _share("for {who} the most probable class is right {found} of the time, stated {expected}", *STATED),
    "class frequency": _share("{who} happens {found} of the time, stated {expected}", *STATED),
    "coverage of region": _width("for {who} outcomes are covered {found} of the time, stated {expected}"),
    "share_below of region": _share(
        "for {who} outcomes do not exceed the {expected} quantile {found} of the time",
        *("{value}", "quantile too low", "quantile too high"),
    ),
    "shift of region": Quantity(
        "for {who} predictions are off by {found}", "off by {value}", "too low", "too high", "sd"
    ),
    "spread of region": Quantity(
        "for {who} the spread needs the factor {found}",
        *("spread × {value}", "too wide (under-confident)", "too narrow (over-confident)", "factor"),
    ),
    "part_error": Quantity("{who} is off by {found}", "at most {value}", unit="points", is_limit=True),
    "part_coverage_error": Quantity(
        "coverage of central 50 and 90 % intervals is off in {who} by {found}",
        *("coverage: at most {value}",),
        unit="points",
        is_limit=True,
    ),
    "average_error": _points("{who} are off by {found}", "off by {value}"),
    # sets of points
    "difference": Quantity("generated and real points differ"),
    "unseen_shift": Quantity(
        "a shift of {who} by less than {found} may be missed", "shifts below {value} may be missed", unit="sd"
    ),
    "location": Quantity(
        "generated points are shifted in {who} by {found}", "shift {value}", "shifted down", "shifted up", "sd"
    ),
    "spread_ratio": Quantity(
        "generated points spread {found} times as far in {who} as real ones",
        *("spread × {value}", "too narrow", "too wide", "factor"),
    ),
    "rank_correlation": Quantity(
        "the rank correlation of {who} is {found}",
        *("rank correlation {value}", "lower than of real points", "higher than of real points"),
    ),
    "accuracy": _share(
        "classifiers tell {found} of {who} from real ones", "{value} told apart", above="can be told apart"
    ),
    "coverage of set": _share(
        "{found} of the real points have one of {who} near", "{value} of real points have one near", "some are missing"
    ),
    "precision": _share(
        "{found} of {who} have a real point near", "{value} have a real point near", "some are invented"
    ),
    "copied": Quantity("{found} of {who} equal a real point", "{value} copies", above="copied", unit="count"),
    "memorised": Quantity(
        "{found} of {who} are closer to a real point than real points to each other",
        *("{value} near copies", "", "memorised", "count"),
    ),
    "distinct_points": Quantity(
        "{found} of {who} are distinct", "{value} distinct", "collapsed: repeats itself", unit="count"
    ),
    "diversity": _share("{who} have {found} of the variety expected", "{value} of the variety", "less varied"),
    # other questions
    "skce": Quantity("the kernel test judges {who} as a whole", name="squared kernel calibration error"),
    "recalibration_gain": Quantity(
        "recalibration lowers the score by {found}",
        *("gain {value} (log score)", "the map does harm", "the map helps"),
        name="gain of the log score by recalibration",
    ),
    "skill": Quantity(
        "skill of {who} is {found}", "skill {value}", "worse than no forecast", "informative", unit="skill"
    ),
}
"""One row for each quantity, or for a quantity of one kind of subject."""


DIFFERENCE = "difference of "  # before the metric, in claims on two models
# What metrics are called in comparisons of models; others are called by their names.
COMPARED = {"ece": "squared calibration error", "cutoff_error": "cutoff error", "brier_score": "Brier score"}


def metric_words(metric: str) -> str:
    """Return a metric of a comparison in words.

    >>> metric_words("brier_score"), metric_words("interval_score")
    ('Brier score', 'interval score')
    """
    return COMPARED.get(metric, metric.removesuffix("_test").replace("_", " "))


def quantity_of(key: str, kind: str) -> Quantity:
    """Return the row of a quantity of a kind of subject; one that is not listed is called by its name.

    >>> quantity_of("coverage", "sets").below, quantity_of("some_error", "all rows").says
    ('too small', 'some error of {who} is {found}')
    """
    if key.startswith(DIFFERENCE):
        words = metric_words(key.removeprefix(DIFFERENCE))
        says, found = f"the {words} of {{who}} differs by {{found}}", f"{words} {{value}}"
        return Quantity(says, found, "the first is lower", "the second is lower")
    name = key.replace("_", " ")
    return (
        QUANTITIES.get(f"{key} of {kind}")
        or QUANTITIES.get(key.partition(".")[0])
        or Quantity(f"{name} of {{who}} is {{found}}", "")
    )
