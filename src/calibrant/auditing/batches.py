"""The audit of probabilities that come in batches, as a job that every engine can run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from calibrant.auditing.audit import (
    AUDITED,
    INSTEAD,
    KINDS_AUDITED,
    audit_of,
    check_tolerance,
    class_names,
    error_tolerated,
)
from calibrant.auditing.measurements import CountedPairs
from calibrant.auditing.probabilities import TOP, CountedClasses, cell_groups
from calibrant.core.annotations import Labels, Rng
from calibrant.core.bins import COLUMNS
from calibrant.core.findings import Setting
from calibrant.core.grid import GroupCells
from calibrant.core.kinds import KINDS, kind_of, read
from calibrant.core.several import Several
from calibrant.core.summary import Summary
from calibrant.engines.batches import check_event_seen, with_event_outcomes
from calibrant.errors import InputError
from calibrant.inputs.arrays import as_array, read_weights
from calibrant.inputs.columns import Batch
from calibrant.inputs.groups import check_group_sizes, read_groups
from calibrant.inputs.options import check_count, check_level, generator
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.report.audit import Audit
from calibrant.report.names import report_names

ROWS, GROUPS = "rows", "groups"


@dataclass(frozen=True)
class AuditJob:
    """The audit of probabilities that come in batches.

    Rows are counted in the cells of a `Grid`, whose memory does not grow with the number of rows; with `exact` all
    different scores are kept. Groups are always counted in cells.
    """

    exact: bool = False
    level: float = 0.95
    tolerance: float | None = None
    relative: bool = False
    resamples: int = 999
    rng: Rng = 0
    classes: Labels | None = None
    pos_label: Any = None
    names: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        """Check the options before rows are read."""
        check_level(self.level)
        check_tolerance(self.tolerance, self.relative)
        check_count("resamples", self.resamples, least=19)
        generator(self.rng)
        report_names(self.names, "{'outcome': 'left'}")

    def part(self, batch: Batch) -> Several:
        """Return the summary of a batch."""
        batch, labels, seen = with_event_outcomes(batch, self._labels)
        rows = self._read(batch, labels)
        counted = CountedPairs if isinstance(rows, Binary) else CountedClasses
        parts: dict[str, Summary] = {ROWS: counted.summary(rows, exact=self.exact)}  # type: ignore[arg-type]
        if batch.groups:
            parts |= {f"{GROUPS} {name}": cells for name, cells in _groups(rows, batch).items()}
        return Several.of({**parts, **seen})

    def finish(self, total: Summary) -> Audit:
        """Return the audit of all rows."""
        parts = cast(Several, total)
        check_event_seen(parts, self._labels)
        facts, groups = cast(Several, parts[ROWS]), _checked_groups(parts)
        of_classes = TOP in facts
        counted = CountedClasses(facts) if of_classes else CountedPairs(facts)
        named = class_names(counted.K, self.classes) if isinstance(counted, CountedClasses) else ()
        how = AUDITED[Classes if of_classes else Binary]
        families = (*how.families, *(["groups"] if groups else []))
        mean = None if isinstance(counted, CountedClasses) else counted.ordered.mean_score
        tau = error_tolerated(self.tolerance, self.relative, mean)
        setting = Setting(self.level, self.resamples, generator(self.rng), named, len(families), tau, self.relative)
        found = how.sections(counted, setting)
        grouped = cell_groups(groups, setting) if groups else None
        called = report_names(self.names, "{'outcome': 'left'}")
        return audit_of(
            found, grouped, setting, families, kind="classes" if of_classes else "binary", n=facts.n, names=called
        )

    @property
    def _labels(self) -> dict[str, Any]:
        return {"classes": self.classes, "pos_label": self.pos_label}

    def _read(self, batch: Batch, labels: Mapping[str, Any]) -> Binary | Classes:
        kind = kind_of(batch.prediction)
        if kind is not None:
            raise InputError(
                f"an audit of batches takes probabilities; got {KINDS[kind].words}. Run single verbs with measure, or "
                "audit the rows in memory"
            )
        rows = read("audit", KINDS_AUDITED, batch.y, batch.prediction, weights=batch.weights, instead=INSTEAD, **labels)
        return cast(Binary | Classes, rows)


def _checked_groups(parts: Several) -> list[GroupCells]:
    """Return the cells of each column of groups; refuse columns whose groups are tiny in all batches together."""
    found = {name: part for name, part in zip(parts.names, parts.parts, strict=True) if isinstance(part, GroupCells)}
    for name, cells in found.items():
        rows = cells.sums[COLUMNS.index("n")]
        check_group_sizes(name.removeprefix(f"{GROUPS} "), np.bincount(cells.group, rows))
    return list(found.values())


def _groups(rows: Binary | Classes, batch: Batch) -> dict[str, GroupCells]:
    """Count the rows of each group in cells; those of weight 0 were already dropped from `rows`."""
    n = len(as_array(batch.y, name="y"))
    keep = None if batch.weights is None else read_weights(batch.weights, n) > 0
    pairs = rows if isinstance(rows, Binary) else rows.top_label()
    names = list(batch.groups or ())
    found = read_groups(batch.groups, n, intersections=1, keep=keep, is_batch=True)
    return {name: GroupCells.of(pairs, grouping) for name, grouping in zip(names, found, strict=True)}
