"""Test of calibration by the calibration mean embedding at test locations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Labels, Outcomes, Rng
from calibrant.core.catalogue import Entry, all_rows, enter, public
from calibrant.core.kept_rows import KeptRows
from calibrant.core.null import monte_carlo_words, reaches, redraw_centre, resampled_pvalue
from calibrant.core.ordered import Ordered
from calibrant.core.results import TestResult
from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.options import check_count
from calibrant.inputs.rows import DrawnRows
from calibrant.kernel_errors.fitted import AnyKernel, Randomness, has_median_target, resolved
from calibrant.kernel_errors.mean_embedding import Locations, LocationScores, UcmeOptions, located, location_scores
from calibrant.kernel_errors.skce import check_distance
from calibrant.kernels.kernel import Product
from calibrant.kernels.kernel_rows import canonical_order
from calibrant.progress import steps

DROPPED_EIGENVALUE = 1e-10  # of the largest eigenvalue of the covariance
ROUNDING = 1e-14


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


def _finish(summary: Ordered | KeptRows, options: CmeTestOptions) -> TestResult:
    check_distance(summary, options.kernel)
    B, random = options.resamples, options.randomness
    rows = _rows(summary)
    product, places = located(rows, options, random)
    if rows.n <= places.J:
        raise InputError(f"cme_test needs more rows than locations; got {rows.n} rows and {places.J} locations")
    scores = location_scores(rows, places, product, random)
    v = rows.w / rows.w.mean()
    Z = scores.of(rows.y) * v[:, None]
    Q, rank = statistic(Z)
    replicates = _redraws(rows, places, product, scores, has_median_target(rows, options.kernel), B, random)
    redrawn = np.array([statistic(Z_b * v[:, None])[0] for Z_b in replicates])
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
        _finish,
        reads=(Ordered, KeptRows),
        kind="test",
        predictions=("binary", "classes", "distributions", "samples"),
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


def _redraws(
    rows: DrawnRows,
    places: Locations,
    product: Product,
    scores: LocationScores,
    rescaled: bool,
    B: int,
    random: Randomness,
) -> Iterator[FloatArray]:
    """Yield Z for redrawn outcomes; all is recomputed where draws or the target's length scale change with them."""
    centre = redraw_centre(rows, random.rng)
    for _ in steps(B, size=1, label="redrawing outcomes for cme_test"):
        redrawn = centre.redrawn(random.rng)
        if rows.kind == "samples" or rescaled:
            found = product
            if rescaled:
                fitted = resolved(
                    redrawn, Product(product.prediction, product.target.with_lengthscale("median")), random
                )
                assert isinstance(fitted, Product)
                found = fitted
            yield location_scores(redrawn, Locations(places.rows, places.chosen), found, random).of(redrawn.y)
        else:
            yield scores.of(redrawn.y)


def _rows(summary: Ordered | KeptRows) -> DrawnRows:
    if isinstance(summary, Ordered):
        return summary.rows_at(np.arange(summary.n))
    rows: DrawnRows = summary.rows
    return rows.take(canonical_order(rows))
