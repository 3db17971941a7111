"""What measurements return besides plain numbers: tests, curves, intervals and decompositions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.core import pictures as plots
from calibrant.core.plot_style import flattened
from calibrant.core.tabular import Tabular, displayed
from calibrant.inputs.arrays import FloatArray, field_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers = Any
"""A number; an array with one number per coordinate if the prediction has several; or a tuple of these."""

MAX_NUMBERS_SHOWN = 6  # of an array, in a repr


class FrozenValue:
    """A frozen value: its arrays and mappings are read-only copies."""

    def __post_init__(self) -> None:
        for name, value in field_values(self).items():
            object.__setattr__(self, name, _frozen(value))

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy cannot be pickled
        values = field_values(self).values()
        return type(self), tuple(dict(value) if isinstance(value, Mapping) else value for value in values)


class ComparedValue(FrozenValue):
    """A frozen value that is equal to another one with the same numbers; arrays have no hash."""

    def __eq__(self, other: object) -> bool:
        return _equal(field_values(self), field_values(other)) if type(other) is type(self) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False, repr=False)
class TestResult(ComparedValue, Tabular):
    """The result of a test.

    A test of several coordinates has arrays in place of numbers, with one entry per coordinate.
    """

    __test__: ClassVar[bool] = False  # tells pytest that this is not a test case

    statistic: Numbers
    pvalue: Numbers
    estimate: Numbers
    method: str
    n: int
    details: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        parts = [
            f"statistic={_shown(self.statistic, 6)}",
            f"pvalue={_shown(self.pvalue, 4)}",
            f"estimate={_shown(self.estimate, 6)}",
            f"n={self.n}",
            f"method={self.method!r}",
            *(f"{name}={value:.4g}" for name, value in self.details.items() if isinstance(value, float)),
        ]
        return f"TestResult({', '.join(parts)})"


def _frozen(value: Any) -> Any:
    """Return a read-only copy of an array, or of those in a tuple or a mapping; other values as they are."""
    if isinstance(value, tuple):
        return tuple(_frozen(part) for part in value)
    if isinstance(value, Mapping):
        return MappingProxyType({name: _frozen(part) for name, part in value.items()})
    if not isinstance(value, np.ndarray):
        return value
    copy = value.copy()
    copy.flags.writeable = False
    return copy


def _equal(one: Any, other: Any) -> bool:
    """Compare by value; NaN in an array equals NaN."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        if type(one) is not type(other) or one.shape != other.shape:
            return False
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    return bool(one == other)


def _shown(value: Any, digits: int) -> str:
    """Write a number with so many digits; an array in brackets, cut after a few numbers."""
    if isinstance(value, tuple):
        return f"({', '.join(_shown(part, digits) for part in value)})"
    if isinstance(value, np.ndarray) and value.ndim:
        more = f", ... {len(value)} in all" if len(value) > MAX_NUMBERS_SHOWN else ""
        return f"[{', '.join(_shown(part, digits) for part in value[:MAX_NUMBERS_SHOWN])}{more}]"
    return f"{value:.{digits}g}"


@dataclass(frozen=True, eq=False)
class Curve(FrozenValue, Tabular):
    """Named arrays of one curve. `curve.fitted` is `curve.columns["fitted"]`."""

    kind: str
    columns: Mapping[str, NDArray[Any]]
    method: str
    n: int
    details: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", {name: np.asarray(column) for name, column in self.columns.items()})
        super().__post_init__()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            for source in (self.columns, self.details):
                if name in source:
                    return source[name]
        raise AttributeError(f"a {self.kind} curve has {', '.join([*self.columns, *self.details])}; not {name}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.columns, *self.details]

    def __repr__(self) -> str:
        length = len(next(iter(self.columns.values())))
        return f"Curve({self.kind}, {length} points of {', '.join(self.columns)}; {self.method}; n={self.n})"

    def _columns(self) -> Mapping[str, Any]:
        return flattened(self.columns, self.details)

    def _repr_html_(self) -> str:
        return displayed("curve", self)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        r"""Draw the curve on Matplotlib axes (new ones if None) and return them.

        Curves of more than four coordinates have a panel for each, inside these axes and in the order of the data.
        "ecdf_difference" has the option ``scale="sqrt_n"``, which draws the difference times √n. Curves of coordinates
        have ``mathtext=True``: names such as ``$\theta_1$`` are drawn as formulas where Matplotlib can read them;
        otherwise names are drawn as they are written.
        """
        return plots.draw(self.kind, self.columns, self.details, ax, **options)


@dataclass(frozen=True, eq=False)
class ConfidenceInterval(FrozenValue, Tabular):
    """Where the true value of a metric lies, with a given confidence."""

    low: float | FloatArray
    high: float | FloatArray
    estimate: float | FloatArray
    level: float
    method: str
    n: int | NDArray[np.int64]

    def __repr__(self) -> str:
        n = self.n.tolist() if isinstance(self.n, np.ndarray) else self.n
        return (
            f"ConfidenceInterval(low={_shown(self.low, 6)}, high={_shown(self.high, 6)}, "
            f"estimate={_shown(self.estimate, 6)}, level={self.level:g}, n={n}, method={self.method!r})"
        )


@dataclass(frozen=True)
class Decomposition(Tabular):
    """A mean score split into its parts: score = mcb - dsc + unc + within."""

    score: float
    mcb: float
    dsc: float
    unc: float
    within: float = 0.0


@dataclass(frozen=True, eq=False)
class QuantileDecomposition(Tabular):
    """Mean quantile scores split into their parts, level by level: score = mcb - dsc + unc."""

    level: float | FloatArray
    score: float | FloatArray
    mcb: float | FloatArray
    dsc: float | FloatArray
    unc: float | FloatArray
    wis: Decomposition


@dataclass(frozen=True)
class CrpsDecomposition(Tabular):
    """A mean CRPS split into its parts: score = mcb - dsc + unc + discretisation."""

    score: float
    mcb: float
    dsc: float
    unc: float
    discretisation: float = 0.0

    reliability = property(attrgetter("mcb"), doc="Another name of `mcb`.")
    resolution = property(attrgetter("dsc"), doc="Another name of `dsc`.")
    uncertainty = property(attrgetter("unc"), doc="Another name of `unc`.")

    @property
    def potential(self) -> float:
        """The score that calibrated predictions of the same discrimination would have, unc - dsc."""
        return self.unc - self.dsc


@dataclass(frozen=True)
class Direction(Tabular):
    """Whether predictions are too high or too low, and where."""

    over: float
    under: float
    bias: float
    over_bin: tuple[float, float] | None
    under_bin: tuple[float, float] | None


@dataclass(frozen=True)
class Power(Tabular):
    """What a number of rows can show, found by simulation."""

    power: float
    error: float | None
    tolerance: float | None
    n: int
    rows: int | None
    target: float


@dataclass(frozen=True)
class Pair(Tabular):
    """Two models compared by one metric on the same rows."""

    metric: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    pvalue: float
    skill: float | None = None
    skill_low: float | None = None
    skill_high: float | None = None
