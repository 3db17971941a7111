"""Small data sets on which the laws are checked, one for every form that a prediction comes in.

There are ties, zeros and ones among the probabilities, empty sets among the sets. Probabilities and real numbers are
multiples of 1/32, which float16 holds exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.parametric import Normal
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.samples import Samples
from calibrant.inputs.sets import Sets
from calibrant.testing.cases import Case, case

K = 4
LEVELS, TAUS = (0.5, 0.9), (0.1, 0.5, 0.9)
LABELS = np.array([0, 1, 1, 0, 1, 0, 0])
NUMBERS = np.array([0.0, 1.0, -1.5, 2.0, 0.5, 3.0, -2.0])


class Data(NamedTuple):
    """A form of predictions: its kind, n random rows of it, and seven rows that are certain and right, if any are."""

    kind: str  # of `catalogue.KINDS`
    make: Callable[[np.random.Generator, int], Case]
    certain: Case | None = None


def names_of(kind: str) -> list[str]:
    """Return the names of the data of a kind of prediction."""
    found = [name for name, data in DATA.items() if data.kind == kind]
    if not found:
        raise KeyError(f"there are no data of the kind {kind!r} to check laws on")
    return found


def on_edges(rng: np.random.Generator, m: int) -> Case:
    """Return scores k/m, each three times, where bins of width 1/m meet."""
    p = np.repeat(np.arange(m + 1) / m, 3)
    return case((rng.random(p.size) < 0.2 + 0.6 * p).astype(int), plain, p=p)


def plain(p: Any) -> Any:
    """Return probabilities, which are no type of their own."""
    return p


intervals, one_interval = (partial(Intervals, level=level) for level in (LEVELS, LEVELS[-1]))
sets, one_set = (partial(Sets, level=level) for level in (LEVELS, LEVELS[-1]))
quantiles, one_quantile = (partial(Quantiles, levels=levels) for levels in (TAUS, 0.75))


def _binary(rng: np.random.Generator, n: int) -> Case:
    p = rng.integers(0, 33, n) / 32
    p[:4] = [0.0, 1.0, 0.5, 0.5]
    return case((rng.random(n) < p**0.7).astype(int), plain, p=p)


def _classes(rng: np.random.Generator, n: int) -> Case:
    P = rng.multinomial(32, rng.dirichlet(np.full(K, 0.7), size=n)) / 32
    return case(_labels(rng, P**0.7), plain, p=P)


def _intervals(rng: np.random.Generator, n: int) -> Case:
    y = _outcomes(rng, n)
    middle = (y + rng.integers(-40, 41, n) / 32)[:, None]
    reach = np.cumsum(rng.integers(1, 33, (n, 2)) / 32, axis=1)
    return case(y, intervals, lower=middle - reach, upper=middle + reach)


def _one_interval(rng: np.random.Generator, n: int) -> Case:
    both = _intervals(rng, n)
    return case(both.y, one_interval, **{name: bounds[:, 1] for name, bounds in both.columns.items()})


def _sets(rng: np.random.Generator, n: int) -> Case:
    P = rng.dirichlet(np.full(K, 0.7), size=n)
    return case(_labels(rng, P**0.7), sets, mask=np.stack([P > 0.5, P > 0.15], axis=2))


def _one_set(rng: np.random.Generator, n: int, build: Callable[..., Sets] = one_set) -> Case:
    both = _sets(rng, n)
    return case(both.y, build, mask=both.columns["mask"][:, :, 1])


def _quantiles(rng: np.random.Generator, n: int) -> Case:
    y = _outcomes(rng, n)
    steps = np.column_stack([rng.integers(-64, 16, n), rng.integers(0, 33, (n, 2))])
    return case(y, quantiles, values=y[:, None] + np.cumsum(steps, axis=1) / 32)


def _one_quantile(rng: np.random.Generator, n: int) -> Case:
    y = _outcomes(rng, n)
    return case(y, one_quantile, values=y + rng.integers(-16, 49, n) / 32)


def _laws(rng: np.random.Generator, n: int) -> Case:
    return case(_outcomes(rng, n), Normal, mean=rng.integers(-64, 65, n) / 32, std=rng.integers(8, 65, n) / 32)


def _samples(rng: np.random.Generator, n: int) -> Case:
    return case(_outcomes(rng, n), Samples, draws=_draws(rng, n, 6))


def _vectors(rng: np.random.Generator, n: int) -> Case:
    y = np.column_stack([_outcomes(rng, n), _outcomes(rng, n)])
    return case(y, Samples, draws=_draws(rng, n, 6, 2))


def _draws(rng: np.random.Generator, *shape: int) -> NDArray[np.float64]:
    """Return draws between the places where outcomes lie, so that chance decides no rank."""
    return np.asarray((2 * rng.integers(-64, 65, shape) + 1) / 64)


def _cdf(rng: np.random.Generator, n: int) -> Case:
    at = rng.integers(0, 33, n) / 32
    jump = np.minimum(rng.integers(-16, 17, n).clip(0) / 32, at)
    return case(None, CdfValues, at=at, below=at - jump)


def _labels(rng: np.random.Generator, Q: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a label for each row, drawn with probabilities that are proportional to these."""
    return np.array([rng.choice(K, p=row / row.sum()) for row in Q])


def _outcomes(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Return outcomes of which no two are alike: rows are told apart by them."""
    most = max(128, n)
    return np.asarray(rng.choice(np.arange(-most, most + 1), n, replace=False) / 32)


def _twice(column: NDArray[Any], times: int = 2) -> NDArray[Any]:
    return np.repeat(column[..., None], times, axis=-1)


_MASK = np.eye(K, dtype=bool)[LABELS]
DATA = {
    "binary": Data("binary", _binary, case(LABELS, plain, p=LABELS.astype(float))),
    "classes": Data("classes", _classes, case(LABELS, plain, p=np.eye(K)[LABELS])),
    "intervals": Data("intervals", _intervals, case(NUMBERS, intervals, lower=_twice(NUMBERS), upper=_twice(NUMBERS))),
    "one interval": Data("intervals", _one_interval, case(NUMBERS, one_interval, lower=NUMBERS, upper=NUMBERS)),
    "sets": Data("sets", _sets, case(LABELS, sets, mask=_twice(_MASK))),
    "one set": Data("sets", _one_set, case(LABELS, one_set, mask=_MASK)),
    "sets without level": Data("sets", partial(_one_set, build=Sets), case(LABELS, Sets, mask=_MASK)),
    "quantiles": Data("quantiles", _quantiles, case(NUMBERS, quantiles, values=_twice(NUMBERS, 3))),
    "one quantile": Data("quantiles", _one_quantile, case(NUMBERS, one_quantile, values=NUMBERS)),
    "distributions": Data("distributions", _laws),  # a law with a spread is never certain
    "samples": Data("samples", _samples, case(NUMBERS, Samples, draws=_twice(NUMBERS, 6))),
    "vectors": Data(
        "samples", _vectors, case(_twice(NUMBERS), Samples, draws=_twice(_twice(NUMBERS), 6).transpose(0, 2, 1))
    ),
    "cdf": Data("cdf", _cdf),  # the outcome is in it, and nothing is certain
}
"""The data by name; a kind may have several."""

TABLES = tuple(name for name in DATA if name not in ("sets", "vectors"))
"""Those that can be columns of a table; the others have three axes."""
