"""`calibrant.points.compare`: what differs between sets of points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Rng
from calibrant.core.catalogue import public
from calibrant.core.findings import Figure, Findings, Section, Table
from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_count, check_level, generator
from calibrant.judging.notes import as_text
from calibrant.judging.points import verdict_on_points, verdict_without_truth
from calibrant.kernels.median import point_order
from calibrant.points.coordinates import coordinate_section
from calibrant.points.diversity_section import claims_without_truth, diversity_section, variety_section
from calibrant.points.evidence import point_case
from calibrant.points.inputs import PointSets, check_names, column_names, read_point_sets, read_points
from calibrant.points.neighbour_section import Questions, neighbour_section
from calibrant.points.sections import ComparedSets, TestedSection, classifier_section, distance_section
from calibrant.report.audit import Audit
from calibrant.report.names import coordinate_names, displayed, report_names
from calibrant.version import __version__

REAL = "real"
GENERATED = "generated"
MIDDLE_NAMES = ("accuracy",)  # between the name of a verb and that of a set: c2st.accuracy
FIELD_NAMES = ("value", "expected", "pvalue", "low", "high")  # after the name of a measurement
TESTED_SECTIONS = (coordinate_section, distance_section, classifier_section, neighbour_section, variety_section)
Titled = TypeVar("Titled", Figure, Table)
DEFAULT_RESAMPLES, MAX_RESAMPLES_UNASKED = 499, 20_000
ADJUSTED = "P-values in tables are those of single tests; the verdict multiplies them by the number of tests, {tests}."
CAVEATS = (
    "Points are assumed to be independent; draws of a Markov chain must be thinned first.",
    "Distances combine coordinates: those with large values dominate. Scale coordinates that have different units.",
)


@public
def compare(
    y: ArrayLike | None,
    points: ArrayLike | Mapping[str, ArrayLike],
    *,
    columns: Iterable[object] | None = None,
    level: float = 0.95,
    resamples: int | None = None,
    names: Mapping[str, str] | None = None,
    rng: Rng = 0,
) -> Audit:
    """Compare generated points with real ones, and say in words what differs.

    Five tests are made: of location and spread of each coordinate, of the whole by the maximum mean discrepancy
    (`mmd_test` with twenty kernels), of whether classifiers can tell the sets apart (`c2st`; left out without
    scikit-learn), of neighbours (missing, invented, memorised and copied points), and of variety (`diversity_test`, and
    points that repeat themselves). `mmd`, `frechet_distance`, `kernel_distance`, `density_coverage` and the diversity
    of each set at many scales (`vendi_profile`) are shown as well.

    Parameters
    ----------
    y
        Real points, (n, d); or None to compare only the diversity of the sets: each is then tested against the pool of
        the others.
    points
        Generated points, (m, d); or a mapping from names to such sets. Each set is compared with y.
    columns
        Names of the d coordinates; by default the column names of a data frame y, or numbers.
    level
        Confidence level of all tests together.
    resamples
        Number of random divisions of the pooled points, multiplied by the number of generated sets. None for 499, or
        as many as `level` needs: with fewer than 20/(1 - level) no p-value of the neighbours could be significant.
    names
        Names shown in the report, such as ``{"source": "run 7"}``.
    rng
        A Generator or a whole number, for the random divisions, and for the subsets of large sets.

    Returns
    -------
    Audit
        Print it, use `table`, `verdict` and `plot()`, or write it with `to_html(path)` and `to_json(path)`. The status
        of the verdict is ``"different"``, ``"copies"``, ``"no evidence"``, ``"cannot tell"`` or ``"no truth"``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(2)
    >>> real = rng.normal(size=(300, 2))
    >>> shifted = compare(real, rng.normal([0.0, 1.0], 1.0, size=(300, 2)), columns=["height", "weight"])
    >>> shifted.verdict.headline
    'Generated and real points differ (p ≤ 0.005)'
    >>> [(claim.quantity, claim.subject.name, round(claim.estimate, 2)) for claim in shifted.claims[1:2]]
    [('location', 'weight', 1.03)]
    >>> compare(real, rng.normal(size=(300, 2))).verdict.status
    'no evidence'
    """
    level, chance = check_level(level), generator(rng)
    B = _divisions(resamples, level)
    called = report_names(names, "{'source': 'run 7'}")
    generated = _read_sets(points)
    if y is None:
        return _without_truth(generated, level, B, called, chance)
    real = _read(y, "y")
    frames = points if isinstance(points, Mapping) else {None: points}
    for name, frame in frames.items():
        check_names(y, frame, "points" if name is None else f"points[{shown(name)}]")
    sets = {name: _paired(real, name, given) for name, given in generated.items()}
    labels = coordinate_names(columns, column_names(y), real.shape[1])
    tests = len(TESTED_SECTIONS) * len(sets)
    compared = {
        name: ComparedSets(pair, REAL, name, labels, level, B * len(sets), chance, tests, len(sets) == 1)
        for name, pair in sets.items()
    }
    tested = {name: [section(about) for section in TESTED_SECTIONS] for name, about in compared.items()}
    every = {REAL: real, **{name: pair.points for name, pair in sets.items()}}
    diversity, _, of_diversity = diversity_section(every, chance)
    caveats = [*(text for each in chain(*tested.values()) for text in each.caveats), *of_diversity]
    verdict = verdict_on_points(point_case(compared, tested))  # draws last, so that measurements do not depend on it
    sections = (*_sections(tested), diversity)
    said = (*dict.fromkeys(map(as_text, caveats)), ADJUSTED.format(tests=tests), *CAVEATS)
    n = len(real) + sum(pair.m for pair in sets.values())
    return Audit(Findings("points", n, level, verdict, sections, caveats=said, names=called, version=__version__))


def _divisions(resamples: int | None, level: float) -> int:
    least = math.ceil(len(TESTED_SECTIONS) * len(Questions._fields) / (1 - level) - 1e-9) - 1
    if resamples is None:
        if least >= MAX_RESAMPLES_UNASKED:
            raise InputError(
                f"level must be at most {1 - 20 / MAX_RESAMPLES_UNASKED:g} unless resamples is given; level={level:g} "
                f"needs {least:,} random divisions of the points, which take long. Pass resamples={least} to make them"
            )
        return max(DEFAULT_RESAMPLES, least)
    given = check_count("resamples", resamples)
    if given < least:
        raise InputError(
            f"resamples must be at least {least:,} at level={level:g}, because fewer cannot give a significant "
            f"p-value; got {given:,}"
        )
    return given


def _sections(tested: Mapping[str, list[TestedSection]]) -> tuple[Section, ...]:
    if len(tested) == 1:
        return tuple(each.section for each in chain(*tested.values()) if each.section.measurements)
    return tuple(
        Section(
            f"set {name}",
            name,
            f"How does {name} differ from the real points?",
            tuple(measurement for each in found for measurement in each.section.measurements),
            tuple(_of_set(figure, name) for each in found for figure in each.section.figures),
            tuple(_of_set(table, name) for each in found for table in each.section.tables),
        )
        for name, found in tested.items()
    )


def _of_set(part: Titled, name: str) -> Titled:
    """Return a figure or a table with the name of its set in the title; titles on a page are unique."""
    return replace(part, title=f"{name}: {part.title[0].lower()}{part.title[1:]}")


def _without_truth(
    generated: Mapping[str, FloatArray], level: float, B: int, called: Mapping[str, str], rng: np.random.Generator
) -> Audit:
    section, curve, caveats = diversity_section(generated, rng)
    claims = claims_without_truth(generated, level, B * len(generated), rng)
    n, verdict, said = sum(map(len, generated.values())), verdict_without_truth(curve, claims), map(as_text, caveats)
    found = Findings("points", n, level, verdict, (section,), caveats=tuple(said), names=called, version=__version__)
    return Audit(found)


def _read_sets(points: ArrayLike | Mapping[str, ArrayLike]) -> dict[str, FloatArray]:
    if not isinstance(points, Mapping):
        return {GENERATED: _read(points, "points")}
    if not points:
        raise InputError("points must contain at least one set; got an empty mapping")
    labels = set_labels(list(points))
    found = {name: _read(given, f"points[{name!r}]") for name, given in zip(labels, points.values(), strict=True)}
    first, d = next((name, array.shape[1]) for name, array in found.items())
    for name, array in found.items():
        if array.shape[1] != d:
            raise InputError(
                f"all sets must have the same number of columns; {first!r} has {d} and {name!r} {array.shape[1]}"
            )
    return found


def _read(values: ArrayLike, name: str) -> FloatArray:
    """Return a set of points in sorted order: random draws do not depend on the order of the rows."""
    points = read_points(values, name)
    return points[point_order(points)]


def _paired(real: FloatArray, name: str, given: FloatArray) -> PointSets:
    try:
        return read_point_sets(real, given)
    except InputError as problem:
        raise problem if name == GENERATED else problem.within("", " (set {name})", name=repr(name)) from None


def set_labels(names: Sequence[object]) -> tuple[str, ...]:
    r"""Return the names of sets as they are shown.

    >>> set_labels(["first", "run\n2"])
    ('first', 'run\\n2')
    """
    for name in names:
        if not isinstance(name, str) or not name.strip() or name == REAL:
            raise InputError(f"names of sets must be texts other than {REAL!r}; got {shown(name)}")
    found = displayed([str(name) for name in names])
    for a in found:
        for b in (*(f"{part}.{a}" for part in MIDDLE_NAMES), *(f"{a}.{field}" for field in FIELD_NAMES)):
            if b in found:
                both = f"{'mmd_test' if b.startswith(a) else 'c2st'}.{b}"
                raise InputError(
                    f"sets named {a!r} and {b!r} would both have a measurement {both!r}; rename one of them"
                )
    return found
