"""The groups of an audit of draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.audit.sample_looks import coordinate_ranks
from calibrant.audit.sections import Grouped, Setting
from calibrant.inference.normal_errors import normal_errors
from calibrant.inference.rank_band import band_test
from calibrant.inference.rank_groups import FEWEST
from calibrant.inputs.groups import Grouping
from calibrant.inputs.outcomes import LawRows
from calibrant.primitives.multiplicity import holm
from calibrant.results import Table
from calibrant.summaries.ranks import Ranks

SMALL = 0.1  # predictive standard deviations, and of the logarithm of a spread: not worth a word


def sample_groups(rows: LawRows, groupings: list[Grouping], setting: Setting) -> Grouped:
    """Return the band test of each group and coordinate, adjusted over all of them, worst first."""
    lines: list[dict[str, Any]] = []
    for grouping in groupings:
        for g, name in enumerate(grouping.names):
            part = rows.take(np.flatnonzero(grouping.code == g))
            lines += _lines(name, coordinate_ranks(part, setting), setting.level)
    adjusted = holm(np.array([line["pvalue"] for line in lines]))
    for line, p in zip(lines, adjusted.tolist(), strict=True):
        line["pvalue_adjusted"] = p
    lines.sort(key=lambda line: (np.isnan(line["pvalue"]), line["pvalue"]))
    how = {line["group"]: _how(line) for line in reversed(lines)}  # the worst line of a group speaks for it
    columns = {name: tuple(_plain(line[name]) for line in lines) for name in lines[0]}
    if len(set(columns["coordinate"])) == 1:
        del columns["coordinate"]
    note = (
        "The exact band test of the ranks of each group"
        f"{' and coordinate' if 'coordinate' in columns else ''}; adjusted p-values hold for all of them (Holm). "
        f"Groups of fewer than {FEWEST} rows are not tested."
    )
    return Grouped(Table("groups", "Groups", columns, note), how)


def _lines(group: str, ranks: Ranks, level: float) -> list[dict[str, Any]]:
    pvalues = band_test(ranks).pvalue if ranks.n >= FEWEST else np.full(ranks.C, np.nan)
    errors = [normal_errors(column, level) for column in ranks.counts.T]
    return [
        {
            "group": group,
            "coordinate": ranks.names[c],
            "n": ranks.n,
            "shift": errors[c].shift,
            "spread": errors[c].spread,
            "pvalue": float(pvalues[c]),
        }
        for c in range(ranks.C)
    ]


def _how(line: dict[str, Any]) -> str:
    shift, spread = line["shift"], line["spread"]
    words = []
    if abs(shift) > SMALL:
        words.append(f"too {'high' if shift > 0 else 'low'} by {abs(shift):.2f} sd")
    if not np.isnan(spread) and abs(np.log(spread)) > SMALL:
        words.append(f"spread needs the factor {spread:.2f}")
    where = f"{line['coordinate']}: " if line["coordinate"] else ""
    return where + (", ".join(words) or "ranks uneven")


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and np.isnan(value) else value
