"""Do intervals of mean scores cover, and limits of their differences, where rare rows carry the mean?

    python -m benchmarks.validity.means [--quick] [--state FILE] [--processes 2]

No method covers the mean of an unbounded score whatever the distribution. calibrant refuses means of which a few rows
decide. What counts is the share of data sets with limits that are issued and wrong. Student's interval without the
guard stands beside it. A run can be interrupted and resumed. `--quick` makes few repeats to see that everything runs;
nothing of it is kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, run
from benchmarks.validity.claim_designs import drawn_labels
from benchmarks.validity.limits import LEAST, RATE, allowed
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import stdtrit
from scipy.stats import norm, poisson, t

import calibrant as cb
from calibrant import Intervals, Normal, Quantiles, Samples
from calibrant.errors import NotApplicableError

FloatArray = NDArray[np.float64]
Rng = np.random.Generator
ROWS = (100, 400, 2000)
REPEATS = 2000
RARE, FAR, TINY = 0.002, 1000.0, 1e-12  # share of rare rows; how far an outlier is; a probability that is nearly 0
HEAVY = t(2.5)
MEAN, DIFFERENCE = "interval", "compare_predictions"


class Data(NamedTuple):
    """Outcomes, one prediction or two, the true mean score or difference of means, and options."""

    y: NDArray[Any]
    predictions: tuple[Any, ...]
    true: float
    options: Mapping[str, Any] = MappingProxyType({})


Draw = Callable[[Rng, int], Data]

# Outcomes: normal, with rare outliers, with heavy tails


def with_outliers(rng: Rng, n: int) -> FloatArray:
    return np.where(rng.random(n) < RARE, FAR, rng.normal(size=n))


OUTCOMES: dict[str, Callable[[Rng, int], FloatArray]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "outliers": with_outliers,
    "t2.5": lambda rng, n: HEAVY.rvs(size=n, random_state=rng),
}


@cache
def expected(outcomes: str, score: Callable[[float], float]) -> float:
    """Return the mean of a score of the outcome, which has kinks at most where outcomes are common."""
    if outcomes == "outliers":
        return (1 - RARE) * expected("normal", score) + RARE * score(FAR)
    density = norm.pdf if outcomes == "normal" else HEAVY.pdf
    far = 12.0 if outcomes == "normal" else np.inf
    ends = (-far, -3.0, -HALF, 0.0, HALF, 3.0, far)
    parts = [quad(lambda x: score(x) * density(x), a, b, limit=200)[0] for a, b in pairwise(ends)]
    return float(sum(parts))


HALF, LEVEL = float(norm.ppf(0.9)), 0.8  # of the intervals


def crps_of_normal(y: float) -> float:
    return float(y * (2 * norm.cdf(y) - 1) + 2 * norm.pdf(y) - 1 / math.sqrt(math.pi))


def log_score_of_normal(y: float) -> float:
    return y * y / 2 + math.log(2 * math.pi) / 2


def score_of_interval(y: float) -> float:
    return 2 * HALF + 2 / (1 - LEVEL) * max(0.0, abs(y) - HALF)


def score_of_quantile(y: float) -> float:
    return (0.9 if y >= HALF else -0.1) * (y - HALF)


ONE: dict[str, tuple[Callable[[int], Any], Callable[[float], float]]] = {
    "crps": (lambda n: Normal(np.zeros(n), 1.0), crps_of_normal),
    "log_score": (lambda n: Normal(np.zeros(n), 1.0), log_score_of_normal),
    "interval_score": (lambda n: Intervals(np.full(n, -HALF), np.full(n, HALF), LEVEL), score_of_interval),
    "quantile_score": (lambda n: Quantiles(np.full((n, 1), HALF), (0.9,)), score_of_quantile),
}
"""A prediction that is the same for all rows, and its score."""


def continuous(metric: str, outcomes: str, *, weighted: bool = False) -> Draw:
    """Outcomes of which nothing is known."""

    def draw(rng: Rng, n: int) -> Data:
        prediction, score = ONE[metric]
        options = {"weights": rng.lognormal(size=n)} if weighted else {}
        return Data(OUTCOMES[outcomes](rng, n), (prediction(n),), expected(outcomes, score), options)

    return draw


def draws(outcomes: str) -> Draw:
    """20 draws of N(0, 1): their CRPS is that of N(0, 1) and E|X - X'|/40 more, by the spread of the draws."""

    def draw(rng: Rng, n: int) -> Data:
        true = expected(outcomes, crps_of_normal) + 1 / math.sqrt(math.pi) / 20
        return Data(OUTCOMES[outcomes](rng, n), (Samples(rng.normal(size=(n, 20))),), true)

    return draw


def near_zero(rng: Rng, n: int) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Calibrated probabilities of 0.05 to 0.95; 0.2 % of them become 1e-12, though half of these events happen."""
    q = rng.uniform(0.05, 0.95, n)
    rare = rng.random(n) < RARE
    q[rare] = 0.5
    return np.where(rare, TINY, q), q, (rng.random(n) < q).astype(np.int64)


def mean_log_score(p: FloatArray, q: FloatArray) -> float:
    """Return the mean log score of these probabilities if q are the true ones."""
    return float(-np.mean(q * np.log(p) + (1 - q) * np.log1p(-p)))


def log_score_near_zero(rng: Rng, n: int) -> Data:
    p, q, y = near_zero(rng, n)
    return Data(y, (p,), mean_log_score(p, q))


def rare_events(rng: Rng, n: int) -> Data:
    """Events of probability 0.01, whose Brier score a few rows carry."""
    return Data((rng.random(n) < 0.01).astype(np.int64), (np.full(n, 0.01),), 0.01 * 0.99)


TAUS, RATE_OF_COUNTS = (0.05, 0.25, 0.5, 0.75, 0.95), 2.0


def counts(rng: Rng, n: int) -> Data:
    """Exact quantiles of Poisson(2)."""
    q, k = poisson.ppf(TAUS, RATE_OF_COUNTS), np.arange(60)[:, None]
    loss = (np.asarray(TAUS) - (k < q)) * (k - q)
    true = float(2 * (poisson.pmf(k[:, 0], RATE_OF_COUNTS) @ loss).mean())
    return Data(rng.poisson(RATE_OF_COUNTS, n).astype(np.float64), (Quantiles(np.tile(q, (n, 1)), TAUS),), true)


# Two models


def far_off(rng: Rng, n: int, errors: str) -> Data:
    """One normal distribution is right; the mean of the other is off by `errors`."""
    y, off = rng.normal(size=n), OUTCOMES[errors](rng, n)
    return Data(y, (Normal(np.zeros(n), 1.0), Normal(off, 1.0)), -expected(errors, excess_of_mean))


def excess_of_mean(off: float) -> float:
    """Return how much the mean CRPS of N(off, 1) exceeds that of N(0, 1): E|X - Y| - E|X' - Y|, X - Y ~ N(off, 2)."""
    s = math.sqrt(2)
    return float(2 * s * norm.pdf(off / s) + off * (2 * norm.cdf(off / s) - 1)) - 2 / math.sqrt(math.pi)


def compared_near_zero(rng: Rng, n: int) -> Data:
    """The other model goes halfway to 0.5."""
    p, q, y = near_zero(rng, n)
    other = (q + 0.5) / 2
    return Data(y, (p, other), mean_log_score(p, q) - mean_log_score(other, q))


def series(rng: Rng, n: int) -> Data:
    """Errors of one day resemble those of the day before: AR(0.5). The mean of one model is off by 0.5."""
    e = rng.normal(size=n)
    for day in range(1, n):
        e[day] = 0.5 * e[day - 1] + math.sqrt(0.75) * e[day]
    models = Normal(np.zeros(n), 1.0), Normal(np.full(n, 0.5), 1.0)
    return Data(e, models, -excess_of_mean(0.5), {"time": np.arange(n)})


def weighted_pair(rng: Rng, n: int) -> Data:
    """Probabilities that are right, and drawn halfway to 0.5, with lognormal weights."""
    p = rng.random(n)
    other = (p + 0.5) / 2
    options = {"weights": rng.lognormal(size=n)}
    return Data((rng.random(n) < p).astype(np.int64), (p, other), -1 / 48, options)  # E(p - other)² = Var(p)/4


def classes(K: int) -> Draw:
    """Class probabilities that are right, and halfway to equal ones; the difference is that of these rows."""

    def draw(rng: Rng, n: int) -> Data:
        P = rng.dirichlet(np.full(K, min(1.0, 10 / K)), n)
        P /= P.sum(axis=1, keepdims=True)
        other = P / 2 + 1 / (2 * K)
        return Data(drawn_labels(rng, P), (P, other), -float(((P - other) ** 2).sum(axis=1).mean()))

    return draw


class Design(NamedTuple):
    """How data are drawn, by which metric they are judged, and on how many rows."""

    metric: str
    draw: Draw
    rows: tuple[int, ...] = ROWS


MEANS: dict[str, Design] = {
    **{
        f"{metric}, {outcomes}": Design(metric, continuous(metric, outcomes)) for metric in ONE for outcomes in OUTCOMES
    },
    **{f"crps of 20 draws, {outcomes}": Design("crps", draws(outcomes)) for outcomes in OUTCOMES},
    "crps, normal, lognormal weights": Design("crps", continuous("crps", "normal", weighted=True)),
    "crps, t2.5, lognormal weights": Design("crps", continuous("crps", "t2.5", weighted=True)),
    "log_score, some at 1e-12": Design("log_score", log_score_near_zero),
    "brier_score, rare events": Design("brier_score", rare_events),
    "weighted_interval_score, counts": Design("weighted_interval_score", counts),
}
DIFFERENCES: dict[str, Design] = {
    **{
        f"crps, means off by {errors}": Design("crps", lambda rng, n, errors=errors: far_off(rng, n, errors))
        for errors in OUTCOMES
    },
    "log_score, some at 1e-12": Design("log_score", compared_near_zero),
    "brier_score, lognormal weights": Design("brier_score", weighted_pair),
    "brier_score, 3 classes": Design("brier_score", classes(3)),
    "brier_score, 300 classes": Design("brier_score", classes(300), (400,)),
    "crps, a series": Design("crps", series),
}
DESIGNS = {MEAN: MEANS, DIFFERENCE: DIFFERENCES}


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells."""
    repeats = 20 if quick else REPEATS
    return [
        Cell(procedure, name, n, design.metric, repeats)
        for procedure, designs in DESIGNS.items()
        for name, design in designs.items()
        for n in design.rows
    ]


def measure(cell: Cell) -> Counts:
    """Count the limits that are issued and those that miss, with the guard and without it."""
    rng, total = cell.rng(), Counter()
    metric, draw, _ = DESIGNS[cell.procedure][cell.design]
    for _ in range(cell.repeats):
        data = draw(rng, cell.n)
        total["unguarded"] += int(not unguarded(metric, data))
        try:
            low, high = limits_of(cell.procedure, metric, data)
        except NotApplicableError:
            continue
        total.update({"issued": 1, "wrong": int(not low <= data.true <= high)})
    return dict(total)


def limits_of(procedure: str, metric: str, data: Data) -> tuple[float, float]:
    """Return the limits of a mean or of a difference of means."""
    if procedure == MEAN:
        found = cb.interval(metric, data.y, *data.predictions, level=1 - RATE, **data.options)
        return float(np.squeeze(found.low)), float(np.squeeze(found.high))
    pair = cb.compare_predictions(data.y, data.predictions, metric=metric, level=1 - RATE, **data.options).pairs[0]
    return pair.low, pair.high


def unguarded(metric: str, data: Data) -> bool:
    """Tell whether Student's interval covers the true mean; rows are taken as independent."""
    scores = [np.ravel(cb.per_row(metric, data.y, prediction)) for prediction in data.predictions]
    d = scores[0] - (scores[1] if len(scores) > 1 else 0.0)
    w = np.asarray(data.options.get("weights", np.ones(d.size)))
    mean, effective = np.average(d, weights=w), w.sum() ** 2 / (w**2).sum()
    s = math.sqrt(effective / (effective - 1) * ((w * (d - mean)) ** 2).sum()) / w.sum()
    return bool(abs(mean - data.true) <= stdtrit(effective - 1, 1 - RATE / 2) * s)


def knowable(cell: Cell) -> bool:
    """Tell whether outliers are among the rows often enough: no limits can allow for what the rows do not show."""
    return "outliers" not in cell.design or (1 - RARE) ** cell.n <= 1 - LEAST


def show(report: Report, found: Mapping[Cell, Counts], procedure: str, title: str) -> None:
    report.section(title)
    rows = []
    for cell, counted in found.items():
        if cell.procedure == procedure:
            issued, wrong = counted.get("issued", 0), counted.get("wrong", 0)
            of_issued = f"{wrong / issued:.3f}" if issued else "refused"
            mark = report.mark(wrong / cell.repeats <= allowed(cell.repeats)) if knowable(cell) else "unseen"
            shares = [f"{issued / cell.repeats:.3f}", of_issued, f"{wrong / cell.repeats:.3f}"]
            line = [cell.design, f"{cell.n:,}", *shares, mark, f"{counted['unguarded'] / cell.repeats:.3f}"]
            rows.append(line)
    report.table(["design", "n", "issued", "missed of these", "issued and wrong", "", "without the guard"], rows)


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    found = run(measure, cells, state, processes=processes)
    report = Report("Means of scores, and their differences", packages=["numpy", "scipy"])
    report.say()
    report.say(f"outliers: outcomes are N(0, 1), and {FAR:g} in {RARE:.1%} of the rows; t2.5: Student's t")
    report.say(f"some at 1e-12: {RARE:.1%} of the probabilities, though half of these events happen;")
    report.say("the true mean is that of these probabilities")
    report.say("brier_score, lognormal weights: p, and halfway to 0.5; classes: P, and halfway to equal ones")
    report.say("a series: AR(0.5), with time=")
    report.say(f"95 % limits, {cells[0].repeats:,} sets a cell. PASS: at most {1 - LEAST:.2f} are issued and wrong.")
    unseen = " and ".join(f"{(1 - RARE) ** n:.0%} of the sets of {n}" for n in ROWS[:2])
    report.say(f"unseen: {unseen} rows have no outlier, and nobody can know of it; not judged.")
    if len(found) < len(cells):
        report.say(f"Not finished: {len(found)} of {len(cells)} cells.")
    show(report, found, MEAN, "interval of mean scores")
    show(report, found, DIFFERENCE, "compare_predictions: differences of mean scores")
    report.say()
    report.say(f"{report.failures} limits do not cover")
    return report


if __name__ == "__main__":
    raise SystemExit(command("means", "Coverage of limits of mean scores.", plan, simulate))
