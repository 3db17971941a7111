"""Ranks of outcomes among their draws by the distance to a reference point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Rng
from calibrant.core.catalogue import public
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray, read_array, refuse_where
from calibrant.inputs.options import generator
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.counting import PASS_RNG, Ranked
from calibrant.ranking.covariates import read_covariates
from calibrant.ranking.effects import RankArray, check_rng, enter_ranks
from calibrant.ranking.members import DRAWN, Members, Scale, Score, check_scale, coordinate_scale, member_ranks
from calibrant.ranking.summary import covariate_columns

FOLDS = 3
SMALLEST_SQUARE = 1e-290  # that is still exact in float64
References: TypeAlias = (
    Literal["covariates", "other"] | ArrayLike | Callable[[NDArray[Any] | None, np.random.Generator], ArrayLike] | None
)


@public
def tarp_ranks(
    y: Outcomes,
    prediction: Samples | None = None,
    *,
    references: References = None,
    covariates: ArrayLike | None = None,
    scale: Scale = "pooled",
    rng: Rng | None = None,
) -> RankArray:
    r"""Number of draws nearer to a reference point than the outcome: uniform on 0 to M if they are exchangeable.

    .. math:: r_i = \#\{j : \lVert x_{ij} - t_i \rVert < \lVert y_i - t_i \rVert\}

    Parameters
    ----------
    y
        Outcomes, numbers (n,) or vectors (n, D).
    prediction
        `Samples` of draws (n, M) or (n, M, D), those of row i in ``draws[i]``.
    references
        The points :math:`t_i`. The one of row i must not depend on :math:`y_i`.

        ``"covariates"``
            What the covariates tell of the outcome, with its noise: each third of the rows, drawn at random, is
            predicted by least squares from another third, plus a residual of that one. The default if there are
            covariates.
        ``"other"``
            The outcome of another row: y moved round by a random number of rows. The default without covariates.
        array of the shape of y
            Points of your own.
        function of (covariates, rng)
            It returns such an array. It receives the covariates of the rows as an array, or None, and a numpy
            Generator.
    covariates
        What the predictions were made from, for ``"covariates"`` numbers of shape (n,) or (n, q).
    scale
        What coordinates are divided by before distances are taken, as in `joint_ranks`.
    rng
        Generator or seed; needed unless references are an array, and then for ties.

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    The outcome is 2 away from the reference, the draws 1, 3 and 4:

    >>> from calibrant import Samples
    >>> tarp_ranks([2.0], Samples([[1.0, -3.0, 4.0]]), references=[0.0])
    array([1])
    """
    return TARP_RANKS(y, prediction, TarpOptions(references, covariates, scale, rng))


@dataclass(frozen=True)
class TarpOptions:
    references: References
    covariates: ArrayLike | None
    scale: Scale
    rng: Rng | None

    def __post_init__(self) -> None:
        if isinstance(self.references, str) and self.references not in ("covariates", "other"):
            words = 'references must be "covariates", "other", an array like y or a function of (covariates, rng)'
            raise InputError(f"{words}; got {shown(self.references)}")
        check_scale(self.scale)
        check_rng(self.rng)


def _ranked(rows: DistributionRows, options: TarpOptions) -> Ranked:
    members = Members.of(rows)
    stream = None if options.rng is None else generator(options.rng)
    points = _references(options.references, options.covariates, rows, members, stream)
    score = _distances(members, points, coordinate_scale(options.scale, members))
    what = "the distance to the reference"
    return member_ranks(score, members.n, stream, M=members.M, size=members.size, what=what)


TARP_RANKS = enter_ranks(tarp_ranks, TarpOptions, _ranked, predictions=("samples",), instead=DRAWN)


def _distances(members: Members, points: FloatArray, scale: FloatArray) -> Score:
    """Return the squared distances to the reference, summed one by one, in the same order for every member."""

    def score(part: slice) -> FloatArray:
        z, t = members.columns(part), points[part].T[:, :, None]
        with np.errstate(over="ignore"):
            steps = (z - t) / scale[:, None, None]
            square = np.square(steps[0])
            for step in steps[1:]:
                square += step * step
        lost = (square == np.inf) | ((square < SMALLEST_SQUARE) & (z != t).any(axis=0))
        if lost.any():
            row, words = int(np.argmax(lost.any(axis=1))), "float64 does not represent the squared distances to"
            raise NotApplicableError(words + " the reference of {row}; choose another scale", row=part.start + row)
        return np.asarray(square)

    return score


def _references(
    references: Any, covariates: Any, rows: DistributionRows, members: Members, rng: np.random.Generator | None
) -> FloatArray:
    if references is None:
        references = "other" if covariates is None else "covariates"
    if not isinstance(references, str) and not callable(references):
        _refuse_covariates(covariates, "an array")
        return _read(references, "references", rows, rows.keep)
    if callable(references):
        given = None if covariates is None else read_covariates(covariates, rows.n, rows.keep)
        return _read(references(given, _needed(rng)), "what references(covariates, rng) returns", rows, None)
    if references == "other":
        _refuse_covariates(covariates, '"other"')
        return other_outcomes(members.y, _needed(rng))
    if covariates is None:
        raise InputError(
            'references="covariates" needs {covariates=}, what the predictions were made from', option="covariates"
        )
    return fitted_outcomes(members.y, covariate_columns(covariates, rows.n, rows.keep), _needed(rng))


def _read(points: Any, name: str, rows: DistributionRows, keep: NDArray[np.bool_] | None) -> FloatArray:
    array = read_array(points, name)
    shape = (rows.n if keep is None else keep.size, *rows.distribution.shape)
    if array.shape != shape:
        raise InputError(f"{name} must have the shape of y, one point per row, {shape}; got shape {array.shape}")
    bad = ~np.isfinite(array) if keep is None else ~np.isfinite(array) & keep.reshape(-1, *[1] * (array.ndim - 1))
    axes = ("row", "coordinate")[: array.ndim]
    refuse_where(bad, array, f"{name} must be finite", "Drop or repair such rows", axes=axes)
    found = array if keep is None else array[keep]
    if rows.n > 1 and np.array_equal(found, rows.y):
        raise InputError(f"{name} must not be the outcomes themselves, from which no draw can be nearer to them")
    return found.reshape(rows.n, -1)


def _needed(rng: np.random.Generator | None) -> np.random.Generator:
    if rng is None:
        raise InputError(f"tarp_ranks draws the references at random; {PASS_RNG}, or references as an array")
    return rng


def _refuse_covariates(covariates: Any, references: str) -> None:
    if covariates is not None:
        raise InputError(f"covariates= has no use with references that are {references}; leave one of them out")


def other_outcomes(y: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the outcome of another row for each row: y (n, D) moved round by a random number of rows."""
    n = len(y)
    if n < 2:
        raise NotApplicableError('references="other" are outcomes of other rows, and there is one row; pass an array')
    return np.roll(y, int(rng.integers(1, n)), axis=0)


def fitted_outcomes(y: FloatArray, x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return what the covariates x (n, q) tell of y (n, D), plus noise of the same size.

    The rows are put into thirds at random. Each third is predicted by least squares from the next one, the last from
    the first, and a residual of that one, drawn at random, is added. Two halves that predict each other would make the
    ranks of both go the same way: with 20 rows and 3 covariates a test at 5 % then rejects 6.4 %.
    """
    n, needed = len(y), FOLDS * (x.shape[1] + 1)
    if n < needed:
        words = f'references="covariates" needs {needed} rows or more for {x.shape[1]} covariates; got {n}'
        raise NotApplicableError(f"{words}. Pass fewer covariates, or references as an array")
    centre = x.min(axis=0) / 2 + x.max(axis=0) / 2
    half = x.max(axis=0) / 2 - x.min(axis=0) / 2
    design = np.column_stack([np.ones(n), (x - centre) / np.where(half > 0, half, 1.0)])  # in [-1, 1]
    order = rng.permutation(n)
    references = np.empty(y.shape)
    thirds = np.array_split(order, FOLDS)
    for own, other in zip(thirds, [*thirds[1:], thirds[0]], strict=True):
        coefficients = np.linalg.lstsq(design[other], y[other], rcond=None)[0]
        residuals = y[other] - design[other] @ coefficients
        references[own] = design[own] @ coefficients + residuals[rng.integers(len(other), size=len(own))]
    return references
