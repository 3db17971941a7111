"""`Comparison`: predictions of the same rows side by side, as claims, words, tables, figures and a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.core import pictures
from calibrant.core.findings import Figure, Findings, Measurement, Section, Table
from calibrant.core.plot_style import legend_below
from calibrant.core.results import Curve, Pair
from calibrant.judging.comparisons import claim_on_models, verdict_on_models
from calibrant.judging.quantities import metric_words
from calibrant.report.audit import Claims, Reported
from calibrant.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

OF_CALIBRATION = ("ece", "cutoff_error", "mce", "mmce", "skce", "kuiper_test", "kolmogorov_smirnov_test")
SHARPNESS = "A lower score is not better calibration: it also rewards predictions that separate the outcomes better."
INDEPENDENT = (
    "Rows are assumed to be independent; for a series give the time of each row, and for rows that depend on each "
    "other, such as those of one customer, their clusters."
)
MANY_MODELS = 8  # beyond which a picture is taller
MAX_PAIRS_DRAWN = 30  # in one picture


@dataclass(frozen=True, repr=False)
class Comparison(Reported):
    """Two or more models compared on the same rows."""

    names: tuple[str, ...]
    values: Mapping[str, tuple[float, ...]]
    pairs: tuple[Pair, ...]
    methods: Mapping[str, str]
    level: float
    tolerance: float | None
    n: int
    refused: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    reliability: Curve | None = field(default=None, compare=False)

    @cached_property
    def findings(self) -> Findings:
        return _findings(self)

    @property
    def claims(self) -> Claims:
        """What the limits support, one claim for each pair; a difference is claimed only if they exclude 0."""
        return Claims(
            claim_on_models(
                pair, level=self.level, rows=self.n, tolerance=self.tolerance, method=self.methods[pair.metric]
            )
            for pair in self.pairs
        )

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.names)} models on {self.n:,} rows: {self.verdict.headline}>"

    def plot(self) -> Canvas:
        """Draw the reliability curves and the differences into one new Matplotlib figure and return it."""
        figures = [figure for section in self.findings.sections for figure in section.figures]
        canvas, places = pictures.new_grid([pictures.USUAL_HEIGHT] * len(figures))
        if len(self.names) > MANY_MODELS:  # the legend has a line for each, and their pairs need room
            canvas.set_figheight(canvas.get_figheight() * len(self.names) / MANY_MODELS)
        for figure, ax in zip(figures, places, strict=True):
            figure.curve.plot(ax)
            ax.set_title(figure.title.replace("$", r"\$"))
            legend_below(ax)
        return canvas


def _findings(found: Comparison) -> Findings:
    verdict = verdict_on_models(found.values, found.names, found.pairs, found.claims)
    scores = [metric for metric in found.values if metric not in (*OF_CALIBRATION, "coverage")]
    caveats = (
        *((SHARPNESS,) if scores else ()),
        *(f"{metric_words(metric)} is not compared: {reason}" for metric, reason in found.refused.items()),
        *(() if any(word in " ".join(found.methods.values()) for word in ("long-run", "clusters")) else (INDEPENDENT,)),
    )
    return Findings(
        kind="comparison",
        n=found.n,
        level=found.level,
        verdict=verdict,
        sections=(_overview(found), *(_section(found, metric) for metric in found.values)),
        caveats=caveats,
        names=found.facts,
        version=__version__,
    )


def _overview(found: Comparison) -> Section:
    columns: dict[str, tuple[Any, ...]] = {"model": found.names}
    for metric, values in found.values.items():
        columns["squared error" if metric == "ece" else metric_words(metric)] = values
        if metric == "ece":
            columns["its root"] = tuple(math.sqrt(max(0.0, value)) for value in values)
    note = "The squared error allows for chance and may be negative; its root is the size of a typical gap."
    table = Table("values", "Values of each model", columns, note if "ece" in found.values else "")
    figures = [_differences(found, metric) for metric in found.values]
    if found.reliability is not None:
        reading = (
            "Each dot is a tenth of the rows by one model: its mean prediction, and how often the event happened, with "
            f"a {100 * found.level:g} % interval of this dot alone. Dots of calibrated predictions lie near the dashed "
            "line."
        )
        figures.insert(0, Figure("reliability", "Reliability of all models", reading, found.reliability))
    return Section(
        "models", "Models side by side", "How do the models differ on the same rows?", (), tuple(figures), (table,)
    )


def _differences(found: Comparison, metric: str) -> Figure:
    every, words = _pairs(found, metric), metric_words(metric)
    pairs, shown = _drawn(every, found, metric)
    columns = {"pair": np.arange(len(pairs))} | {
        name: np.array([getattr(pair, name) for pair in pairs]) for name in ("difference", "low", "high")
    }
    details = {
        "names": tuple(f"{pair.first} less {pair.second}" for pair in pairs),
        "axis": f"difference of the {words}",
        "level": found.level,
        "tolerance": found.tolerance,
    }
    reading = (
        "Limits that do not reach the dashed line show a difference. The limits of all pairs and metrics together "
        f"contain the true differences with {100 * found.level:g} % confidence.{shown}"
    )
    curve = Curve("differences", columns, found.methods[metric], found.n, details)
    return Figure(f"{metric}_differences", f"Differences of the {words}", reading, curve)


def _drawn(pairs: list[Pair], found: Comparison, metric: str) -> tuple[list[Pair], str]:
    """Return the pairs that are drawn: all, or of many those with the model of the lowest value; and words on that."""
    if len(pairs) <= MAX_PAIRS_DRAWN:
        return pairs, ""
    values = dict(zip(found.names, found.values[metric], strict=True))
    best = min(values, key=values.__getitem__)
    with_best = [pair for pair in pairs if best in (pair.first, pair.second)]
    with_best.sort(key=lambda pair: max(values[pair.first], values[pair.second]))
    drawn = with_best[:MAX_PAIRS_DRAWN]
    nearest = " nearest" if len(drawn) < len(with_best) else ""
    return drawn, (
        f" Of {len(pairs):,} pairs the {len(drawn)}{nearest} with {best} are drawn, the model with the lowest "
        f"{metric_words(metric)}; the table has all."
    )


def _section(found: Comparison, metric: str) -> Section:
    pairs, words = _pairs(found, metric), metric_words(metric)
    return Section(
        metric,
        f"{words[0].upper()}{words[1:]}",
        f"By how much does the {words} differ?",
        tuple(_measurement(found, pair) for pair in pairs),
        (),
        (_skills(metric, pairs),) if any(pair.skill is not None for pair in pairs) else (),
    )


def _pairs(found: Comparison, metric: str) -> list[Pair]:
    return [pair for pair in found.pairs if pair.metric == metric]


def _measurement(found: Comparison, pair: Pair) -> Measurement:
    many = f"; limits and p-values allow for {len(found.pairs)} comparisons" if len(found.pairs) > 1 else ""
    return Measurement(
        name=f"{pair.metric}.{pair.first}.{pair.second}",
        label=f"difference, {pair.first} less {pair.second} ({metric_words(pair.metric)})",
        value=pair.difference,
        expected=0.0,
        interval=(pair.low, pair.high),
        pvalue=pair.pvalue,
        method=found.methods[pair.metric] + many,
        decides=True,
    )


def _skills(metric: str, pairs: Sequence[Pair]) -> Table:
    columns = {
        "pair": tuple(f"{pair.first} against {pair.second}" for pair in pairs),
        "skill": tuple(pair.skill for pair in pairs),
        "low": tuple(pair.skill_low for pair in pairs),
        "high": tuple(pair.skill_high for pair in pairs),
    }
    note = "1 less the ratio of the two values: the share by which the first is lower than the second."
    return Table(f"{metric}_skill", f"Skill by the {metric_words(metric)}", columns, note)
