"""Unnormalised calibration mean embedding: kernel errors seen from a few test locations, and their test."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Labels, Outcomes, Rng
from calibrant.core.catalogue import Entry, all_rows, enter, public
from calibrant.core.dispatch import chunks
from calibrant.core.kept_rows import KeptRows, joined
from calibrant.core.moments import Moments
from calibrant.core.null import monte_carlo_words, reaches, redraw_centre, resampled_pvalue
from calibrant.core.ordered import Ordered
from calibrant.core.results import TestResult
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray, unit_weights
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.probabilities import Binary, Classes, read_binary, read_probabilities
from calibrant.inputs.rows import DistributionRows, DrawnRows, read_outcomes
from calibrant.inputs.samples import Samples
from calibrant.kernel_errors.fitted import AnyKernel, Randomness, form_of, has_median_target, resolved
from calibrant.kernel_errors.skce import check_distance
from calibrant.kernels.composed import check_kernel_option, target_matrix
from calibrant.kernels.forms import DistributionForm, LineForm, MeanForm, VectorForm
from calibrant.kernels.kernel import JointKernel, Product
from calibrant.kernels.kernel_rows import canonical_order
from calibrant.progress import steps

LOCATED_KINDS = ("binary", "classes", "distributions", "samples")
DROPPED_EIGENVALUE = 1e-10  # of the largest eigenvalue of the covariance
ROUNDING = 1e-14


@public
def ucme(
    y: Outcomes,
    prediction: ArrayLike | Distribution | None = None,
    *,
    locations: int | tuple[ArrayLike | Distribution, ArrayLike] = 10,
    kernel: AnyKernel = None,
    draws: int | None = None,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
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
        A pair ``(prediction, y)`` of the same kind as the data, chosen without looking at the outcomes, with targets as
        0 and 1 or column numbers; or a whole number J for J rows of the data, drawn with `rng`, each with a target
        drawn from its own prediction.
    rng
        A Generator or a whole number: for draws, locations, and the rows that give a ``"median"`` length scale.

    Examples
    --------
    One location at p = 0.5, y = 1, the kernel there exp(-0.5) for both rows; residuals 1 - 0 and 1 - 1:
    (exp(-0.5) · (1 + 0) / 2)².

    >>> from calibrant.kernels import Exponential
    >>> round(ucme([1, 1], [0.0, 1.0], locations=([0.5], [1]), kernel=Exponential(1.0)), 6)
    0.09197
    """
    options = UcmeOptions(locations, kernel, draws, rng)
    return UCME(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class UcmeOptions:
    locations: int | tuple[ArrayLike | Distribution, ArrayLike]
    kernel: AnyKernel
    draws: int | None
    rng: Rng

    def __post_init__(self) -> None:
        check_kernel_option(self.kernel)
        if isinstance(self.kernel, JointKernel):
            raise InputError("test locations need a product of kernels, such as Exponential() * Delta()")
        if self.draws is not None:
            check_count("draws", self.draws, least=2)
        generator(self.rng)
        if isinstance(self.locations, tuple) and len(self.locations) == 2:
            return
        if isinstance(self.locations, (tuple, str)) or np.ndim(self.locations):
            raise InputError(
                "locations must be a whole number J or a pair (prediction, y) of test predictions and targets; "
                f"got {shown(self.locations)}"
            )
        check_count("locations", self.locations)

    @property
    def randomness(self) -> Randomness:
        return Randomness(self.draws, generator(self.rng))


def _summarise(rows: DrawnRows, options: UcmeOptions) -> Moments:
    random = options.randomness
    product, places = located(rows, options, random)
    name = f"ucme[{places.digest(product)}]"
    total = Moments.zero()
    parts = chunks(rows.n) if places.chosen is None else [slice(0, rows.n)]
    for part in parts:
        piece = rows.take(np.arange(part.start, part.stop))
        Z = location_scores(piece, places, product, random).of(piece.y)
        total += Moments.of({f"{name}.{j}": Z[:, j] for j in range(places.J)}, piece.w)
    return total


def _finish(summary: Moments, options: UcmeOptions) -> float:
    names = [name for name in summary.names if name.startswith("ucme[")]
    if not names:
        summary.mean_of("ucme")  # refuses, and says what the summary contains
    return float(np.mean([summary.mean_of(name) ** 2 for name in names]))


UCME = enter(
    Entry(
        ucme,
        UcmeOptions,
        _summarise,
        _finish,
        reads=(Moments,),
        predictions=LOCATED_KINDS,
        range=(0.0, np.inf),
        mean=True,
    )
)


@dataclass(frozen=True, eq=False)
class Locations:
    """J pairs T_j = (t_j, u_j) of a prediction and a target; `rows` holds both, one row per location."""

    rows: DrawnRows
    chosen: NDArray[np.intp] | None = None  # the rows of the data that they are, if they are

    @property
    def J(self) -> int:
        return self.rows.n

    def digest(self, kernel: Product) -> str:
        """Return a short name of these locations with this kernel, by which only equal ones are merged."""
        parts = (self.rows.y, _bytes_of(self.rows.prediction))
        text = repr(kernel).encode() + b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
        return hashlib.sha256(text).hexdigest()[:12]


def _bytes_of(distribution: NDArray[Any] | Distribution) -> NDArray[Any]:
    """Return an array that differs where predictions do; a distribution of the user's own is known by its `repr`."""
    if not isinstance(distribution, Distribution):
        return distribution
    try:
        kind, columns = distribution.columns()
    except SummaryError:
        return np.frombuffer(repr(distribution).encode(), np.uint8)
    return np.frombuffer(repr(kind).encode() + np.ascontiguousarray(columns).tobytes(), np.uint8)


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


def location_scores(rows: DrawnRows, locations: Locations, kernel: Product, random: Randomness) -> LocationScores:
    n, J = rows.n, locations.J
    form = form_of(_together(rows, locations), kernel, random)
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
    """Return the rows, then the locations, as one; both are of one kind."""
    others = locations.rows
    w = unit_weights(rows.n + others.n)
    y = np.concatenate([rows.y, others.y])
    if locations.chosen is not None:
        chosen = np.concatenate([np.arange(rows.n), locations.chosen])
        return cast(DrawnRows, replace(cast(Any, rows.take(chosen)), y=y, w=w))
    predictions = [rows.prediction, others.prediction]
    if rows.kind == "samples":  # without their densities, which no kernel uses
        predictions = [Samples(each.draws) if isinstance(each, Samples) else each for each in predictions]
    try:
        return type(rows)(y, joined(*predictions), w)
    except SummaryError as problem:
        raise InputError(f"locations must be a distribution like the prediction: {problem}") from None


def located(rows: DrawnRows, options: UcmeOptions, random: Randomness) -> tuple[Product, Locations]:
    """Return the kernels with numbers for length scales, and the locations."""
    product = resolved(rows, options.kernel, random)
    assert isinstance(product, Product)
    if not isinstance(options.locations, tuple):
        return product, _drawn(rows, options.locations, random.rng)
    try:
        return product, Locations(_read_like(rows, *options.locations))
    except InputError as problem:
        raise InputError(f"locations must be a pair (prediction, y) like the data, y as numbers: {problem}") from None


def _drawn(rows: DrawnRows, J: int, rng: np.random.Generator) -> Locations:
    """Return J rows drawn with `rng`, whatever their order, each with a target drawn from its own prediction."""
    if rows.n < J:
        raise InputError(f"locations={J} draws {J} different rows; there are {rows.n}. Pass fewer")
    chosen = canonical_order(rows)[np.sort(rng.choice(rows.n, J, replace=False))]
    few = replace(rows.take(chosen), w=unit_weights(J)).redrawn(rng)
    # Draws change places with an outcome when they are redrawn: their locations are kept as they are.
    return Locations(few, None if rows.kind == "samples" else chosen)


def _read_like(rows: DrawnRows, prediction: Any, y: Any) -> DrawnRows:
    if isinstance(rows, DistributionRows):
        if not isinstance(prediction, Distribution):
            raise InputError(
                f"locations must contain a distribution like the prediction, {type(rows.distribution).__name__}, and "
                "targets"
            )
        return read_outcomes(y, prediction)
    if isinstance(rows, Binary):
        return read_binary(y, prediction, verb="ucme")
    read = read_probabilities(y, prediction)
    if not isinstance(read, Classes) or read.K != rows.K:
        raise InputError(f"locations must contain class probabilities with {rows.K} columns, like the prediction")
    return replace(read, w=unit_weights(read.n))


@public
def cme_test(
    y: Outcomes,
    prediction: ArrayLike | Distribution | None = None,
    *,
    locations: int | tuple[ArrayLike | Distribution, ArrayLike] = 10,
    kernel: AnyKernel = None,
    null: Literal["monte-carlo"] = "monte-carlo",
    resamples: int = 999,
    draws: int | None = None,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> TestResult:
    r"""Test calibration by the calibration mean embedding at J test locations.

    With the row scores :math:`Z_i \in R^J` of `ucme`, their mean :math:`\bar z` and sample covariance S,

    .. math:: Q = n\, \bar z^T S^+ \bar z ,

    where eigenvalues of S below 1e-10 of the largest are dropped and r is the rank kept.

    Parameters
    ----------
    y, prediction, locations, kernel, draws, weights, classes, pos_label
        As in `ucme`.
    null
        ``"monte-carlo"``: outcomes redrawn from the predictions, everything else fixed. Exact, and the only choice:
        the asymptotic distributions do not keep their level.
    resamples
        Number of redraws.
    rng
        A Generator or a whole number.

    Returns
    -------
    TestResult
        `statistic` is Q, `estimate` the UCME; `details` has `rank` and `locations`.

    Examples
    --------
    >>> y, p = [0] * 40, [0.9, 0.8, 0.7, 0.6] * 10
    >>> cme_test(y, p, locations=2).pvalue
    0.001
    """
    options = CmeTestOptions(locations, kernel, draws, rng, null, resamples)
    return CME_TEST(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class CmeTestOptions(UcmeOptions):
    """The options of `cme_test`: those of `ucme`, and how the null distribution is found."""

    null: Literal["monte-carlo"]
    resamples: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("resamples", self.resamples)


def _finish_test(summary: Ordered | KeptRows, options: CmeTestOptions) -> TestResult:
    check_distance(summary, options.kernel)
    B, random = options.resamples, options.randomness
    if isinstance(summary, Ordered):
        rows: DrawnRows = summary.rows_at(np.arange(summary.n))
    else:
        rows = summary.rows.take(canonical_order(summary.rows))
    product, places = located(rows, options, random)
    if rows.n <= places.J:
        raise InputError(f"cme_test needs more rows than locations; got {rows.n} rows and {places.J} locations")
    scores = location_scores(rows, places, product, random)
    v = rows.w / rows.w.mean()
    Z = scores.of(rows.y) * v[:, None]
    Q, rank = statistic(Z)
    rescaled = has_median_target(rows, options.kernel)

    def scores_of(redrawn: DrawnRows) -> FloatArray:
        """Return Z; all is recomputed where draws or the target's length scale change with the outcomes."""
        found = product
        if rescaled:
            anew = Product(product.prediction, product.target.with_lengthscale("median"))
            found = cast(Product, resolved(redrawn, anew, random))
        elif rows.kind != "samples":
            return scores.of(redrawn.y)
        return location_scores(redrawn, places, found, random).of(redrawn.y)

    centre = redraw_centre(rows, random.rng)
    redraws = (centre.redrawn(random.rng) for _ in steps(B, size=1, label="redrawing outcomes for cme_test"))
    redrawn = np.array([statistic(scores_of(each) * v[:, None])[0] for each in redraws])
    return TestResult(
        statistic=Q,
        pvalue=resampled_pvalue(int(np.count_nonzero(reaches(redrawn, Q))), B),
        estimate=float(np.square(Z.mean(axis=0)).mean()),
        method=f"kernel test of calibration at {places.J} locations (CME); {monte_carlo_words(B)}",
        n=rows.n,
        details={"rank": rank, "locations": places.J},
    )


CME_TEST = enter(
    Entry(
        cme_test,
        CmeTestOptions,
        all_rows,
        _finish_test,
        reads=(Ordered, KeptRows),
        kind="test",
        predictions=LOCATED_KINDS,
    )
)


def statistic(Z: FloatArray) -> tuple[float, int]:
    Z = np.where(np.abs(Z) < ROUNDING, 0.0, Z)  # kernels are at most about 1: what is smaller is rounding
    n, mean = len(Z), Z.mean(axis=0)
    centred = Z - mean
    values, vectors = np.linalg.eigh(centred.T @ centred / (n - 1))
    # Rows that differ by rounding only have no covariance.
    kept = (values > DROPPED_EIGENVALUE * max(float(values[-1]), 0.0)) & (values > (ROUNDING * np.abs(Z).max()) ** 2)
    if not kept.any():
        return (0.0, 0) if not mean.any() else (np.inf, 0)
    projected = vectors[:, kept].T @ mean
    return float(n * (projected**2 / values[kept]).sum()), int(kept.sum())
