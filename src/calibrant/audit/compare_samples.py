"""`compare_samples`: from sets of points to what differs, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from calibrant.audit.audit import Audit
from calibrant.audit.names import coordinate_names, report_names
from calibrant.audit.point_coordinates import coordinate_look
from calibrant.audit.point_dependence import dependence_sentences
from calibrant.audit.point_diversity import diversity_look
from calibrant.audit.point_look import Compared, PointLook
from calibrant.audit.point_names import GENERATED, REAL, set_labels
from calibrant.audit.point_neighbours import Asked, neighbour_look
from calibrant.audit.point_tests import classifier_look, kernel_look
from calibrant.audit.point_words import no_truth, point_verdict
from calibrant.errors import InputError, shown
from calibrant.inputs import check_count, check_level, generator
from calibrant.inputs.column_names import column_names
from calibrant.inputs.point_order import point_order
from calibrant.inputs.points import PointSets, check_names, read_point_sets, read_points
from calibrant.inputs.weights import FloatArray
from calibrant.results import Figure, Findings, Section, Table
from calibrant.version import __version__

LOOKS = (coordinate_look, kernel_look, classifier_look, neighbour_look)
Titled = TypeVar("Titled", Figure, Table)
DIVISIONS = 499


def compare_samples(
    y: Any,
    points: Any,
    *,
    columns: Any = None,
    level: float = 0.95,
    resamples: int | None = None,
    names: Mapping[str, str] | None = None,
    rng: Any = 0,
) -> Audit:
    """Compare generated points with real ones, and say in words what differs.

    Four looks are taken: at location and spread of each coordinate, at the whole by the maximum mean discrepancy
    (`mmd_test` with twenty kernels), at whether a classifier tells the sets apart (`c2st`), and at neighbours (missing,
    invented and memorised points). Beside them stand `mmd`, `frechet_distance`, `kernel_distance`, `density_coverage`
    and the diversity of each set (`vendi_score`).

    Parameters
    ----------
    y
        Real points, (n, d); None if there are none: then sets are compared by their diversity alone.
    points
        Generated points, (m, d); or a mapping from names to such sets, each of which is compared with y.
    columns
        Names of the d coordinates; without them those of a data frame y, or numbers.
    level
        Confidence level of the tests.
    resamples
        Random divisions of the pooled points behind the tests, times the number of generated sets. None for 499, or as
        many as `level` needs: with fewer than 16/(1 - level) no number of copies could be found.
    names
        What the report calls things, such as ``{"source": "run 7"}``.
    rng
        A Generator or a whole number. It divides points at random, and draws a part of very many.

    Returns
    -------
    Audit
        Print it, look at `table`, `verdict` and `plot()`, or write `to_html(path)` and `to_json(path)`. The status of
        the verdict is ``"different"``, ``"no evidence"``, ``"cannot tell"`` or ``"no truth"``.

    Notes
    -----
    The sets are called different when one of the four looks rejects that they have one law; its p-values are multiplied
    by four, and by the number of generated sets, so that all together hold `level`. What a look says (which coordinate
    is shifted, that points are missing) is said only where the p-value of that very statement is small enough, with all
    others allowed for. Where sets are different, rank correlations of pairs of coordinates are compared too, so that a
    wrong dependence has a name; this adds words, and never makes sets different. "Cannot tell" means that not even a
    shift of one coordinate by half a standard deviation would be found 4 times in 5.

    Random divisions need points that are independent: thin the draws of a Markov chain first. Distances depend on
    units: scale coordinates that have different ones.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(2)
    >>> real = rng.normal(size=(300, 2))
    >>> shifted = compare_samples(real, rng.normal([0.0, 1.0], 1.0, size=(300, 2)), columns=["height", "weight"])
    >>> shifted.verdict.headline
    'The generated points differ from the real ones (p < 0.001).'
    >>> shifted.verdict.sentences[0]
    'Location: the generated points are shifted in weight by 1 sd upwards.'
    >>> compare_samples(real, rng.normal(size=(300, 2))).verdict.status
    'no evidence'
    """
    level, chance = check_level(level), generator(rng)
    B = _divisions(resamples, level)
    called = report_names(names, "{'source': 'run 7'}")
    generated = _read_sets(points)
    if y is None:
        return _without_truth(generated, level, called, chance)
    real = _read(y, "y")
    _check_frames(y, points)
    sets = {name: _paired(real, name, given) for name, given in generated.items()}
    labels = coordinate_names(columns, column_names(y), real.shape[1])
    tests = len(LOOKS) * len(sets)
    compared = {
        name: Compared(pair, REAL, name, labels, level, B * len(sets), chance, tests, len(sets) == 1)
        for name, pair in sets.items()
    }
    looks: dict[str, list[PointLook]] = {name: [look(about) for look in LOOKS] for name, about in compared.items()}
    diversity = diversity_look({REAL: real, **{name: pair.points for name, pair in sets.items()}}, chance)
    every = [look for found in looks.values() for look in found]
    verdict = point_verdict(
        compared, looks, dependence_sentences
    )  # the last to use chance: numbers do not depend on it
    findings = Findings(
        kind="points",
        n=len(real) + sum(pair.m for pair in sets.values()),
        level=level,
        verdict=verdict,
        sections=(*_sections(looks), diversity.section),
        caveats=tuple(dict.fromkeys(text for look in (*every, diversity) for text in look.caveats)) + CAVEATS,
        names=called,
        version=__version__,
    )
    return Audit(findings)


CAVEATS = (
    "Points are taken to be independent of each other; draws of a Markov chain must be thinned first.",
    "Distances mix coordinates: one in small units counts more. Scale coordinates that have different units.",
)


def _divisions(resamples: int | None, level: float) -> int:
    """Return the number of divisions, enough for the smallest p-value they can give to be small enough."""
    least = math.ceil(len(LOOKS) * len(Asked._fields) / (1 - level) - 1e-9) - 1
    if resamples is None:
        return max(DIVISIONS, least)
    given = check_count("resamples", resamples)
    if given < least:
        raise InputError(
            f"resamples must be at least {least:,} at level={level:g}, so that a difference can be found at all; got "
            f"{given:,}"
        )
    return given


def _sections(looks: Mapping[str, list[PointLook]]) -> tuple[Section, ...]:
    """Return a section for each look, or where there are several sets one for each set."""
    if len(looks) == 1:
        return tuple(look.section for found in looks.values() for look in found if look.section.measurements)
    return tuple(
        Section(
            f"set {name}",
            name,
            f"How does {name} differ from the real points?",
            tuple(measurement for look in found for measurement in look.section.measurements),
            tuple(_of_set(figure, name) for look in found for figure in look.section.figures),
            tuple(_of_set(table, name) for look in found for table in look.section.tables),
        )
        for name, found in looks.items()
    )


def _of_set(part: Titled, name: str) -> Titled:
    """Return a figure or a table whose title says which set it is about: no two on a page have the same."""
    return replace(part, title=f"{name}: {part.title[0].lower()}{part.title[1:]}")


def _without_truth(
    generated: Mapping[str, FloatArray], level: float, called: Mapping[str, str], rng: np.random.Generator
) -> Audit:
    look = diversity_look(generated, rng)
    findings = Findings(
        kind="points",
        n=sum(map(len, generated.values())),
        level=level,
        verdict=no_truth({name: m.value for name, m in zip(generated, look.section.measurements, strict=True)}),
        sections=(look.section,),
        caveats=look.caveats,
        names=called,
        version=__version__,
    )
    return Audit(findings)


def _read_sets(points: Any) -> dict[str, FloatArray]:
    """Return the generated sets by their names."""
    if not isinstance(points, Mapping):
        return {GENERATED: _read(points, "points")}
    if not points:
        raise InputError("points must hold at least one set; got an empty mapping")
    labels = set_labels(list(points))
    found = {name: _read(given, f"points[{name!r}]") for name, given in zip(labels, points.values(), strict=True)}
    first = next(iter(found))
    for name, array in found.items():
        if array.shape[1] != found[first].shape[1]:
            raise InputError(
                f"all sets must have the same number of columns; {first!r} has {found[first].shape[1]} and {name!r} "
                f"{array.shape[1]}"
            )
    return found


def _check_frames(y: Any, points: Any) -> None:
    """Refuse frames whose columns have other names than those of y, or another order."""
    if not isinstance(points, Mapping):
        check_names(y, points)
        return
    for name, given in points.items():
        check_names(y, given, f"points[{shown(name)}]")


def _read(values: Any, name: str) -> FloatArray:
    """Return a set of points in an order that is not theirs, so that chance does not draw by the order of the rows."""
    points = read_points(values, name)
    return points[point_order(points)]


def _paired(real: FloatArray, name: str, given: FloatArray) -> PointSets:
    try:
        return read_point_sets(real, given)
    except InputError as problem:
        raise problem if name == GENERATED else problem.within("", " (set {name})", name=repr(name)) from None
