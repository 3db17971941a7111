"""The audit of rows of any kind, from all of them at once or from batches: a job that every engine can run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from calibrant.auditing.measurements import Scores
from calibrant.core.annotations import Alternative, Labels, Rng
from calibrant.core.evidence import Case, note
from calibrant.core.findings import Facts, Findings, Kind, Setting
from calibrant.core.kept_rows import table_of
from calibrant.core.row_order import questions_on_row_order
from calibrant.core.row_sample import RowSample
from calibrant.core.several import Several
from calibrant.core.summary import Summary
from calibrant.engines.batches import check_event_seen, with_batch_rng, with_event_outcomes
from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import is_number, kept_mask
from calibrant.inputs.columns import Batch
from calibrant.inputs.covariates import read_covariate_table
from calibrant.inputs.groups import Grouping, check_group_sizes, read_groups
from calibrant.inputs.kinds import AUDITED, KINDS, AnyRows, read
from calibrant.inputs.labels import read_classes
from calibrant.inputs.options import check_count, check_level, check_share, generator
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.rows import SetRows
from calibrant.judging.notes import as_text
from calibrant.judging.voice import verdict_of
from calibrant.report.audit import Audit
from calibrant.report.names import report_names
from calibrant.report.page import with_named_groups
from calibrant.version import __version__

if TYPE_CHECKING:
    from calibrant.auditing.covariates import Where

INSTEAD = {"cdf": "Audit the distribution itself, or use pit_histogram(None, CdfValues(...))"}
OF_EVENT, OF_REGIONS = (("binary",), "probabilities of one event"), (("intervals", "sets"), "Intervals and Sets")
ONLY_FOR: dict[str, tuple[tuple[str, ...], str]] = {
    "relative": OF_EVENT,
    "clusters": OF_EVENT,
    "alternative": OF_REGIONS,
    "calibration_size": OF_REGIONS,
    "columns": (("samples", "distributions"), "vectors"),
    **dict.fromkeys(("log_density_y", "quantity", "log_likelihood", "draws"), (("samples",), "Samples")),
}
"""Options of some kinds of prediction alone, and what these are called."""
LOOKED_AT = {"binary": "the score", "classes": "the probabilities"}  # without covariates
SHARES = (1.0, 0.5, 0.25, 0.125, 0.0625)  # of the rows whose parts have limits
SMALLEST_TOLERANCE = 1e-6
ROWS, GROUPS = "rows", "groups "  # names of summaries
SEED, ROWS_HASHED = 0, 1000  # of the randomness of a batch


@dataclass(frozen=True)
class AuditJob:
    """An audit of any kind of prediction, with the options that do not belong to single rows.

    Batches keep a sample of their rows, which is all of them while they are few, and summaries of all rows: of
    probabilities their cells in a `Grid`, or with `exact` all different scores, of the others hits or ranks.
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
    alternative: Alternative | None = None
    calibration_size: int | None = None
    share: float | None = None  # the option `part`, as `check_part` returns it

    def __post_init__(self) -> None:
        self.setting(generator(self.rng))
        check_tolerance(self.tolerance, self.relative)
        self._called()

    def part(self, batch: Batch) -> Several:
        batch, labels, seen = with_event_outcomes(batch, self._labels)
        rows = self.read(batch.y, batch.prediction, batch.weights, labels)
        how, rng = KINDS[rows.kind].audited(), _batch_rng(rows, batch.number)
        setting, keep, known = self.setting(rng), kept_mask(batch.weights), None
        if batch.covariates:
            known = read_covariate_table(batch.covariates, rows.n, keep, is_batch=True)
        parts: dict[str, Summary] = {ROWS: RowSample.of(rows, rng, known), **how.count(rows, setting, self.exact)}
        if batch.groups:
            n = rows.n if keep is None else keep.size
            groupings = read_groups(batch.groups, n, intersections=1, keep=keep, is_batch=True)
            for name, grouping in zip(batch.groups, groupings, strict=True):
                parts[GROUPS + name] = how.count_groups(rows, grouping, setting)
        return Several.of({**parts, **seen})

    def finish(self, total: Summary) -> Audit:
        parts = cast(Several, total)
        check_event_seen(parts, self._labels)
        counted = dict(zip(parts.names, parts.parts, strict=True))
        groups = {name.removeprefix(GROUPS): part for name, part in counted.items() if name.startswith(GROUPS)}
        for name, part in groups.items():
            table: Any = part.parts[0] if isinstance(part, Several) else part
            check_group_sizes(name, table.group_sizes)
        drawn = cast(RowSample, counted[ROWS])
        facts = Facts(drawn.rows, drawn.n, None if drawn.rows.n == drawn.n else counted)
        known = drawn.covariates
        if known is not None:
            known.refuse_identifiers()
        setting = replace(self.setting(generator(self.rng)), covariates=known, part=self.share)
        return self.audit_of(facts, list(groups.values()), setting)

    def setting(self, rng: np.random.Generator) -> Setting:
        return Setting(
            check_level(self.level),
            check_count("resamples", self.resamples, least=19),
            rng,
            relative=self.relative,
            alternative=self.alternative,
            calibration_size=self._calibration_size,
        )

    def read(self, y: Any, prediction: Any, weights: Any, labels: Mapping[str, Any], **given: Any) -> AnyRows:
        """Return checked rows; refuse options that are not for this kind of prediction."""
        rows = read("audit", AUDITED, y, prediction, weights=weights, instead=INSTEAD, **labels, **given)
        own = {option: getattr(self, option) for option in ("relative", "alternative", "calibration_size")}
        refuse_options_of_other_kinds(rows.kind, own)
        return rows

    def audit_of(self, facts: Facts, groups: Sequence[Any], setting: Setting, metrics: Any = None) -> Audit:
        """Return the audit of these facts; groups are summaries, or of rows at hand their labels."""
        how: Kind = KINDS[facts.rows.kind].audited()
        searches = setting.covariates is not None
        families = (*how.families, *(["groups"] if groups else []), *(["covariates"] if searches else []))
        setting = replace(
            setting,
            class_names=_class_names(facts.rows, self.classes),
            families=len(families),
            tolerance=self._tolerance(facts),
        )
        where = _where_off(facts, setting) if searches else None
        if where is not None and where.family is None:  # the others have its error rate
            families = families[:-1]
            setting = replace(setting, families=len(families))
        if where is not None and where.related:
            setting = replace(setting, related=where.related)
        found = how.sections(facts, setting)
        if metrics is not None:
            from calibrant.auditing.own_metrics import with_metrics  # with the intervals of every verb

            found = with_metrics(found, metrics, facts.rows, setting)
        case, grouped, sections, further = found.case, None, found.sections, found.further
        if groups:
            sorts = isinstance(facts.rows, (Binary, Classes))  # the rows of each group
            counted = [
                how.count_groups(facts.rows, each, setting) if isinstance(each, Grouping) and not sorts else each
                for each in groups
            ]
            grouped = how.groups(facts.rows, counted, setting)
            case = replace(case, families=(*case.families, grouped.family), notes=(*case.notes, *grouped.notes))
            further = (*further, *grouped.further)
        if setting.clusters is None and _may_ask_about_rows(case, facts):
            case = replace(case, notes=(*case.notes, *questions_on_row_order(facts.rows.y, how.errors(facts.rows))))
        caveats = found.caveats
        case = replace(case, looked_at=LOOKED_AT.get(facts.rows.kind, "the predictions"))
        if where is not None:
            known = () if where.family is None else (where.family,)
            case = replace(case, families=(*case.families, *known), notes=(*case.notes, *where.notes))
            sections = (*sections, *where.sections)
            if known and not facts.complete:
                caveats = (*caveats, note("sampled covariates", n=facts.rows.n))
        shared = [note("families", number=len(families), names=families)] if len(families) > 1 else []
        findings = Findings(
            kind=facts.rows.kind,
            n=facts.n,
            level=setting.level,
            verdict=verdict_of(case, setting, further=further),
            sections=sections,
            groups=None if grouped is None else grouped.table,
            group_figures=() if grouped is None else grouped.figures,
            caveats=tuple(as_text(each) for each in (*caveats, *shared)),
            names=self._called(),
            version=__version__,
        )
        return Audit(with_named_groups(findings))

    @property
    def _calibration_size(self) -> int | None:
        m = self.calibration_size
        return None if m is None else check_count("calibration_size", m)

    def _called(self) -> dict[str, str]:
        return report_names(self.names, "{'outcome': 'left'} (coordinates are named by columns=)")

    @property
    def _labels(self) -> dict[str, Any]:
        return {"classes": self.classes, "pos_label": self.pos_label}

    def _tolerance(self, facts: Facts) -> float | None:
        """Return the largest error that is accepted, or share of an error; refuse a share of next to nothing."""
        tolerance, rows = check_tolerance(self.tolerance, self.relative), facts.rows
        if tolerance is None or not self.relative:
            return tolerance
        mean = float(np.average(rows.p, weights=rows.w)) if facts.complete else Scores.of(facts).ordered.mean_score
        if tolerance * mean < SMALLEST_TOLERANCE**2:
            raise InputError(
                f"{{relative=}} is a share of the predicted events, and their mean is {mean:g}; leave it out",
                option="relative",
            )
        return tolerance


def _may_ask_about_rows(case: Case, facts: Facts) -> bool:
    """Tell whether rows came in their order, something rests on their independence, and it was not asked for yet."""
    return facts.complete and case.whole is not None and all(each.key != "clusters?" for each in case.notes)


def _where_off(facts: Facts, setting: Setting) -> Where:
    from calibrant.auditing.covariates import where_off  # with what searches need

    return where_off(facts, setting)


def refuse_options_of_other_kinds(kind: str, given: Mapping[str, Any]) -> None:
    for option, value in given.items():
        kinds, words = ONLY_FOR[option]
        if value is not None and value is not False and kind not in kinds:
            raise InputError(f"{{{option}=}} is for {words}; leave it out for {KINDS[kind].words}", option=option)


def check_tolerance(tolerance: Any, relative: Any) -> float | None:
    if tolerance is None:
        if relative:
            raise InputError(
                "{relative=} says what {tolerance=} is a share of; pass a tolerance too", option="relative"
            )
        return None
    found = check_share("tolerance", tolerance)
    if found < SMALLEST_TOLERANCE:
        raise InputError(
            f"{{tolerance=}} must be at least {SMALLEST_TOLERANCE:g}; got {found:g}. No number of rows shows less",
            option="tolerance",
        )
    return found


def check_part(part: Any, covariates: Any) -> float | None:
    """Return the share of the rows that is asked for: one of those that have limits."""
    if part is None:
        return None
    if covariates is None:
        raise InputError("{part=} is a share of rows that {covariates=} cut out; pass them too", option="part")
    if is_number(part) and part in SHARES:
        return float(part)
    raise InputError(
        "{part=} is a share of the rows that has a limit: 1, 0.5, 0.25, 0.125 or 0.0625; got {given}",
        option="part",
        given=shown(part),
    )


def _class_names(rows: AnyRows, classes: Any) -> tuple[str, ...]:
    if not isinstance(rows, (Classes, SetRows)):
        return ()
    K = rows.K if isinstance(rows, Classes) else rows.prediction.K
    if classes is None:
        return tuple(str(k) for k in range(K))
    return tuple(str(name) for name in read_classes(classes, expected=K, given_by=f"{K} columns"))


def _batch_rng(rows: AnyRows, number: int) -> np.random.Generator:
    first = rows.take(np.arange(min(rows.n, ROWS_HASHED)))
    batch = Batch(first.y, table_of(first.prediction)[1], number=number)
    return cast(np.random.Generator, with_batch_rng({"rng": SEED}, batch)["rng"])
