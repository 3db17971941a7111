"""Unnormalised calibration mean embedding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.catalogue import metric
from calibrant.errors import InputError, shown
from calibrant.inputs import Binary, Classes, check_count, generator, read_binary, read_probabilities
from calibrant.inputs.laws import Law, Samples
from calibrant.inputs.outcomes import LawRows, read_outcomes
from calibrant.inputs.weights import unit_weights
from calibrant.kernels.fitted import AnyKernel, Chance, DrawnRows, resolved
from calibrant.kernels.kernel import JointKernel, Product
from calibrant.kernels.locations import Locations, location_scores
from calibrant.metrics.skce import check_options
from calibrant.primitives.canonical import canonical_order
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.redraw import redraw_rows
from calibrant.summaries import Moments


def summarise(rows: DrawnRows, *, locations: Any, kernel: AnyKernel, draws: int | None, rng: Any, **_: Any) -> Moments:
    """Return the moments of the row scores Z_j of each location."""
    check_options(kernel=kernel, unbiased=True, shuffle=False, draws=draws)
    chance = Chance(draws, generator(rng))
    product, places = located(rows, locations, kernel, chance)
    name = f"ucme[{places.digest(product)}]"
    total = Moments.zero()
    parts = chunks(rows.n) if places.chosen is None else [slice(0, rows.n)]
    for part in parts:
        piece = rows.take(np.arange(part.start, part.stop))
        Z = location_scores(piece, places, product, chance).of(piece.y)
        total += Moments.of({f"{name}.{j}": Z[:, j] for j in range(places.J)}, piece.w)
    return total


@metric(
    reads=(Moments,),
    summarise=summarise,
    predictions=("binary", "classes", "laws", "samples"),
    range=(0.0, np.inf),
    mean=True,
)
def ucme(
    summary: Moments,
    *,
    locations: Any = 10,
    kernel: AnyKernel = None,
    draws: int | None = None,
    rng: Any = 0,
) -> float:
    r"""Unnormalised calibration mean embedding: the kernel calibration error seen from J test locations.

    For locations :math:`T_j = (t_j, u_j)`, a prediction and a target each,

    .. math::

        Z_{ij} = k_P(p_i, t_j) \bigl[k_Y(y_i, u_j) - E\,k_Y(Z_i, u_j)\bigr], \qquad
        \mathrm{UCME} = \frac{1}{J} \sum_j \Bigl(\frac{1}{n} \sum_i Z_{ij}\Bigr)^2 ,

    the mean square of the row means (Widmann, Lindsten and Zachariah 2021). It costs O(nJ).

    Parameters
    ----------
    y, prediction, kernel, draws, weights, classes, pos_label
        As in `skce`.
    locations
        A pair ``(prediction, y)`` of the same kind, chosen without a look at the outcomes, targets as 0 and 1 or
        column numbers; or a whole number J: J rows drawn with `rng`, each with a target drawn from its own prediction.
    rng
        A Generator or a whole number.

    Returns
    -------
    float

    Notes
    -----
    The value is a square and depends on kernel and locations; it is above 0 for calibrated predictions too. `cme_test`
    says whether it is more than chance.

    Examples
    --------
    One location at p = 0.5, y = 1, the kernel there exp(-0.5) for both rows; residuals 1 - 0 and 1 - 1:
    (exp(-0.5) · (1 + 0) / 2)².

    >>> from calibrant import Exponential
    >>> round(ucme([1, 1], [0.0, 1.0], locations=([0.5], [1]), kernel=Exponential(1.0)), 6)
    0.09197
    """
    names = [name for name in summary.names if name.startswith("ucme[")]
    if not names:
        summary.mean_of("ucme")  # refuses, and says what the summary holds
    return float(np.mean([summary.mean_of(name) ** 2 for name in names]))


def located(rows: DrawnRows, locations: Any, kernel: AnyKernel, chance: Chance) -> tuple[Product, Locations]:
    """Return the kernels with numbers for length scales, and the locations."""
    if isinstance(kernel, JointKernel):
        raise InputError("test locations need a product of kernels, such as Exponential() * Delta()")
    product = resolved(rows, kernel, chance)
    assert isinstance(product, Product)
    if not isinstance(locations, tuple):
        J = check_count("locations", locations) if _is_number(locations) else _refuse(locations)
        return product, _drawn(rows, J, chance.rng)
    if len(locations) != 2:
        _refuse(locations)
    try:
        return product, Locations(_read_like(rows, *locations))
    except InputError as problem:
        raise InputError(f"locations must be a pair (prediction, y) like the data, y as numbers: {problem}") from None


def _drawn(rows: DrawnRows, J: int, rng: np.random.Generator) -> Locations:
    """Return J rows drawn with `rng`, whatever their order, each with a target drawn from its own prediction."""
    if rows.n < J:
        raise InputError(f"locations={J} draws {J} different rows; there are {rows.n}. Pass fewer")
    chosen = canonical_order(rows)[np.sort(rng.choice(rows.n, J, replace=False))]
    few = redraw_rows(replace(rows.take(chosen), w=unit_weights(J)), rng)
    # Draws change places with an outcome when they are redrawn: their locations are kept as they are.
    fixed = isinstance(rows, LawRows) and isinstance(rows.law, Samples)
    return Locations(few, None if fixed else chosen)


def _read_like(rows: DrawnRows, prediction: Any, y: Any) -> DrawnRows:
    """Read locations as the prediction itself was read."""
    if isinstance(rows, LawRows):
        if not isinstance(prediction, Law):
            raise InputError(f"locations must hold a law like the prediction, {type(rows.law).__name__}, and targets")
        return read_outcomes(y, prediction)
    if isinstance(rows, Binary):
        return read_binary(y, prediction, verb="ucme")
    read = read_probabilities(y, prediction)
    if not isinstance(read, Classes) or read.K != rows.K:
        raise InputError(f"locations must hold class probabilities with {rows.K} columns, like the prediction")
    return replace(read, w=unit_weights(read.n))


def _is_number(locations: Any) -> bool:
    return np.ndim(locations) == 0 and not isinstance(locations, str)


def _refuse(locations: Any) -> int:
    raise InputError(
        "locations must be a whole number J or a pair (prediction, y) of test predictions and targets; "
        f"got {shown(locations)}"
    )
