"""Write the tables and the picture of `docs/concepts/validity.md` from the results.

    python -m benchmarks.validity.page

Everything between the comments "begin" and "end" of a table is replaced.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.runner import RESULTS
from benchmarks.validity.claim_designs import KINDS, kind_of
from benchmarks.validity.levels import CALIBRATED, MAX_RATES, PEER, WARNED

ROOT = Path(__file__).parents[2]
PAGE, PICTURE = ROOT / "docs/concepts/validity.md", ROOT / "docs/_static/validity.svg"
LARGEST_DRAWN = 0.2
INK, OTHER, BOUND = "#0b6e99", "#b5532a", "#555555"
Row = dict[str, str]


def rows_of(name: str) -> list[Row]:
    """Read a table of results."""
    with (RESULTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    escaped = ([cell.replace("|", "\\|") for cell in line] for line in (header, ["---"] * len(header), *lines))
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)


def largest(rows: Iterable[Row], column: str) -> float:
    """Return the largest number in a column; refused cells have none."""
    return max((float(row[column]) for row in rows if row[column] != "nan"), default=float("nan"))


def level_table(rows: list[Row], truth: str) -> str:
    """Return one line per test: how many cells, and the largest rates."""
    tests = dict.fromkeys(row["test"] for row in rows if row["truth"] == truth)
    lines = []
    for test in tests:
        cells = [row for row in rows if row["test"] == test]
        answered = [int(row["answers"]) for row in cells if int(row["answers"])]
        rates = [f"{largest(cells, name):.3f}" for name in MAX_RATES]
        lines.append([_code(test), str(len(answered)), f"{min(answered):,}", *rates])
    return markdown(["test", "designs × n", "data sets, at least", "largest rate at 5 %", "at 1 %"], lines)


def _code(test: str) -> str:
    name, _, rest = test.partition(", ")
    return f"`{name}`, {rest}" if rest else f"`{name}`"


def claim_table(rows: list[Row]) -> str:
    """Return one line per kind of prediction: pages, and the largest shares of false ones."""
    lines = []
    for kind in reversed(KINDS):
        cells = [row for row in rows if kind_of(row["design"]) == kind]
        if cells:
            pages = sum(int(row["pages"]) for row in cells)
            false = sum(int(row["pages"]) * float(row["false pages"]) for row in cells) / pages
            worst = max(cells, key=lambda row: float(row["false pages"]) - float(row["at most"]))
            said = f"{float(worst['false pages']):.3f} ({worst['design']}, n = {int(worst['n']):,})"
            lines.append([kind, str(len(cells)), f"{pages:,}", f"{false:.3f}", said, f"{float(worst['at most']):.3f}"])
    return markdown(["predictions", "designs × n", "pages", "false", "worst cell", "allowed there"], lines)


def limit_table(rows: list[Row]) -> str:
    """Return one line per metric: in how many cells limits are issued, which share fails, and how many cells fail."""
    lines = [
        [row["predictions"], row["metric"], f"{row['issued']} of {row['cells']}"]
        + [f"{float(row[side]):.3f}" for side in ("above", "below", "missed")]
        + [row["failing"]]
        for row in rows
    ]
    header = ["predictions", "error", "issued in", "upper limits", "lower limits", "two-sided", "cells that fail"]
    return markdown(header, lines)


def gain_table(rows: list[Row]) -> str:
    """Return one line per kind of data and method: where limits are issued, and the extremes over cells."""
    lines = [
        [
            row["predictions"],
            row["method"],
            f"{int(row['sets']):,}",
            f"{row['issued cells']} of {row['cells']}",
            row["pooled"] or "–",
            row["coverage"] or "–",
            row["wrong"],
            row["claims"],
        ]
        for row in rows
    ]
    shares = ["coverage", "lowest cell", "wrong elsewhere", "false claims"]
    return markdown(["data", "method, score", "data sets", "issued for half", *shares], lines)


def power_table(rows: list[Row]) -> str:
    """Return one line per true curve: the power with each kind of scores, and that of the best other test."""
    scores = dict.fromkeys((row["scores"], row["n"]) for row in rows)
    cells = {(row["scores"], row["truth"]): f"{float(row['ours']):.2f} ({float(row['best']):.2f})" for row in rows}
    lines = [
        [truth, *(cells[name, truth] for name, _ in scores)] for truth in dict.fromkeys(row["truth"] for row in rows)
    ]
    return markdown(["truth", *(f"{name}, n = {int(n):,}" for name, n in scores)], lines)


def rank_power_table(rows: list[Row], n: int, M: int) -> str:
    """Return one line per test of ranks: the share of sets with each error that it rejects."""
    cells = [row for row in rows if row["of"] == "ranks" and (row["n"], row["M"]) == (str(n), str(M))]
    errors = list(dict.fromkeys(row["error"] for row in cells))
    lines = []
    for test in dict.fromkeys(row["test"] for row in cells):
        of = {row["error"]: row for row in cells if row["test"] == test}
        lines.append([_code(test), *(_share(of[error]) for error in errors)])
    return markdown(["test", *errors], lines)


def rank_level_table(rows: list[Row]) -> str:
    """Return one line per test of ranks: the share of calibrated sets that it rejects at each size."""
    cells = [row for row in rows if row["of"] == "ranks" and row["error"] == "calibrated"]
    sizes = list(dict.fromkeys((row["n"], row["M"]) for row in cells))
    lines = []
    for test in dict.fromkeys(row["test"] for row in cells):
        of = {(row["n"], row["M"]): row for row in cells if row["test"] == test}
        lines.append([_code(test), *(_share(of[size]) for size in sizes)])
    return markdown(["test", *(f"n = {int(n):,}, M = {M}" for n, M in sizes)], lines)


def joint_power_table(rows: list[Row]) -> str:
    """Return one line per test of vectors, or against covariates: the shares of right and of wrong sets it rejects."""
    cells = [row for row in rows if row["of"] in ("joint", "place")]
    sizes = list(dict.fromkeys((row["n"], row["M"]) for row in cells))
    lines = []
    for of, test in dict.fromkeys((row["of"], row["test"]) for row in cells):
        own = {(row["n"], row["M"], row["error"]): row for row in cells if (row["of"], row["test"]) == (of, test)}
        wrong = next(error for _, _, error in own if error != "calibrated")
        pairs = [" / ".join(_share(own[(*size, error)]) for error in ("calibrated", wrong)) for size in sizes]
        lines.append([wrong, _code(test), *pairs])
    return markdown(["error", "test", *(f"n = {int(n):,}, M = {M}" for n, M in sizes)], lines)


def _share(row: Row) -> str:
    rate = f"{float(row['rejected']):.2f}"
    return rate if row["holds level"] == "True" else f"*{rate}*"


def tables() -> dict[str, str]:
    """Return the tables of the page by name."""
    levels, claims = rows_of("validity_levels.csv"), rows_of("validity_claims.csv")
    ranks = rows_of("validity_ranks_power.csv")
    return {
        "claims": claim_table(claims),
        "limits": limit_table(rows_of("validity_limits.csv")),
        "gains": gain_table(rows_of("validity_recalibration.csv")),
        "levels": level_table(levels, CALIBRATED),
        "dependent": level_table(levels, WARNED),
        "peers": level_table(levels, PEER),
        "power": power_table(rows_of("validity_power.csv")),
        "rank-levels": rank_level_table(ranks),
        "rank-power": rank_power_table(ranks, 200, 99),
        "joint-power": joint_power_table(ranks),
    }


def filled(text: str, contents: dict[str, str]) -> str:
    """Return the text of the page with its tables."""
    for name, content in contents.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"{PAGE.name} has no place for the table {name!r}: {begin} and {end}")
        text = f"{before}{begin}\n{content}\n{end}{after}"
    return text


def draw() -> None:
    """Draw the rates of all cells, test by test and kind by kind, beside what is allowed."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    levels, claims = rows_of("validity_levels.csv"), rows_of("validity_claims.csv")
    shown = [row for row in levels if row["truth"] in (CALIBRATED, PEER) and row["5 %"] != "nan"]
    names = list(dict.fromkeys(row["test"] for row in shown))[::-1]
    kinds = [kind for kind in KINDS if any(kind_of(row["design"]) == kind for row in claims)]
    plt.rcParams.update({"svg.hashsalt": "calibrant", "font.size": 9, "svg.fonttype": "none"})
    heights = [len(names), len(kinds) + 1]
    figure, (top, below) = plt.subplots(
        2, 1, figsize=(7.5, 0.24 * sum(heights) + 1.2), height_ratios=heights, layout="constrained", sharex=True
    )
    _dots(top, [(row["test"], row["5 %"], row["truth"] == PEER) for row in shown], names)
    _dots(below, [(kind_of(row["design"]), row["false pages"], False) for row in claims], kinds)
    top.axvline(MAX_RATES["5 %"], color=BOUND, linestyle="--", linewidth=1)
    top.set_title(
        "Rejections of calibrated predictions at 5 %; dashed: at most 0.065 is allowed", loc="left", fontsize=9
    )
    below.set_title("Pages of audits with a false claim, at the level 95 %", loc="left", fontsize=9)
    below.set_xlabel(f"share (larger ones are drawn at {LARGEST_DRAWN:g})")
    figure.savefig(PICTURE, metadata={"Date": None})


def _dots(ax: object, dots: list[tuple[str, str, bool]], names: list[str]) -> None:
    for peer, colour in ((False, INK), (True, OTHER)):
        chosen = [(names.index(name), float(rate)) for name, rate, other in dots if other == peer]
        x = [min(rate, LARGEST_DRAWN) for _, rate in chosen]
        ax.plot(x, [place for place, _ in chosen], "o", color=colour, markersize=3, alpha=0.6, linewidth=0)
    ax.axvline(0.05, color=BOUND, linewidth=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(-0.7, len(names) - 0.3)
    ax.set_xlim(-0.005, LARGEST_DRAWN + 0.005)
    ax.spines[["top", "right"]].set_visible(False)


def main() -> None:
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), tables()), encoding="utf-8")
    draw()


if __name__ == "__main__":
    main()
