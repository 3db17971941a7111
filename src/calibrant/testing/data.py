"""What the properties are checked on: rows as a user would pass them, small data sets, and a verb with options.

There are ties, zeros and ones among the probabilities, empty sets among the sets. Probabilities and real numbers are
multiples of 1/32, which float16 represents exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.catalogue import Entry, summarize
from calibrant.core.results import Curve, TestResult
from calibrant.core.summary import Summary
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.parametric import Normal
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.samples import Samples
from calibrant.inputs.sets import Sets

Change = Callable[[Any], Any]


@dataclass(frozen=True)
class Case:
    """Outcomes, predictions and weights as a user would pass them.

    `build` makes the prediction from `columns`, arrays with one entry per row. `options` are those options of the verb
    that have a value for every row, such as groups. y is None where the prediction contains the outcome.
    """

    y: Any
    columns: Mapping[str, Any]
    build: Callable[..., Any]
    prediction: Any
    weights: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(next(iter(self.columns.values())))

    def weighted(self, weights: Any) -> Case:
        return replace(self, weights=weights)

    def rows(self, chosen: Any) -> Case:

        def cut(column: Any) -> Any:
            return column[chosen]

        plain = isinstance(self.prediction, np.ndarray)
        prediction = cut(self.prediction) if plain else self.prediction.take(chosen)
        return replace(self._changed(cut, cut, cut), prediction=prediction)

    def remade(self, *, y: Change = np.asarray, columns: Change = np.asarray, others: Change = np.asarray) -> Case:
        """Return the case with its outcomes, the arrays of the prediction, and everything else given by row changed."""
        changed = self._changed(y, columns, others)
        return replace(changed, prediction=self.build(**changed.columns))

    def _changed(self, y: Change, columns: Change, others: Change) -> Case:
        return replace(
            self,
            y=None if self.y is None else y(self.y),
            columns={name: columns(column) for name, column in self.columns.items()},
            weights=None if self.weights is None else others(self.weights),
            options={name: others(value) for name, value in self.options.items()},
        )


def case(y: Any, build: Callable[..., Any], **columns: Any) -> Case:
    return Case(y, columns, build, build(**columns))


K = 4
LEVELS, TAUS = (0.5, 0.9), (0.1, 0.5, 0.9)
LABELS = np.array([0, 1, 1, 0, 1, 0, 0])
NUMBERS = np.array([0.0, 1.0, -1.5, 2.0, 0.5, 3.0, -2.0])


class Data(NamedTuple):
    """A form of predictions: its kind, n random rows of it, and seven rows that are certain and right, if any are."""

    kind: str  # of `kinds.KINDS`
    make: Callable[[np.random.Generator, int], Case]
    certain: Case | None = None


def names_of(kind: str) -> list[str]:
    found = [name for name, data in DATA.items() if data.kind == kind]
    if not found:
        raise KeyError(f"there are no data of the kind {kind!r} to check properties on")
    return found


def on_edges(rng: np.random.Generator, m: int) -> Case:
    """Return scores k/m, each three times, where bins of width 1/m meet."""
    p = np.repeat(np.arange(m + 1) / m, 3)
    return case((rng.random(p.size) < 0.2 + 0.6 * p).astype(int), plain, p=p)


def plain(p: Any) -> Any:
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


def _sets(rng: np.random.Generator, n: int) -> Case:
    P = rng.dirichlet(np.full(K, 0.7), size=n)
    return case(_labels(rng, P**0.7), sets, mask=np.stack([P > 0.5, P > 0.15], axis=2))


def _last_level(of: Callable[[np.random.Generator, int], Case], build: Callable[..., Any]) -> Callable[..., Case]:
    """Return how rows with the last of two levels are made."""

    def make(rng: np.random.Generator, n: int) -> Case:
        both = of(rng, n)
        return case(both.y, build, **{name: column[..., 1] for name, column in both.columns.items()})

    return make


def _quantiles(rng: np.random.Generator, n: int) -> Case:
    y = _outcomes(rng, n)
    steps = np.column_stack([rng.integers(-64, 16, n), rng.integers(0, 33, (n, 2))])
    return case(y, quantiles, values=y[:, None] + np.cumsum(steps, axis=1) / 32)


def _one_quantile(rng: np.random.Generator, n: int) -> Case:
    y = _outcomes(rng, n)
    return case(y, one_quantile, values=y + rng.integers(-16, 49, n) / 32)


def _normal(rng: np.random.Generator, n: int) -> Case:
    return case(_outcomes(rng, n), Normal, mean=rng.integers(-64, 65, n) / 32, std=rng.integers(8, 65, n) / 32)


def _samples(rng: np.random.Generator, n: int) -> Case:
    return case(_outcomes(rng, n), Samples, draws=_draws(rng, n, 6))


def _vectors(rng: np.random.Generator, n: int) -> Case:
    y = np.column_stack([_outcomes(rng, n), _outcomes(rng, n)])
    return case(y, Samples, draws=_draws(rng, n, 6, 2))


def _draws(rng: np.random.Generator, *shape: int) -> NDArray[np.float64]:
    """Return draws that never equal an outcome, so that no rank is decided at random."""
    return np.asarray((2 * rng.integers(-64, 65, shape) + 1) / 64)


def _cdf(rng: np.random.Generator, n: int) -> Case:
    at = rng.integers(0, 33, n) / 32
    jump = np.minimum(rng.integers(-16, 17, n).clip(0) / 32, at)
    return case(None, CdfValues, at=at, below=at - jump)


def _labels(rng: np.random.Generator, Q: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a label for each row, drawn with probabilities that are proportional to these."""
    at_most = Q.cumsum(axis=1) / Q.sum(axis=1, keepdims=True)
    return np.asarray((rng.random((len(Q), 1)) > at_most[:, :-1]).sum(axis=1))


def _outcomes(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Return outcomes that are all different, so that they identify their rows."""
    most = max(128, n)
    return np.asarray(rng.choice(np.arange(-most, most + 1), n, replace=False) / 32)


def _twice(column: NDArray[Any], times: int = 2) -> NDArray[Any]:
    return np.repeat(column[..., None], times, axis=-1)


_MASK = np.eye(K, dtype=bool)[LABELS]
DATA = {
    "binary": Data("binary", _binary, case(LABELS, plain, p=LABELS.astype(float))),
    "classes": Data("classes", _classes, case(LABELS, plain, p=np.eye(K)[LABELS])),
    "intervals": Data("intervals", _intervals, case(NUMBERS, intervals, lower=_twice(NUMBERS), upper=_twice(NUMBERS))),
    "one interval": Data(
        "intervals", _last_level(_intervals, one_interval), case(NUMBERS, one_interval, lower=NUMBERS, upper=NUMBERS)
    ),
    "sets": Data("sets", _sets, case(LABELS, sets, mask=_twice(_MASK))),
    "one set": Data("sets", _last_level(_sets, one_set), case(LABELS, one_set, mask=_MASK)),
    "sets without level": Data("sets", _last_level(_sets, Sets), case(LABELS, Sets, mask=_MASK)),
    "quantiles": Data("quantiles", _quantiles, case(NUMBERS, quantiles, values=_twice(NUMBERS, 3))),
    "one quantile": Data("quantiles", _one_quantile, case(NUMBERS, one_quantile, values=NUMBERS)),
    "distributions": Data("distributions", _normal),  # a distribution with a spread is never certain
    "samples": Data("samples", _samples, case(NUMBERS, Samples, draws=_twice(NUMBERS, 6))),
    "vectors": Data(
        "samples", _vectors, case(_twice(NUMBERS), Samples, draws=_twice(_twice(NUMBERS), 6).transpose(0, 2, 1))
    ),
    "cdf": Data("cdf", _cdf),  # contains the outcome; nothing is certain
}
"""The data by name; a kind may have several."""

TABLES = tuple(name for name in DATA if name not in ("sets", "vectors"))
"""Names of data that can be columns of a table; the others have three axes."""


def numbers(result: Any, *, without: Collection[str] = ()) -> NDArray[np.float64]:
    """Return the numbers of a metric, record, test or curve in a fixed order; None counts as NaN.

    Columns of a curve that are text, or named in `without`, are left out.
    """
    if isinstance(result, Curve):
        columns = [column for name, column in result.columns.items() if name not in without]
        return np.concatenate([numbers(column) for column in columns if column.dtype.kind not in "OU"])
    if isinstance(result, TestResult):
        estimate = result.estimate if isinstance(result.estimate, tuple) else (result.estimate,)
        return np.concatenate([numbers(part) for part in (result.statistic, result.pvalue, *estimate, result.n)])
    if is_dataclass(result):
        return np.concatenate([numbers(getattr(result, field.name)) for field in fields(result)])
    return np.atleast_1d(np.asarray(np.nan if result is None else result, dtype=np.float64)).ravel()


def judgement(result: Any) -> NDArray[np.float64]:
    """Return the number that says how good the predictions are, one per level: a value, a statistic or a score."""
    if isinstance(result, TestResult):
        return numbers(result.statistic)
    if is_dataclass(result) and not isinstance(result, type):
        return numbers(getattr(result, "score", getattr(result, fields(result)[0].name)))
    return numbers(result)


@dataclass(frozen=True)
class PerRow:
    """An option with a value for every row, such as groups, drawn from these values."""

    values: tuple[Any, ...]

    def drawn(self, rng: np.random.Generator, n: int) -> NDArray[Any]:
        return rng.choice(self.values, n)


@dataclass(frozen=True)
class VerbUnderTest:
    """What a property is checked on: a verb, its options, the name of the data and the number of rows.

    Options that are a `PerRow` are drawn with the data. `equal_weights` says that the verb refuses unequal weights.
    """

    entry: Entry[Any, Any]
    data: str
    options: Mapping[str, Any] = field(default_factory=dict)
    equal_weights: bool = False
    n: int = 210

    def case(self, rng: np.random.Generator) -> Case:
        return self._completed(DATA[self.data].make(rng, self.n), rng)

    def cases(self, rng: np.random.Generator) -> tuple[Case, Case]:
        case = self.case(rng)
        return case, case.weighted(self.weights(rng, case.n))

    def certain(self, rng: np.random.Generator) -> Case:
        found = DATA[self.data].certain
        assert found is not None, f"no prediction among {self.data} is certain"
        return self._completed(found, rng)

    def weights(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """Return random weights, all equal if the verb refuses unequal ones."""
        return np.full(n, 2.5) if self.equal_weights else rng.uniform(1, 2, n)

    def measure(self, case: Case) -> Any:
        options = {**self._fixed, **case.options}
        if self.entry.outcome:
            return self.entry.verb(case.y, case.prediction, weights=case.weights, **options)
        return self.entry.verb(case.prediction, weights=case.weights, **options)

    def value(self, case: Case) -> NDArray[np.float64]:
        return numbers(self.measure(case))

    def summary(self, case: Case) -> Summary:
        y = case.y if self.entry.outcome else None
        return summarize(self.entry.name, y, case.prediction, weights=case.weights, **self._fixed, **case.options)

    def value_of(self, summary: Summary) -> NDArray[np.float64]:
        """Return the numbers of a summary, which includes the options given by row."""
        return numbers(self.entry.verb(summary, **self._fixed))

    @property
    def _fixed(self) -> dict[str, Any]:
        return {name: option for name, option in self.options.items() if not isinstance(option, PerRow)}

    def _completed(self, case: Case, rng: np.random.Generator) -> Case:
        drawn = {name: value.drawn(rng, case.n) for name, value in self.options.items() if isinstance(value, PerRow)}
        return replace(case, options=drawn)
