"""Maps of groups: do they help new rows, and are limits of what they gain over the common map right?

    python -m benchmarks.validity.group_maps [--quick] [--state FILE] [--processes 2]

"score" compares the common map, separate maps (the common one where the fit is refused) and shrunk maps by the true log
score of new rows. "limits" counts how often `recalibration_gain(baseline="common")` issues limits, how often these miss
the true gain of the maps fitted on all rows, and how often a gain is claimed. "page" counts the same of whole audits.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, run
from numpy.typing import NDArray
from scipy.special import expit, logit

from calibrant import audit, recalibrate, recalibration_gain
from calibrant.errors import CalibrantError
from calibrant.results import Recalibration

Floats = NDArray[np.float64]
SIZES = {
    "30 to 3,000": (30, 60, 120, 250, 500, 1000, 3000),
    "2 of 500": (500, 500),
    "3,000, 30, 30": (3000, 30, 30),
    "100 of 30": (30,) * 100,
    "30 to 1,000": (30, 100, 300, 1000),
    "40 of 30": (30,) * 40,
}
TRUTHS = ("calibrated", "one map", "intercepts differ", "maps differ", "one differs")
MAPS = ("common", "separate", "shrunk")
SETS, PAGES, NEW = 200, 150, 400  # data sets of a cell, audits of a cell, new rows of each group


class Drawn(NamedTuple):
    """Outcomes, predictions and groups, and new predictions with their true probabilities, as many in each group."""

    y: NDArray[np.intp]
    p: Floats
    group: NDArray[np.intp]
    new: Floats
    truth: Floats
    new_group: NDArray[np.intp]
    share: Floats  # of each new row, with groups as frequent as in the data

    def gain(self, before: Floats, after: Floats) -> Floats:
        """Return the true gain in the log score of each new row."""
        q = self.truth
        return q * np.log(after / before) + (1 - q) * np.log((1 - after) / (1 - before))


def drawn(cell: Cell, rng: np.random.Generator) -> Drawn:
    """Draw groups whose scores have logits N(m, 1.2²), m ~ N(0, 0.5²), and whose truth is expit(a + s logit p)."""
    sizes = SIZES[cell.design]
    G = len(sizes)
    a, s = (np.zeros(G), np.ones(G)) if cell.truth == "calibrated" else (np.full(G, 0.3), np.full(G, 0.7))
    if cell.truth == "intercepts differ":
        a = a + rng.normal(0, 0.3, G)
    elif cell.truth == "maps differ":
        a, s = a + rng.normal(0, 0.5, G), s * np.exp(rng.normal(0, 0.25, G))
    elif cell.truth == "one differs":
        a[rng.integers(G)] += 1
    middle = rng.normal(0, 0.5, G)
    group, new_group = np.repeat(np.arange(G), sizes), np.repeat(np.arange(G), NEW)
    p, new = (expit(middle[g] + 1.2 * rng.normal(size=g.size)) for g in (group, new_group))
    y = (rng.random(group.size) < expit(a[group] + s[group] * logit(p))).astype(np.intp)
    share = np.repeat(np.array(sizes) / (NEW * sum(sizes)), NEW)
    return Drawn(y, p, group, new, expit(a[new_group] + s[new_group] * logit(new)), new_group, share)


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells."""
    of_scores = [(d, t) for t in TRUTHS[1:] for d in ("30 to 3,000", "2 of 500", "3,000, 30, 30", "100 of 30")]
    of_limits = [(d, t) for t in TRUTHS for d in ("30 to 1,000", "2 of 500", "40 of 30")]
    of_pages = [(d, t) for t in ("calibrated", "one map", "one differs") for d in ("30 to 1,000", "2 of 500")]
    kinds = {"score": (of_scores, SETS), "limits": (of_limits, SETS), "page": (of_pages, PAGES)}
    return [
        Cell(kind, d, sum(SIZES[d]), t, 3 if quick else sets) for kind, (pairs, sets) in kinds.items() for d, t in pairs
    ]


def measure(cell: Cell) -> Counts:
    """Measure one cell."""
    rng, total = cell.rng(), Counter[str]()
    with warnings.catch_warnings(action="ignore"):
        for _ in range(cell.repeats):
            {"score": add_scores, "limits": add_limits, "page": add_page}[cell.procedure](drawn(cell, rng), total)
    return dict(total)


def fitted(data: Drawn) -> Recalibration:
    """Return the maps of groups."""
    return recalibrate(data.y, data.p, method="logistic", groups=data.group)


def add_scores(data: Drawn, total: Counter[str]) -> None:
    """Add the gain of each kind of map, in all rows and by the size of groups."""
    shrunk = fitted(data)
    common = recalibrate(data.y, data.p, method="logistic").apply(data.new)
    separate = common.copy()
    for g in np.unique(data.group):
        rows = data.group == g
        try:
            own = recalibrate(data.y[rows], data.p[rows], method="logistic")
            separate[data.new_group == g] = own.apply(data.new[data.new_group == g])
        except CalibrantError:
            total["refused"] += 1
    sizes = np.bincount(data.group)
    for name, after in zip(MAPS, (common, separate, shrunk.apply(data.new, groups=data.new_group)), strict=True):
        gain = data.gain(data.new, np.clip(after, 1e-12, 1 - 1e-12))
        total[f"{name} all"] += float(data.share @ gain)
        for size in np.unique(sizes):
            there = sizes[data.new_group] == size
            total[f"{name} {size}"] += float(gain[there].mean())
    total["sets"] += 1


def add_limits(data: Drawn, total: Counter[str]) -> None:
    """Count limits that are issued, that miss the true gain over the common map, and claims of a gain."""
    found = recalibration_gain(data.y, data.p, method="logistic", groups=data.group, baseline="common")
    shrunk = fitted(data)
    assert shrunk.common is not None
    gain = data.gain(shrunk.common.apply(data.new), shrunk.apply(data.new, groups=data.new_group))
    _count(total, "all", found.low, found.high, float(data.share @ gain))
    for g, one in enumerate(found.by_group):
        _count(total, "groups", one.low, one.high, float(gain[data.new_group == g].mean()))


def _count(total: Counter[str], what: str, low: float, high: float, true: float) -> None:
    total[f"{what} of"] += 1
    if math.isfinite(low):
        near = 1e-12
        seen = {"issued": True, "below": true < low - near, "above": true > high + near, "claims": low > 0}
        total.update({f"{what} {name}": int(value) for name, value in {**seen, "false": low > 0 >= true}.items()})
    total[f"{what} gain"] += true


def add_page(data: Drawn, total: Counter[str]) -> None:
    """Count what an audit with groups claims on maps of groups."""
    result: Any = audit(data.y, data.p, groups={"g": data.group}, resamples=99)
    shrunk = fitted(data)
    assert shrunk.common is not None
    true = float(data.share @ data.gain(shrunk.common.apply(data.new), shrunk.apply(data.new, groups=data.new_group)))
    total["pages"] += 1
    for claim in result.verdict.claims:
        if claim.quantity == "recalibration_gain" and claim.subject.kind == "covariates":
            total.update({"claims": 1, "helps": int(claim.kind == "gain"), "false": int(claim.is_false(true))})


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    found = run(measure, cells, state, processes=processes)
    report = Report("Maps of groups", packages=["numpy", "scipy"])
    report.say()
    report.say("Scores of a group: logits N(m, 1.2²), m ~ N(0, 0.5²). Truth: expit(a + s logit p); one map: 0.3, 0.7;")
    report.say("intercepts differ by N(0, 0.3²), maps by N(0, 0.5²) and s lognormal (0.25), one: a larger by 1.")
    report.section("True gain in the log score of new rows over the predictions, in thousandths, by size of the group")
    for cell, counts in found.items():
        if cell.procedure == "score":
            keys = [key.removeprefix("shrunk ") for key in counts if key.startswith("shrunk ")]
            lines = [[m, *(f"{1000 * counts[f'{m} {k}'] / counts['sets']:.2f}" for k in keys)] for m in MAPS]
            report.say()
            report.say(f"{cell.truth}; groups of {cell.design}; {counts['sets']:.0f} sets")
            report.table(["map", *keys], lines)
    report.section('Limits of the gain over the common map (95 %), and claims of a gain; "groups": of each group alone')
    heads = ["truth", "groups", "of", "sets", "true gain", "issued", "low too high", "high too low", "claimed", "false"]
    report.table(heads, [line for cell, counts in found.items() for line in _limit_lines(cell, counts)])
    report.section("Pages: audits with groups, claims on maps of groups (99 %), made where a group is off")
    report.table(
        ["truth", "groups", "pages", "claims", "maps of groups help", "false"],
        [
            [c.truth, c.design, *(f"{counts.get(k, 0):.0f}" for k in ("pages", "claims", "helps", "false"))]
            for c, counts in found.items()
            if c.procedure == "page"
        ],
    )
    return report


def _limit_lines(cell: Cell, counts: Counts) -> list[list[str]]:
    if cell.procedure != "limits":
        return []
    lines = []
    for what in ("all", "groups"):
        number, issued = counts[f"{what} of"], counts.get(f"{what} issued", 0)
        shares = [counts.get(f"{what} {key}", 0) / max(issued, 1) for key in ("below", "above", "claims", "false")]
        gain = f"{1000 * counts[f'{what} gain'] / number:.2f}"
        words = [f"{issued / number:.2f}", *(f"{share:.3f}" for share in shares)]
        lines.append([cell.truth, cell.design, what, f"{number:.0f}", gain, *words])
    return lines


if __name__ == "__main__":
    raise SystemExit(command("group_maps", "Maps of groups.", plan, simulate))
