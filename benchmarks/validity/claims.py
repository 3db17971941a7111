"""How often does an audit say something false? Claims are compared with what is true of simulated data.

    python -m benchmarks.validity.claims [--quick] [--state FILE] [--processes 2]

A page is false if one of its claims is: limits that miss the true value, "miscalibrated" or a side where predictions
are right, "within" a tolerance that the true error exceeds; or if it calls predictions miscalibrated that keep what
they promise. At most 5 % of the pages of a design may be false. A claim whose true value is not known ends the run with
an error. A run can be interrupted and resumed. `--quick` makes few repeats to see that everything runs; nothing of it
is kept.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, in_parts, run, together
from benchmarks.validity.claim_designs import BORDERS, DESIGNS, GATE, KINDS, Data, Design, kind_of
from benchmarks.validity.claim_truth import map_value
from benchmarks.validity.designs import HARD_WORDS, WORDS

import calibrant as cb
from calibrant.core.claims import Claim

RATE = 0.05
TOLERANCE = 2.6  # standard errors
PART = 25  # data sets that are lost when a run is interrupted
REDRAWS = 99
PROCEDURE = "claims"
SAME = 1e-6  # difference of what is expected of calibrated predictions up to which it is right
FAULTS = ("miscalibrated", "below", "above")  # kinds of claims that accuse
OF_MAPS = (
    "recalibration_gain",
    "group_maps_gain",
    "calibration_error",
)  # quantities of a map that was fitted on the rows
PAGES, FALSE_PAGES, ALARMS, SILENT = "pages", "false pages", "false alarms", "pages without claims"


def plan(*, quick: bool) -> list[Cell]:
    """Return the parts of all cells, small data first."""
    cells = [
        Cell(PROCEDURE, name, n, "kept" if design.kept else "broken", max(2, repeats // 200) if quick else repeats)
        for name, design in DESIGNS.items()
        for n, repeats in design.repeats.items()
        if not (quick and n > 10_000)
    ]
    return in_parts(sorted(cells, key=lambda cell: cell.n), PART)


def measure(cell: Cell) -> Counts:
    """Audit the data sets of one cell and count the claims."""
    rng, total, design = cell.rng(), Counter(), DESIGNS[cell.design]
    for _ in range(cell.repeats):
        data = design.draw(rng, cell.n)
        verdict = cb.audit(data.y, data.prediction, resamples=REDRAWS, rng=rng, **data.options).verdict
        total.update(page(verdict.status, verdict.claims, data, design))
    return dict(total)


def page(status: str, claims: Iterable[Claim], data: Data, design: Design) -> Counts:
    """Count the claims of one page by kind, and those that are false."""
    counts: Counter[str] = Counter({PAGES: 1, f"status {status}": 1})
    alarm = design.kept and status == "miscalibrated"
    claimed = [claim for claim in claims if claim.level is not None]
    for claim in claimed:
        if claim.quantity in OF_MAPS:
            wrong = claim.is_false(map_value(claim, data.y, data.known, data.options)) or claim.expected != 0
        else:
            wrong = claim.is_false(data.known.value(claim)) or (design.kept and claim.kind in FAULTS)
            wrong |= abs(claim.expected - data.known.calibrated(claim)) > SAME
        counts.update({f"claims {claim.kind}": 1, f"false {claim.kind}": int(wrong)})
        if wrong:
            counts[f"which {claim.kind}: {claim.quantity} of {claim.subject.kind}"] += 1
    false = alarm or any(counts[name] for name in counts if name.startswith("false "))
    counts.update({FALSE_PAGES: int(false), ALARMS: int(alarm), SILENT: int(not claimed and status != "cannot tell")})
    return dict(counts)


def most(repeats: int) -> float:
    """Return the share of false pages up to which a design passes."""
    return RATE + TOLERANCE * math.sqrt(RATE * (1 - RATE) / repeats)


def shown(count: float, trials: float) -> str:
    """Return a share, or nothing where there are no trials."""
    return f"{count / trials:.3f}" if trials else ""


STATUSES = {"miscalibrated": "miscal.", "within": "within", "cannot tell": "cannot"}


def show_designs(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section("Share of pages with a false claim, and the outcomes")
    rows = []
    for cell, counts in found.items():
        pages = counts[PAGES]
        rate = counts[FALSE_PAGES] / pages
        outcomes = [shown(counts.get(f"status {status}", 0), pages) for status in STATUSES]
        said = sum(count for name, count in counts.items() if name.startswith("claims "))
        bound = most(cell.repeats)
        row = [cell.design, f"{cell.n:,}", str(cell.repeats), f"{said / pages:.1f}", *outcomes]
        rows.append([*row, shown(counts[ALARMS], pages), f"{rate:.3f}", f"{bound:.3f}", report.mark(rate <= bound)])
    header = ["design", "n", "pages", "claims", *STATUSES.values(), "false alarms", "false pages", "at most", ""]
    report.table(header, rows)


def show_pooled(report: Report, found: Mapping[Cell, Counts]) -> None:
    """Show all pages of a kind of prediction together, which says more than each cell."""
    report.section("Share of pages with a false claim, cells together")
    sums: dict[tuple[str, str], Counter[str]] = {}
    for cell, counts in found.items():
        near = any(f"tolerance {where}" in cell.design for where in BORDERS)
        truth = "near a tolerance" if near else {"kept": "calibrated", "broken": "miscalibrated"}[cell.truth]
        sums.setdefault((kind_of(cell.design), truth), Counter()).update({**counts, "cells": 1})
    rows = []
    for kind in reversed(KINDS):
        for (of, truth), counts in sums.items():
            if of == kind:
                pages = int(counts[PAGES])
                rate, bound = counts[FALSE_PAGES] / pages, most(pages)
                line = [kind, truth, str(counts["cells"]), f"{pages:,}", f"{rate:.4f}", f"{bound:.4f}"]
                rows.append([*line, report.mark(rate <= bound)])
    report.table(["predictions", "truth", "cells", "pages", "false pages", "at most", ""], rows)


def show_gate(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section("The gate of the README on perfect models: share that fails")
    rows = []
    for cell, counts in found.items():
        if "gate of the README" in cell.design:
            rate, bound = counts[ALARMS] / counts[PAGES], most(cell.repeats)
            rows.append([cell.design, f"{cell.n:,}", str(cell.repeats), f"{rate:.3f}", report.mark(rate <= bound)])
    report.table(["design", "n", "models", "fail", ""], rows)
    report.say(f'calibrant check --tolerance {GATE:g} --fail-if "verdict = miscalibrated"')


def show_kinds(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section("False claims by kind of claim, all designs")
    total: Counter[str] = Counter()
    for counts in found.values():
        total.update(counts)
    kinds = sorted(name.removeprefix("claims ") for name in total if name.startswith("claims "))
    rows = []
    for kind in kinds:
        said, false = int(total[f"claims {kind}"]), int(total[f"false {kind}"])
        rows.append([kind, f"{said:,}", f"{false:,}", f"{false / total[PAGES]:.4f}"])
    report.table(["kind", "claims", "false", "false claims a page"], rows)
    which = Counter({name.removeprefix("which "): total[name] for name in total if name.startswith("which ")})
    if which:
        report.say()
        report.table(["false claims", "number"], [[name, f"{count:,}"] for name, count in which.most_common(20)])
    report.say()
    silent = int(total[SILENT])
    report.target("pages that give an outcome without a claim", str(silent), silent == 0)


def table(found: Mapping[Cell, Counts]) -> str:
    """Return the shares of false pages as comma-separated values, for the page of the documentation."""
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(["design", "n", "truth", "pages", "false alarms", "false pages", "at most"])
    for cell, counts in found.items():
        shares = [counts[name] / counts[PAGES] for name in (ALARMS, FALSE_PAGES)]
        lines.writerow(
            [cell.design, cell.n, cell.truth, cell.repeats, *(f"{x:.4f}" for x in (*shares, most(cell.repeats)))]
        )
    return file.getvalue()


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    parts = run(measure, cells, state, processes=processes)
    found = together(parts)
    report = Report("False claims of audits", packages=["numpy", "scipy"])
    report.say()
    for design, words in {**WORDS, **HARD_WORDS}.items():
        report.say(f"{design + ':':<14}{words}")
    report.say(
        f"Audits at the level {1 - RATE:g} with {REDRAWS} redraws of data whose truth is known. A page is false if one"
    )
    report.say("of its claims is, or if it calls predictions miscalibrated that keep what they promise.")
    report.say(f"PASS: at most {RATE:g} plus {TOLERANCE:g} standard errors at that rate.")
    if len(parts) < len(cells):
        report.say(f"Not finished: {sum(part.repeats for part in parts):,} of {sum(c.repeats for c in cells):,} pages.")
    ordered = dict(sorted(found.items(), key=lambda item: (list(DESIGNS).index(item[0].design), item[0].n)))
    show_pooled(report, ordered)
    show_designs(report, ordered)
    show_gate(report, ordered)
    show_kinds(report, ordered)
    report.attach("validity_claims.csv", table(ordered))
    report.say()
    report.say(
        f"{len(found)} cells of {len({cell.design for cell in found})} designs; {report.failures} targets missed"
    )
    return report


if __name__ == "__main__":
    raise SystemExit(command("claims", "False claims of audits.", plan, simulate))
