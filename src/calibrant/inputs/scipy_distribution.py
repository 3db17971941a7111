"""Predictive distributions made of frozen distributions of `scipy.stats`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray, Rng, read_numbers, stretch
from calibrant.inputs.distribution import Checked, Distribution, Selection, beside, described, rows_of
from calibrant.inputs.options import check_count, generator


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ScipyDistribution(Checked, Distribution):
    """A frozen univariate distribution of `scipy.stats`, with one value of each parameter per row or for all rows.

    Parameters
    ----------
    frozen : frozen distribution
        Such as ``scipy.stats.gamma(a=[2.0, 3.0], scale=0.5)``.

    Examples
    --------
    >>> from scipy import stats
    >>> distribution = ScipyDistribution(stats.uniform(loc=[0.0, 10.0], scale=4.0))
    >>> distribution.n
    2
    >>> distribution.cdf([1.0, 13.0])
    array([0.25, 0.75])
    >>> distribution.take([1]).ppf(0.5)
    array([12.])
    """

    dist: Any
    args: tuple[NDArray[Any], ...]  # each (n,)
    kwds: dict[str, NDArray[Any]]

    def __init__(self, frozen: Any) -> None:
        if not all(hasattr(frozen, name) for name in ("dist", "args", "kwds")):
            raise InputError(
                "ScipyDistribution expects a frozen univariate distribution with one value per row, such as "
                f"scipy.stats.gamma(a=[2.0, 3.0]); got {shown(frozen)} ({type(frozen).__name__})"
            )
        names = [f"args[{i}]" for i in range(len(frozen.args))]
        values = {**dict(zip(names, frozen.args, strict=True)), **frozen.kwds}
        columns = {name: read_numbers(value, name).copy() for name, value in values.items()}
        for name, column in columns.items():
            if column.size == 0:
                raise InputError(f"{name} of the distribution is empty; at least one row is needed")
        columns = columns or {"loc": np.array(0.0)}  # every distribution has a location: it gives the number of rows
        named = dict(zip(columns, stretch(columns), strict=True))  # whole numbers stay: some distributions need them
        given = tuple(named.pop(name) for name in names)
        _refuse_illegal(frozen.dist, given, named)
        self._hold(dist=frozen.dist, args=given, kwds=named)

    @property
    def n(self) -> int:
        return len(next(iter((*self.args, *self.kwds.values()))))

    def __repr__(self) -> str:
        return described(self, f" of {self.dist.name}")

    def take(self, rows: Selection) -> ScipyDistribution:
        args = tuple(rows_of(column, rows) for column in self.args)
        return self._with(args=args, kwds={k: rows_of(v, rows) for k, v in self.kwds.items()})

    def cdf(self, x: ArrayLike) -> FloatArray:
        return self._asked("cdf", self._points(x))

    def sf(self, x: ArrayLike) -> FloatArray:
        return self._asked("sf", self._points(x))

    def ppf(self, q: ArrayLike) -> FloatArray:
        return self._asked("ppf", self._levels(q))

    def isf(self, q: ArrayLike) -> FloatArray:
        return self._asked("isf", self._levels(q))

    def log_density(self, x: ArrayLike) -> FloatArray:
        if self.is_discrete:
            raise NotApplicableError(f"ScipyDistribution of the discrete {self.dist.name} has no density")
        return self._asked("logpdf", self._points(x))

    @property
    def is_discrete(self) -> bool:
        return not hasattr(self.dist, "logpdf")

    @property
    def words(self) -> str:
        return f"ScipyDistribution of {self.dist.name}"

    def means(self) -> FloatArray:
        with np.errstate(all="ignore"):
            return np.asarray(self.dist.mean(*self.args, **self.kwds), dtype=np.float64)

    def variances(self) -> FloatArray:
        with np.errstate(all="ignore"):
            return np.asarray(self.dist.var(*self.args, **self.kwds), dtype=np.float64)

    def log_probability(self, x: Any) -> FloatArray:
        return self._asked("logpmf", self._points(x))

    def sample(self, size: int, rng: Rng) -> FloatArray:
        shape = (self.n, check_count("size", size))
        args, kwds = self._beside(np.empty((1, 1)))
        draws = self.dist.rvs(*args, **kwds, size=shape, random_state=generator(rng))
        return np.asarray(draws, dtype=np.float64)

    def _asked(self, method: str, points: FloatArray) -> FloatArray:
        args, kwds = self._beside(points)
        return np.asarray(getattr(self.dist, method)(points, *args, **kwds), dtype=np.float64)

    def _beside(self, points: FloatArray) -> tuple[list[NDArray[Any]], dict[str, NDArray[Any]]]:
        return [beside(a, points) for a in self.args], {k: beside(v, points) for k, v in self.kwds.items()}


def _refuse_illegal(dist: Any, args: tuple[NDArray[Any], ...], kwds: dict[str, NDArray[Any]]) -> None:
    with np.errstate(invalid="ignore"):
        low, high = (np.atleast_1d(end) for end in dist.support(*args, **kwds))
    bad = np.isnan(low) | np.isnan(high)  # what scipy returns for parameters outside their range
    for column in (*args[dist.numargs :], *(kwds[name] for name in ("loc", "scale") if name in kwds)):
        bad = bad | ~np.isfinite(column)  # shape parameters may be infinite: t(df=inf) is the normal distribution
    if bad.any():
        row = int(np.argmax(bad))
        values = [*(shown(a[row]) for a in args), *(f"{name}={shown(v[row])}" for name, v in kwds.items())]
        message = (
            "the distribution must have parameters in their range; {row} is {name}({values}). "
            "Scales must be positive, locations finite, and no parameter may be missing"
        )
        raise InputError(message, row=row, name=dist.name, values=", ".join(values))
