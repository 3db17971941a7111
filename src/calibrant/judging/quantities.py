"""What is said of each quantity: one row of a table. A new quantity is a new row; no function speaks of one alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["points", "share", "skill", "factor", "sd", "number", "count"]


@dataclass(frozen=True)
class Quantity:
    """How a quantity is spoken of.

    `says` is the statement of a headline, with {who} and {found}; `found` is the value in a table, with {value}. `below`
    and `above` say what limits below or above the expected value mean.
    """

    unit: Unit
    says: str
    found: str = "{value}"
    below: str = ""
    above: str = ""
    name: str = ""  # in words; by default the key with spaces


QUANTITIES = {
    # distances from calibration
    "cutoff_error": Quantity("points", "{who} are off by {found}", "off by {value}", name="cutoff calibration error"),
    "coverage_error": Quantity(
        "points", "coverage of {who} is off by {found}", "off by {value}", name="error of coverage"
    ),
    "coverage_shortfall": Quantity("points", "coverage of {who} falls short by {found}", "short by {value}"),
    "coverage_excess": Quantity("points", "coverage of {who} is too high by {found}", "too high by {value}"),
    "calibration_error": Quantity("number", "{who} have a calibration error of {found}", "error {value}"),
    # probabilities
    "bias": Quantity(
        "points",
        "events happen more often than {who} say by {found}",
        "{value}",
        "stated too high",
        "stated too low",
        "observed less predicted frequency",
    ),
    "frequency": Quantity(
        "share",
        "events happen {found} of the time, stated {expected}",
        below="stated too high",
        above="stated too low",
        name="observed frequency",
    ),
    # regions
    "coverage": Quantity(
        "share", "{who} cover {found}, stated {expected}", below="covers too little", above="covers too much"
    ),
    "coverage of intervals": Quantity("share", "{who} cover {found}", below="too narrow", above="wider than needed"),
    "coverage of central intervals": Quantity(
        "share", "{who} cover {found}", below="too narrow", above="wider than needed"
    ),
    "coverage of sets": Quantity("share", "{who} cover {found}", below="too small", above="larger than needed"),
    "coverage of coordinate": Quantity(
        "share", "{who}: central {expected} intervals cover {found}", below="too narrow", above="wider than needed"
    ),
    "coverage of all rows": Quantity(
        "share", "central {expected} intervals of {who} cover {found}", below="too narrow", above="wider than needed"
    ),
    "share_below": Quantity(
        "share",
        "{found} of the outcomes do not exceed {who}",
        below="quantile too low",
        above="quantile too high",
        name="share of outcomes below",
    ),
    # draws
    "shift": Quantity("sd", "{who} are off by {found}", "off by {value}", "too low", "too high"),
    "spread": Quantity(
        "factor",
        "the spread of {who} needs the factor {found}",
        "spread × {value}",
        "too wide (under-confident)",
        "too narrow (over-confident)",
    ),
    "outside": Quantity(
        "share", "{found} of the outcomes lie outside all draws of {who}", "{value} outside all draws", above="too many"
    ),
    "skewed": Quantity("number", "one tail of {who} is too short and the other too long", name="skewed"),
    "heavy-tailed": Quantity("number", "tails of {who} are too long", name="tails too long"),
    "light-tailed": Quantity("number", "tails of {who} are too short", name="tails too short"),
    "two modes": Quantity(
        "number", "outcomes avoid the centre of {who}: two modes are averaged", name="centre avoided"
    ),
    "other": Quantity("number", "ranks of {who} are uneven in no way that has a name", name="uneven ranks"),
    "too wide": Quantity("number", "regions of {who} are too large", name="regions too large"),
    "too narrow or biased": Quantity(
        "number",
        "regions of {who} are too small, or biased in a direction that these ranks do not show",
        name="regions too small",
    ),
    "wrong shape": Quantity("number", "regions of {who} have the right size and the wrong shape", name="wrong shape"),
    "joint_ranks": Quantity("number", "all variables together are off", "joint ranks not uniform"),
    "ranks": Quantity("number", "ranks by a quantity of the user are not uniform", "ranks of a quantity not uniform"),
    "pair_dependence": Quantity("number", "coordinates do not go together as in the draws", "pairs of coordinates"),
    "conditional_test": Quantity("number", "ranks change with the covariates", "ranks change with covariates"),
    "region_shift": Quantity(
        "sd", "where {who}, predictions are off by {found}", "shift {value}", "too low", "too high"
    ),
    "region_spread": Quantity(
        "factor", "where {who}, the spread needs the factor {found}", "spread × {value}", "too wide", "too narrow"
    ),
    "relation": Quantity(
        "number", "what was known of a row predicts where its outcome falls among the draws", "related to covariates"
    ),
    "dependence": Quantity(
        "number",
        "{who} do not go together as in the draws",
        "rank correlation {value} from that of the draws",
        "less together than in the draws",
        "more together than in the draws",
    ),
    "draws": Quantity("number", "draws of {who} are not exchangeable", "draws depend or repeat"),
    # sets of points
    "difference": Quantity("number", "generated and real points differ", name="difference"),
    "unseen_shift": Quantity(
        "sd", "a shift of {who} by less than {found} may be missed", "shifts below {value} may be missed"
    ),
    "location": Quantity(
        "sd", "generated points are shifted in {who} by {found}", "shift {value}", "shifted down", "shifted up"
    ),
    "spread_ratio": Quantity(
        "factor",
        "generated points spread {found} times as far in {who} as real ones",
        "spread × {value}",
        "too narrow",
        "too wide",
    ),
    "rank_correlation": Quantity(
        "number",
        "the rank correlation of {who} is {found}",
        "rank correlation {value}",
        "lower than of real points",
        "higher than of real points",
    ),
    "accuracy": Quantity(
        "share", "classifiers tell {found} of {who} from real ones", "{value} told apart", above="can be told apart"
    ),
    "coverage of set": Quantity(
        "share",
        "{found} of the real points have one of {who} near",
        "{value} of real points have one near",
        below="some are missing",
    ),
    "precision": Quantity(
        "share", "{found} of {who} have a real point near", "{value} have a real point near", below="some are invented"
    ),
    "copied": Quantity("count", "{found} of {who} equal a real point", "{value} copies", above="copied"),
    "memorised": Quantity(
        "count",
        "{found} of {who} are closer to a real point than real points to each other",
        "{value} near copies",
        above="memorised",
    ),
    "distinct_points": Quantity(
        "count", "{found} of {who} are distinct", "{value} distinct", below="collapsed: repeats itself"
    ),
    "diversity": Quantity(
        "share", "{who} have {found} of the variety expected", "{value} of the variety", below="less varied"
    ),
    # other questions
    "skce": Quantity("number", "{who} fail the kernel test", name="squared kernel calibration error"),
    "recalibration_gain": Quantity(
        "number",
        "recalibration lowers the score by {found}",
        "gain {value}",
        below="the map does harm",
        above="the map helps",
        name="gain of the log score by recalibration",
    ),
    "skill": Quantity(
        "skill", "skill of {who} is {found}", "skill {value}", below="worse than no forecast", above="informative"
    ),
}
"""One row for each quantity, or for a quantity of one kind of subject."""


DIFFERENCE = "difference of "  # before the metric, in claims on two models
COMPARED = {"ece": "squared calibration error", "cutoff_error": "cutoff error", "brier_score": "Brier score"}
"""What metrics are called in comparisons of models; others are called by their names."""


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
        return Quantity(
            "number",
            f"the {words} of {{who}} differs by {{found}}",
            f"{words} {{value}}",
            "the first is lower",
            "the second is lower",
        )
    name = key.replace("_", " ")
    return (
        QUANTITIES.get(f"{key} of {kind}")
        or QUANTITIES.get(key.partition(".")[0])
        or Quantity("number", f"{name} of {{who}} is {{found}}", "")
    )
