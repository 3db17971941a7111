"""The measurements of an audit: those that the catalogue marks for audits, from one sort of the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import width_edges
from calibrant.core.catalogue import ENTRIES, Entry, find
from calibrant.core.evidence import Note, note
from calibrant.core.findings import Facts, Measurement, Setting
from calibrant.core.grid import Grid
from calibrant.core.limits import Limits
from calibrant.core.mean_interval import mean_interval
from calibrant.core.null import MAX_ENTRIES_REDRAWN, reaches, redraw_events, resampled_pvalue
from calibrant.core.ordered import Ordered
from calibrant.core.results import ConfidenceInterval, TestResult
from calibrant.core.summary import Summary
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.kinds import AnyRows
from calibrant.inputs.probabilities import Binary
from calibrant.inputs.rows import DistributionRows, RegionRows
from calibrant.kernel_errors.mmce import MMCE, mmce_of_events
from calibrant.kernel_errors.skce_test import SKCE_TEST, in_blocks, kernel_options
from calibrant.probabilities.binned_errors import DIRECTION, ECE
from calibrant.probabilities.cumulative import CUTOFF_ERROR, KOLMOGOROV_SMIRNOV_TEST, KUIPER_TEST
from calibrant.probabilities.spiegelhalter_test import SPIEGELHALTER_TEST
from calibrant.scores.brier_and_log import BRIER_SCORE, LOG_SCORE
from calibrant.scores.decompose import DECOMPOSE, mcb_of_events

SCORES = "scores"
MEANS: tuple[Entry[Any, Any], ...] = (BRIER_SCORE, LOG_SCORE)  # of row scores, kept beside the cells
MAX_DRAWS_COMPARED = 20_000_000  # over all pairs of rows; the kernel test of more draws uses blocks

Collected = tuple[tuple[Measurement, ...], tuple[str, ...]]
"""Measurements, and sentences on verbs that do not apply."""


COUNTED = "it needs the rows, which were counted in cells; an exact audit keeps them (exact=True, --exact)"


@dataclass(frozen=True)
class Scores:
    """One probability per row and whether the event occurred: the rows sorted, or counted in cells of the score.

    `rows` are all of them or a random sample, `means` the summaries of mean scores, needed for a sample.
    """

    summary: Ordered | Grid
    rows: Binary
    means: Mapping[str, Summary]
    complete: bool

    @classmethod
    def of(cls, facts: Facts) -> Self:
        return cls(facts.of_all(SCORES, Ordered.of), facts.rows, facts.counted or {}, facts.complete)

    @property
    def pooled(self) -> bool:
        return isinstance(self.summary, Grid)

    @cached_property
    def ordered(self) -> Ordered:
        return self.summary.ordered() if isinstance(self.summary, Grid) else self.summary

    def result(self, entry: Entry[Any, Any]) -> Any:
        """Return the result of a verb with the options of an audit; refuse one that needs more than is known."""
        chosen = audit_options(entry, self.rows)
        needs_rows = entry is SKCE_TEST if not self.complete else bool(chosen) or entry.reads[0] is not Ordered
        if needs_rows:
            return entry.of_rows(self.rows, entry.parse(chosen))
        summary = self.means.get(entry.name, self.summary)
        if isinstance(summary, Grid) and not entry.on_grid(entry.usual):
            raise NotApplicableError(COUNTED)
        return entry.finish(summary, entry.usual)

    def rounding(self, entry: Entry[Any, Any]) -> float | Mapping[str, float]:
        """Return by how much the result of a verb may differ from that of the rows."""
        if not self.pooled or entry in MEANS or not entry.on_grid(entry.usual):
            return 0.0
        return entry.rounding(self.summary, entry.usual)


def count_scores(rows: Binary, *, exact: bool) -> dict[str, Summary]:
    scores = Ordered.of(rows) if exact else Grid.of(rows)
    return {SCORES: scores, **{entry.name: entry.summarise(rows, entry.usual) for entry in MEANS}}


FIRST: tuple[Entry[Any, Any], ...] = (
    CUTOFF_ERROR,
    ECE,
    DIRECTION,
    KUIPER_TEST,
    KOLMOGOROV_SMIRNOV_TEST,
    SPIEGELHALTER_TEST,
    SKCE_TEST,
    MMCE,
    BRIER_SCORE,
    DECOMPOSE,
    LOG_SCORE,
)
"""The measurements of one probability per row; those that were entered from elsewhere follow."""


def cutoff_limits(scores: Scores) -> Limits:
    """Return the limits of the cutoff error; without any, those of its range."""
    summary = scores.summary
    try:
        limits: Limits = CUTOFF_ERROR.limits(summary, CUTOFF_ERROR.usual)  # type: ignore[misc]
    except NotApplicableError as reason:
        estimate = CUTOFF_ERROR.finish(summary, CUTOFF_ERROR.usual)
        return Limits(estimate, lambda rate: 0.0, lambda rate: 1.0, f"no limits: {reason}")
    return limits


def measure(scores: Scores, setting: Setting) -> Collected:
    marked = [entry for entry in ENTRIES.values() if entry.audit and "binary" in entry.predictions]
    entries = [*FIRST, *(entry for entry in marked if entry not in FIRST)]
    sorted_ones = [entry for entry in entries if Ordered in entry.reads]
    redrawn, how = redrawn_metrics(scores.ordered, sorted_ones, resamples=setting.resamples, rng=setting.rng)
    found, missing = collected(entries, scores.result, redrawn, how)
    lines = [_with_limits(_with_rounding(line, scores), scores, setting.level) for line in found]
    refused = [reason for _, reason in lines if reason][:1]  # of several errors it is the same
    return tuple(line for line, _ in lines), (*missing, *refused)


def collected(
    entries: list[Entry[Any, Any]],
    result: Callable[[Entry[Any, Any]], Any],
    redrawn: Mapping[str, Redrawn] | None = None,
    how: str = "",
) -> Collected:
    found: list[Measurement] = []
    missing = []
    for entry in entries:
        try:
            found += _measured(entry, result(entry), redrawn or {}, how)
        except NotApplicableError as reason:
            missing.append(f"{entry.name} does not apply: {reason}.")
    return tuple(found), tuple(missing)


@dataclass(frozen=True)
class Redrawn:
    """The mean of a metric over the redraws, and the p-value of its observed value."""

    expected: float
    pvalue: float


def redrawn_metrics(
    summary: Ordered, entries: Sequence[Entry[Any, Any]], *, resamples: int, rng: np.random.Generator
) -> tuple[dict[str, Redrawn], str]:
    """Return expectation and p-value of each number that grows with miscalibration, and how they were found.

    More than 1,000 entries are pooled into cells: mass bins that are also cut at the edges of the bins of `ece`, which
    leaves the errors of those bins as they are. The observed value is then taken on the cells too.
    """
    cells = summary.at_most(MAX_ENTRIES_REDRAWN, width_bins=ECE.defaults["bins"])
    how = f"{resamples} redraws of the outcomes" + ("" if cells is summary else f" on {cells.score.size:,} cells")
    observed = _growing(entries, cells, cells.events[None])
    pieces = [
        _growing(entries, cells, drawn.astype(np.int64, order="C"))
        for drawn in redraw_events(cells.pool, resamples, rng)
    ]
    found = {}
    for name, (value,) in observed.items():
        redrawn = np.concatenate([piece[name] for piece in pieces])
        extreme = np.count_nonzero(reaches(redrawn, value))
        found[name] = Redrawn(float(redrawn.mean()), float(resampled_pvalue(extreme, resamples)))
    return found, how


def _growing(entries: Sequence[Entry[Any, Any]], cells: Ordered, events: NDArray[Any]) -> dict[str, FloatArray]:
    found: dict[str, FloatArray] = {}
    for entry in entries:
        names = [name for name, shown in entry.audit.items() if shown.grows]
        if entry.name == "mmce":
            found["mmce"] = mmce_of_events(cells, events)
        elif entry.name == "decompose":
            found["decompose.mcb"] = mcb_of_events(cells, events)
        elif entry.name == "ece":
            found["ece"] = np.abs(_parts_by_bin(cells, events)).sum(axis=1)
        elif entry.name == "direction":
            part = _parts_by_bin(cells, events)
            found["direction.over"] = np.maximum(-part, 0).sum(axis=1)
            found["direction.under"] = np.maximum(part, 0).sum(axis=1)
        elif names:
            results = [entry.finish(replace(cells, events=row), entry.usual) for row in events]
            found |= {_key(entry, name): np.array([_field(result, name) for result in results]) for name in names}
    return found


def _parts_by_bin(cells: Ordered, events: NDArray[Any]) -> FloatArray:
    """Return f (ȳ - p̄) of each bin of `ece` for each replicate: the parts of the error and of the bias."""
    starts = cells.bin_starts(width_edges(ECE.defaults["bins"]))
    filled = starts[:-1][np.diff(starts) > 0]
    residuals = cells.weight * (events - cells.count * cells.score)
    return np.asarray(np.add.reduceat(residuals, filled, axis=1) / cells.total_weight)


def _with_limits(line: Measurement, scores: Scores, level: float) -> tuple[Measurement, str]:
    """Add confidence limits to a measurement whose verb brings them, or say why these rows have none."""
    verb, _, field = line.name.partition(".")
    entry, summary = find(verb), scores.summary
    if entry in MEANS and scores.complete:
        return replace(line, interval=_limits_of_mean(mean_limits(entry, scores.rows, entry.usual, level))), ""
    if field or entry.limits is None or not isinstance(summary, entry.reads):
        return line, ""
    try:
        return replace(line, interval=entry.limits(summary, entry.usual).at(level, "both")), ""
    except NotApplicableError as reason:
        return line, f"Some errors are shown without confidence limits: {reason}."


def mean_limits(entry: Entry[Any, Any], rows: Any, options: Any, level: float) -> ConfidenceInterval | None:
    try:
        return mean_interval(entry, rows, options, level)
    except NotApplicableError:
        return None


def _limits_of_mean(found: ConfidenceInterval | None) -> tuple[float, float] | None:
    return None if found is None else (float(np.ravel(found.low)[0]), float(np.ravel(found.high)[0]))


def _with_rounding(line: Measurement, scores: Scores) -> Measurement:
    """Add to a measurement of cells by how much it may differ from that of the rows."""
    verb, _, field = line.name.partition(".")
    bounds = scores.rounding(find(verb))
    bound = bounds.get(field or "estimate", 0.0) if isinstance(bounds, Mapping) else bounds
    if not bound:
        return line
    words = f"rows counted in cells: off by at most {bound:.2g}"
    method = "; ".join(filter(None, [line.method, words])) if "rounding" not in line.details else line.method
    return replace(line, method=method, details={**line.details, "rounding": bound})


def _measured(entry: Entry[Any, Any], result: Any, redrawn: Mapping[str, Redrawn], how: str) -> list[Measurement]:
    if isinstance(result, TestResult):
        numbers = {name: float(value) for name, value in result.details.items() if isinstance(value, (int, float))}
        details = {"statistic": result.statistic, **numbers}
        given = {"pvalue": result.pvalue, "method": result.method, "details": details}
        return [Measurement(entry.name, entry.audit[""].label, result.estimate, **given)]
    found = []
    for name, shown in entry.audit.items():
        null = redrawn.get(_key(entry, name))
        given = {} if null is None else {"expected": null.expected, "pvalue": null.pvalue, "method": how}
        found.append(Measurement(_key(entry, name), shown.label, float(_field(result, name)), **given))
    return found


def _key(entry: Entry[Any, Any], name: str) -> str:
    return f"{entry.name}.{name}" if name else entry.name


def _field(result: Any, name: str) -> Any:
    return getattr(result, name) if name else result


def audit_options(entry: Entry[Any, Any], rows: AnyRows) -> Mapping[str, Any]:
    return kernel_options(rows) if entry is SKCE_TEST else {}


def of_rows(verb: Callable[..., Any], rows: AnyRows, **options: Any) -> Any:
    entry = find(verb)
    return entry.of_rows(rows, entry.parse(options))


def score(
    verb: Callable[..., Any], label: str, rows: RegionRows | DistributionRows, setting: Setting, **options: Any
) -> Collected:
    """Return the mean score of one level, or a sentence if the verb does not apply."""
    entry = find(verb)
    completed = entry.parse(options)
    found = mean_limits(entry, rows, completed, setting.level)
    try:
        estimate = entry.of_rows(rows, completed) if found is None else found.estimate
    except NotApplicableError as reason:
        return (), (f"{verb.__name__} does not apply: {reason}.",)
    method = "" if found is None else found.method
    line = Measurement(entry.name, label, float(np.ravel(estimate)[0]), interval=_limits_of_mean(found), method=method)
    return (line,), ()


def score_parts(label: str, parts: Any, method: str = "") -> tuple[Measurement, ...]:
    """Return the parts of a score, of which `label` says what they belong to."""
    words = {"mcb": "miscalibration", "dsc": "discrimination"}
    return tuple(
        Measurement(f"decompose.{name}", label.format(word), float(np.ravel(getattr(parts, name))[0]), method=method)
        for name, word in words.items()
    )


def sampled(facts: Facts, counted: str) -> list[Note]:
    return [] if facts.complete else [note("sampled rows", counted=counted, n=facts.n, some=facts.rows.n)]


def kernel_test(rows: RegionRows | DistributionRows, setting: Setting, *, finite: bool = True) -> Collected:
    """Return the kernel test of coverage or of distributions; it needs two rows, two draws and finite bounds."""
    if not finite:
        return (), ("skce_test does not apply: it measures distances, and some are infinite.",)
    samples = rows.samples
    if rows.n < 2 or (samples is not None and samples.M < 2):
        return (), ()
    is_slow = samples is not None and rows.n * samples.draws.size > MAX_DRAWS_COMPARED
    chosen = {**(in_blocks(rows.n) if is_slow else kernel_options(rows)), "resamples": setting.resamples}
    found, missing = collected([SKCE_TEST], lambda entry: entry.of_rows(rows, entry.parse(chosen)))
    return tuple(replace(m, label="kernel calibration error (SKCE)") for m in found), missing
