"""Which words does `explain` find for which errors? Constructed errors, the words said, those required and forbidden.

    python -m benchmarks.validity.explain [--quick] [--state FILE] [--processes 2]

A run can be interrupted and resumed. `--quick` makes few repeats to see that everything runs; nothing of it is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, in_parts, run, together
from benchmarks.validity.explain_designs import ERRORS, EVERYTHING, NO_BETTER, NONE, RELATION, words_of

import calibrant as cb

PROCEDURE = "explain"
SIZES = ((200, 99), (1000, 99), (1000, 20))
SEED = 20261118  # these data sets are not those that the rules of `explain` were set on
SEEDS, QUICK_SEEDS = 100, 2
PART = 10  # data sets that are lost when a run is interrupted
REQUIRED, FORBIDDEN = 0.9, 0.1
FEW_DRAWS, MANY_ROWS = 20, 1000
SAID, BAD = "required word", "forbidden word"


def plan(*, quick: bool) -> list[Cell]:
    """Return the parts of all cells; the number of draws is the truth of a cell."""
    repeats = QUICK_SEEDS if quick else SEEDS
    cells = [Cell(PROCEDURE, name, n, f"M = {M}", repeats) for name in ERRORS for n, M in SIZES]
    return in_parts(cells, PART)


def measure(cell: Cell) -> Counts:
    """Count the words that are said of the data sets of one cell."""
    rng, total, error = cell.rng(SEED), Counter[str](), ERRORS[cell.design]
    for _ in range(cell.repeats):
        y, draws, x = error.draw(rng, cell.n, int(cell.truth.removeprefix("M = ")))
        words = words_of(cb.explain(y, cb.Samples(draws)).claims)
        if error.asks is not None:
            words |= error.asks(y, draws, x)
        total.update(words)
        total[SAID] += any(way <= words for way in error.ways)
        total[BAD] += bool(words & error.forbidden)
    return dict(total)


def is_judged(cell: Cell) -> bool:
    """Tell whether the required word must be found in this cell."""
    few = cell.truth == f"M = {FEW_DRAWS}"
    return cell.n >= MANY_ROWS and (ERRORS[cell.design].few_draws or not few)


def show(report: Report, found: Mapping[Cell, Counts]) -> None:
    """Print a line per error and size."""
    more = (RELATION, NO_BETTER)
    shown = [word for word in (NONE, *sorted(EVERYTHING), *more) if any(counts.get(word) for counts in found.values())]
    rows = []
    for cell, counts in found.items():
        said, bad = (counts.get(name, 0) / cell.repeats for name in (SAID, BAD))
        # calibrated sets are rejected at the level of the test, 0.05
        right = (said >= REQUIRED or not is_judged(cell)) and bad <= FORBIDDEN
        each = [f"{counts.get(word, 0) / cell.repeats:.2f}".replace("0.00", "") for word in shown]
        line = [cell.design, f"{cell.n:,}", cell.truth.removeprefix("M = "), f"{said:.2f}", f"{bad:.2f}"]
        rows.append([*line, report.mark(right), *each])
    report.section("Share of data sets of which each word is said")
    report.table(["error", "n", "M", "required", "forbidden", "", *shown], rows)


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    parts = run(measure, cells, state, processes=processes)
    found = together(parts)
    report = Report("Words of explain on constructed errors", packages=["numpy", "scipy"])
    report.say()
    report.say("Required and forbidden words of each error:")
    for name, error in ERRORS.items():
        ways = " or ".join(" and ".join(sorted(way)) for way in error.ways)
        report.say(f"{name + ':':<22}{ways}; not {', '.join(sorted(error.forbidden))}")
    report.say(f"PASS: required at least {REQUIRED:g} with {MANY_ROWS:,} rows (skew among {FEW_DRAWS} draws excepted),")
    report.say(f"forbidden at most {FORBIDDEN:g}. {SEEDS} data sets each, other than those that the rules were set on.")
    if len(parts) < len(cells):
        report.say(f"Not finished: {len(parts):,} of {len(cells):,} parts.")
    order = [(name, n, f"M = {M}") for name in ERRORS for n, M in SIZES]
    show(report, dict(sorted(found.items(), key=lambda item: order.index((item[0].design, item[0].n, item[0].truth)))))
    report.say()
    report.say(f"{len(found)} cells of {len({cell.design for cell in found})} errors; {report.failures} targets missed")
    return report


if __name__ == "__main__":
    raise SystemExit(command("explain", "Words of explain on constructed errors.", plan, simulate))
