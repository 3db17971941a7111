"""How often do audits ask whether neighbouring rows belong together, where they do and where they do not?

    python -m benchmarks.validity.row_order [--quick] [--state FILE] [--processes 2]

The predictions of all rows are right. The places of the outcomes in their predictive distributions are uniform, and
independent, a series, or alike in runs of rows: only their order is to be noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, run
from benchmarks.validity.samples import Rate
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import poisson

import calibrant as cb
from calibrant.core.row_order import ASKED_BELOW, questions_on_row_order
from calibrant.inputs.kinds import AUDITED, KINDS, read

Rng = np.random.Generator
Floats = NDArray[np.float64]
Data = tuple[Any, Any]  # outcomes and predictions

PROCEDURE = "row order"
NULL_SETS, OTHER_SETS, QUICK_SETS = 2000, 200, 2
INDEPENDENT, SERIES, RUNS = "independent", "series, correlation 0.5", "runs of 20"
RUN, RUN_SHIFT, MEMORY = 20, 0.8, 0.5
LEVELS, TAUS, CLASSES, DRAWS = [0.5, 0.9], [0.1, 0.25, 0.5, 0.75, 0.9], 4, 49


def places(rng: Rng, n: int, truth: str) -> Floats:
    """Return u, uniform on [0, 1] in each row.

    In runs u = F(z), z normal around +0.8 or -0.8, one of the two for each run, and F their distribution function.
    Central intervals miss as often in one as in the other, so that their misses stay independent.
    """
    z = rng.normal(size=n)
    if truth == INDEPENDENT:
        return ndtr(z)
    if truth == SERIES:
        for i in range(1, n):
            z[i] = MEMORY * z[i - 1] + np.sqrt(1 - MEMORY**2) * z[i]
        return ndtr(z)
    z += np.repeat(rng.choice([-RUN_SHIFT, RUN_SHIFT], -(-n // RUN)), RUN)[:n]
    return np.asarray(ndtr(z - RUN_SHIFT) / 2 + ndtr(z + RUN_SHIFT) / 2)


def events(rng: Rng, u: Floats) -> Data:
    p = rng.uniform(0.05, 0.95, u.size)
    return (u < p).astype(int), p


def classes(rng: Rng, u: Floats) -> Data:
    """Return class vectors; the most probable class happens where u is small."""
    P = rng.dirichlet(np.ones(CLASSES), u.size)
    order = np.argsort(-P, axis=1)
    place = (np.cumsum(np.take_along_axis(P, order, axis=1), axis=1) < u[:, None]).sum(axis=1)
    return order[np.arange(u.size), np.minimum(place, CLASSES - 1)], P


def place_and_spread(rng: Rng, n: int) -> tuple[Floats, Floats]:
    return rng.normal(size=n), np.exp(0.3 * rng.normal(size=n))


def intervals(rng: Rng, u: Floats) -> Data:
    m, s = place_and_spread(rng, u.size)
    reach = s[:, None] * ndtri(0.5 + np.array(LEVELS) / 2)
    return m + s * ndtri(u), cb.Intervals(m[:, None] - reach, m[:, None] + reach, LEVELS)


def quantiles(rng: Rng, u: Floats) -> Data:
    m, s = place_and_spread(rng, u.size)
    return m + s * ndtri(u), cb.Quantiles(m[:, None] + s[:, None] * ndtri(np.array(TAUS)), TAUS)


def normals(rng: Rng, u: Floats) -> Data:
    m, s = place_and_spread(rng, u.size)
    return m + s * ndtri(u), cb.Normal(m, s)


def laplaces(rng: Rng, u: Floats) -> Data:
    m, s = place_and_spread(rng, u.size)
    return m - s * np.sign(u - 0.5) * np.log1p(-2 * np.abs(u - 0.5)), cb.Laplace(m, s)


def mixtures(rng: Rng, u: Floats) -> Data:
    """Return mixtures of normals 3 sd apart; chance draws the component, and u the place in it."""
    m, s = place_and_spread(rng, u.size)
    second = rng.random(u.size) < 0.3
    return m + 3 * s * second + s * ndtri(u), cb.Mixture([cb.Normal(m, s), cb.Normal(m + 3 * s, s)], [0.7, 0.3])


def counts(rng: Rng, u: Floats) -> Data:
    rate = rng.gamma(2.0, 1.0, u.size)
    return poisson.ppf(u, rate), cb.ScipyDistribution(poisson(rate))


def draws(rng: Rng, u: Floats) -> Data:
    m, s = place_and_spread(rng, u.size)
    return m + s * ndtri(u), cb.Samples(m[:, None] + s[:, None] * rng.normal(size=(u.size, DRAWS)))


def drawn_counts(rng: Rng, u: Floats) -> Data:
    rate = rng.gamma(2.0, 1.0, u.size)
    return poisson.ppf(u, rate), cb.Samples(rng.poisson(rate[:, None], (u.size, DRAWS)))


def drawn_vectors(rng: Rng, u: Floats) -> Data:
    """Return draws of three coordinates, of which the outcomes of one alone depend on each other."""
    y = np.column_stack([ndtri(u), rng.normal(size=(u.size, 2))])
    return y, cb.Samples(rng.normal(size=(u.size, DRAWS, 3)))


DESIGNS: dict[str, Callable[[Rng, Floats], Data]] = {
    "probabilities of an event": events,
    "class probabilities": classes,
    "intervals": intervals,
    "quantiles": quantiles,
    "normal distributions": normals,
    "Laplace distributions": laplaces,
    "mixtures": mixtures,
    "distributions of counts": counts,
    "draws": draws,
    "draws of counts": drawn_counts,
    "draws of three coordinates": drawn_vectors,
}


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells: independent rows with few and with many rows, and the others."""
    cells = []
    for design in DESIGNS:
        for n in (100, 1000):
            cells.append(Cell(PROCEDURE, design, n, INDEPENDENT, QUICK_SETS if quick else NULL_SETS))
        for truth in (SERIES, RUNS):
            cells.append(Cell(PROCEDURE, design, 500, truth, QUICK_SETS if quick else OTHER_SETS))
    return cells


def measure(cell: Cell) -> Counts:
    """Count in how many data sets of one cell the audit asks whether neighbouring rows belong together."""
    rng, asked = cell.rng(), 0
    for _ in range(cell.repeats):
        rows = read("audit", AUDITED, *DESIGNS[cell.design](rng, places(rng, cell.n, cell.truth)))
        asked += bool(questions_on_row_order(rows.y, KINDS[rows.kind].audited().errors(rows)))
    return {"asked": asked}


def show(report: Report, found: Mapping[Cell, Counts]) -> None:
    """Print a line per design."""
    sought = [(100, INDEPENDENT), (1000, INDEPENDENT), (500, SERIES), (500, RUNS)]
    rows = []
    for design in DESIGNS:
        cells = {
            (c.n, c.truth): Rate(int(k["asked"]), c.repeats, ASKED_BELOW)
            for c, k in found.items()
            if c.design == design
        }
        rates = [
            cells[place] if place[1] == INDEPENDENT else cells[place]._replace(kind="shown")
            for place in sought
            if place in cells
        ]
        for rate in rates:
            report.failures += rate.fails()
        rows.append([design, *(rate.shown() for rate in rates)])
    report.table(["rows in which errors are", *(f"{truth}, n = {n:,}" for n, truth in sought)], rows)


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    found = run(measure, cells, state, processes=processes)
    report = Report("Audits that ask whether neighbouring rows belong together", packages=["numpy", "scipy"])
    report.say()
    report.say(
        "Shares of data sets with their Monte Carlo standard error; predictions of all rows are right. Asked for"
    )
    report.say(f"of independent rows: at most {ASKED_BELOW:g}. FAIL: above its binomial range of 99.9 %.")
    show(report, found)
    report.say()
    report.say(f"{report.failures} targets not met")
    return report


if __name__ == "__main__":
    raise SystemExit(command("row_order", "Audits that ask whether neighbouring rows belong together.", plan, simulate))
