"""Unnormalised calibration mean embedding."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.decorators import metric
from calibrant.core.dispatch import chunks
from calibrant.core.moments import Moments
from calibrant.core.null import redraw_rows
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray, unit_weights
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.probabilities import Binary, Classes, read_binary, read_probabilities
from calibrant.inputs.rows import DistributionRows, DrawnRows, read_outcomes
from calibrant.inputs.samples import Samples
from calibrant.kernel_errors.fitted import AnyKernel, Chance, form_of, resolved
from calibrant.kernel_errors.skce import check_options
from calibrant.kernels.composed import target_matrix
from calibrant.kernels.forms import DistributionForm, LineForm, MeanForm, VectorForm
from calibrant.kernels.kernel import JointKernel, Product
from calibrant.kernels.row_order import canonical_order, joined, table_of


@dataclass(frozen=True, eq=False)
class Locations:
    """J pairs T_j = (t_j, u_j) of a prediction and a target; `rows` holds both, one row per location."""

    rows: DrawnRows
    chosen: NDArray[np.intp] | None = None  # the rows of the data that they are, if they are

    @property
    def J(self) -> int:
        """Number of locations."""
        return self.rows.n

    def digest(self, kernel: Product) -> str:
        """Return a short name of these locations with this kernel, so that only like is merged with like."""
        rows = self.rows
        parts: list[Any] = [rows.y]
        if isinstance(rows, Binary):
            parts.append(rows.p)
        elif isinstance(rows, Classes):
            parts.append(rows.P)
        else:
            parts.append(_bytes_of(rows.distribution))
        text = repr(kernel).encode() + b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
        return hashlib.sha256(text).hexdigest()[:12]


def _bytes_of(distribution: Distribution) -> NDArray[np.uint8]:
    """Return bytes that differ where laws do; a law of one's own is known by its representation only."""
    try:
        kind, columns = table_of(distribution)
    except SummaryError:
        return np.frombuffer(repr(distribution).encode(), np.uint8)
    return np.frombuffer(kind.encode() + np.ascontiguousarray(columns).tobytes(), np.uint8)


@dataclass(frozen=True, eq=False)
class LocationScores:
    """Z_ij = k_P(p_i, t_j) [k_Y(y_i, u_j) - E k_Y(Z_i, u_j)] as a function of the outcomes.

    `kernels` and `expectations` hold k_P and E k_Y as (n, J): one of each, or two for the halves of draws, whose mean
    is taken.
    """

    kernels: tuple[FloatArray, ...]
    expectations: tuple[FloatArray, ...]
    u: NDArray[Any]
    product: Product
    G: FloatArray | None

    def of(self, y: NDArray[Any]) -> FloatArray:
        """Return Z (n, J) for these outcomes."""
        target = self._target(y)
        parts = [k * (target - E) for k, E in zip(self.kernels, self.expectations, strict=True)]
        return np.asarray(sum(parts) / len(parts))

    def _target(self, y: NDArray[Any]) -> FloatArray:
        if self.G is not None:
            return np.asarray(self.G[y[:, None].astype(np.intp), self.u[None, :].astype(np.intp)])
        gap = y[:, None] - self.u[None]
        return self.product.target.of_distance(np.abs(gap) if y.ndim == 1 else np.sqrt(np.square(gap).sum(axis=-1)))


def location_scores(rows: DrawnRows, locations: Locations, kernel: Product, chance: Chance) -> LocationScores:
    """Compare rows with locations, for kernels whose length scales are numbers."""
    n, J = rows.n, locations.J
    form = form_of(_together(rows, locations), kernel, chance)
    i, j = np.arange(n)[:, None], np.arange(n, n + J)[None, :]
    u = locations.rows.y
    if isinstance(form, (LineForm, VectorForm)):
        K = 2 if isinstance(form, LineForm) else form.P.shape[1]
        G = target_matrix(kernel.target, K)
        G = np.eye(K) if G is None else G
        P = np.column_stack([1 - form.x, form.x])[:n] if isinstance(form, LineForm) else form.P[:n]
        return LocationScores((kernel.prediction.of_distance(form.distance(i, j)),), ((P @ G)[:, u],), u, kernel, G)
    forms = form.forms if isinstance(form, MeanForm) else (form,)
    kernels, expectations = [], []
    for part in forms:
        assert isinstance(part, DistributionForm)
        kernels.append(kernel.prediction.of_distance(part.distance(i, j)))
        expectations.append(part.means.single(i, u[None, :].astype(np.float64)))
    return LocationScores(tuple(kernels), tuple(expectations), u, kernel, None)


def _together(rows: DrawnRows, locations: Locations) -> DrawnRows:
    """Return the rows, then the locations, as one."""
    others = locations.rows
    w = unit_weights(rows.n + others.n)
    y = np.concatenate([rows.y, others.y])
    if isinstance(rows, Binary) and isinstance(others, Binary):
        return Binary(y, np.concatenate([rows.p.astype(np.float64), others.p.astype(np.float64)]), w)
    if isinstance(rows, Classes) and isinstance(others, Classes):
        if rows.K != others.K:
            raise InputError(f"locations must have the {rows.K} classes of the prediction; got {others.K}")
        return Classes(y, np.concatenate([rows.P.astype(np.float64), others.P.astype(np.float64)]), w)
    if isinstance(rows, DistributionRows) and locations.chosen is not None:
        return DistributionRows(y, rows.distribution.take(np.concatenate([np.arange(rows.n), locations.chosen])), w)
    if isinstance(rows, DistributionRows) and isinstance(others, DistributionRows):
        try:
            return DistributionRows(y, joined(_draws_alone(rows.distribution), _draws_alone(others.distribution)), w)
        except SummaryError as problem:
            raise InputError(f"locations must be a law like that of the prediction: {problem}") from None
    raise InputError("locations must be of the same kind as the prediction: a pair (prediction, y)")


def _draws_alone(distribution: Distribution) -> Distribution:
    """Return draws without their densities, which no kernel looks at."""
    return Samples(distribution.draws) if isinstance(distribution, Samples) else distribution


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
    predictions=("binary", "classes", "distributions", "samples"),
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
    fixed = isinstance(rows, DistributionRows) and isinstance(rows.distribution, Samples)
    return Locations(few, None if fixed else chosen)


def _read_like(rows: DrawnRows, prediction: Any, y: Any) -> DrawnRows:
    """Read locations as the prediction itself was read."""
    if isinstance(rows, DistributionRows):
        if not isinstance(prediction, Distribution):
            raise InputError(
                f"locations must hold a law like the prediction, {type(rows.distribution).__name__}, and targets"
            )
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
