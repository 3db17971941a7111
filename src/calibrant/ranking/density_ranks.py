"""Ranks of outcomes among their draws by the density that was predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Rng
from calibrant.core.catalogue import public
from calibrant.core.dispatch import chunks
from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray, read_numbers, refuse_rounded, refuse_where
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples, float_type
from calibrant.ranking.counting import PASS_RNG, Ranked, as_compared, cells, rank_counts, ranked
from calibrant.ranking.effects import RankArray, check_rng, enter_ranks
from calibrant.ranking.members import BLOCK, Members, outcome_counts

DEFAULT_DRAWS = 999
TIED = "the density of the outcome equals that of draws"


@public
def energy_ranks(
    y: Outcomes,
    prediction: Distribution | None = None,
    *,
    log_density_y: ArrayLike | None = None,
    draws: int | None = None,
    rng: Rng | None = None,
) -> RankArray:
    r"""Number of draws at which the predicted density is higher than at the outcome: uniform if predictions are right.

    .. math:: r_i = \#\{j : \log q_i(x_{ij}) > \log q_i(y_i)\}

    With the energy :math:`-\log q_i` this is the rank of the outcome from low energy to high. A high rank is an outcome
    in an improbable place.

    Strong on spread, nearly blind to a small bias, and blind to its direction: never use it alone.

    Parameters
    ----------
    y
        Outcomes, numbers (n,) or vectors (n, D).
    prediction
        ``Samples(draws, log_density=...)`` of draws (n, M) or (n, M, D), those of row i in ``draws[i]``, with the log
        density at each of them, (n, M); or a distribution, which has its own.
    log_density_y : array_like of shape (n,)
        For `Samples`: the log density of row i at outcome i. Log densities, not energies: no minus sign. A constant
        that is the same for the draws and the outcome of a row may be missing; minus infinity is legal.
    draws
        For distributions without a closed form: how many draws the outcome is ranked among, 999 by default, at most
        1,000,000.
    rng
        Generator or seed; for ties, and for distributions that are drawn from.

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    Two of three draws are in a more probable place than the outcome:

    >>> from calibrant import Laplace, Samples
    >>> found = Samples([[0.0, 0.5, 3.0]], log_density=[[-1.0, -1.5, -4.0]])
    >>> energy_ranks([2.0], found, log_density_y=[-3.0])
    array([2])

    Half of a Laplace distribution is nearer to its median than log 2:

    >>> energy_ranks([0.6931], Laplace(0.0, 1.0))
    array([499])
    """
    return ENERGY_RANKS(y, prediction, EnergyOptions(log_density_y, draws, rng))


@dataclass(frozen=True)
class EnergyOptions:
    log_density_y: ArrayLike | None
    draws: int | None
    rng: Rng | None

    def __post_init__(self) -> None:
        if self.draws is not None:
            check_count("draws", self.draws)
        check_rng(self.rng)


def _of_density(rows: DistributionRows, options: EnergyOptions) -> Ranked:
    if rows.samples is not None:
        return _of_samples(rows, rows.samples, options)
    if options.log_density_y is not None:
        raise InputError(f"log_density_y is for Samples; {type(rows.distribution).__name__} has its own density")
    level = rows.distribution.density_level(rows.y)
    if level is None:
        M = DEFAULT_DRAWS if options.draws is None else options.draws
        return _of_draws(rows.distribution, rows.y, M, options.rng)
    if options.draws is not None:
        raise InputError(
            f"draws= has no use for {type(rows.distribution).__name__}, which has a closed form; leave it out"
        )
    return cells(level, np.zeros(rows.n, bool))


ENERGY_RANKS = enter_ranks(
    energy_ranks,
    EnergyOptions,
    lambda rows, options: _of_density(rows, options)._replace(outward=True),
    predictions=("samples", "distributions"),
)


def _of_samples(rows: DistributionRows, distribution: Samples, options: EnergyOptions) -> Ranked:
    Members.of(rows)  # refuses infinite draws, at which there is no density
    energy = energies(rows, distribution, options.log_density_y, "energy_ranks")
    if options.draws is not None:
        raise InputError(f"draws= is for distributions; these are {distribution.M} draws already. Leave it out")
    less, equal = rank_counts(energy[:, 0], energy[:, 1:], energy.dtype)
    return ranked(less, equal, options.rng, M=distribution.M, what=TIED)


def energies(rows: DistributionRows, distribution: Samples, log_density_y: Any, what: str) -> NDArray[Any]:
    """Return -log q of outcome and draws, (n, M + 1), in the coarser of their types."""
    q = distribution.log_densities
    if q is None or log_density_y is None:
        raise InputError(
            what + " needs the log density at every draw and at the outcome: Samples(draws, log_density=...) and "
            "{log_density_y=}; {which} is missing. ranking.joint_ranks needs no densities",
            which="the first" if q is None else "the second",
            option="log_density_y",
        )
    q_y = read_log_density_y(log_density_y, rows)
    coarser = min(float_type(q_y.dtype), q.dtype, key=lambda dtype: dtype.itemsize)
    return -np.concatenate([as_compared(q_y, coarser)[:, None], as_compared(q, coarser)], axis=1)


def _of_draws(distribution: Distribution, y: FloatArray, M: int, rng: Any) -> Ranked:
    if rng is None:
        raise InputError(f"energy_ranks draws from {type(distribution).__name__}, which has no closed form; {PASS_RNG}")
    stream = generator(rng)
    less, equal = np.empty((2, distribution.n), np.int64)
    D = distribution.shape[0] if distribution.shape else 1
    for part in chunks(distribution.n, max(1, BLOCK // (M * D))):
        block = distribution.take(part)
        z = np.concatenate([y[part, None], block.sample(M, stream)], axis=1)  # one call for outcome and draws alike
        q = np.asarray(block.log_density(z))
        if np.isnan(q).any():
            row = part.start + int(np.argmax(np.isnan(q).any(axis=1)))
            words = "the log_density of {distribution} must be a number; it is nan in {row}"
            raise InputError(words, distribution=type(distribution).__name__, row=row)
        less[part], equal[part] = outcome_counts(-q)
    return ranked(less, equal, stream, M=M, what=TIED)


def read_log_density_y(log_density_y: Any, rows: DistributionRows) -> NDArray[Any]:
    """Return one log density per row that stayed at the boundary, in the type it came; minus infinity is legal."""
    array = read_numbers(log_density_y, "log_density_y")
    expected = rows.n if rows.keep is None else rows.keep.size
    if array.shape != (expected,):
        raise InputError(f"log_density_y must have one value per row: shape ({expected},); got shape {array.shape}")
    refuse_rounded(array, "log_density_y")
    bad = ~(array < np.inf) if rows.keep is None else ~(array < np.inf) & rows.keep
    refuse_where(bad, array, "log_density_y must be below infinity and not missing", "Drop or repair such rows")
    return array if rows.keep is None else array[rows.keep]
