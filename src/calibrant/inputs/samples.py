"""Draws from the predictive distribution of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import (
    FloatArray,
    Rng,
    is_finite,
    locked,
    read_array,
    read_numbers,
    refuse_rounded,
    refuse_where,
)
from calibrant.inputs.autocorrelation import autocorrelation_time
from calibrant.inputs.distribution import Checked, Distribution, Selection, rows_of
from calibrant.inputs.intervals import Intervals, constructor
from calibrant.inputs.named import Names, flattened, read_coordinate_names, same_names
from calibrant.inputs.options import check_count, generator, read_levels

AXES = ("row", "draw", "coordinate")
ARVIZ = ("arviz", "arviz_base", "xarray")  # packages whose arrays name their axes
SAMPLE_AXES = ("chain", "draw", "sample")  # arviz.extract joins the first two into the third
MEMBER_AXES = ("member", "members", "ensemble", "realization", "number")  # of draws, in weather and climate
BLOCK = 1 << 20  # draws among which some are chosen at a time
EXACT_VARIANCE = 1e-290  # a variance below it may have lost digits, or be 0


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Samples(Checked, Distribution):
    """Draws from the predictive distribution of each row, such as an ensemble or posterior draws.

    Parameters
    ----------
    draws : array_like of shape (n, M), or (n, M, D) for vectors
        M draws per row, with the axes in this order: ``draws[i]`` belongs to outcome i. Transpose an array of shape
        (M, n, D) with ``numpy.swapaxes(draws, 0, 1)``; if n = M, swapped axes cannot be detected. Infinite draws are
        allowed where only the order of draws matters. Arrays of floats are not copied: do not change them while the
        samples are in use. A list of arrays of different lengths, (M_i,) or (M_i, D), has rows with unequal numbers of
        draws. A mapping from names to arrays (n, M, ...) has the coordinates side by side.
    log_density : array_like of shape (n, M), optional
        Log density of the predictive distribution at each draw, if the model provides it. Stored as `log_densities`.
    draw_weights : array_like of shape (n, M), optional
        Importance weights of the draws of each row, target over proposal, at least 0. `pit` uses them; weighted
        draws have no integer ranks.
    names : sequence of str, optional
        Names of the D coordinates, which ranks, curves, tests and audits carry.

    Examples
    --------
    >>> distribution = Samples([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 5.0, 5.0]])
    >>> distribution.n, distribution.M
    (2, 4)
    >>> distribution.cdf(2.0)
    array([0.5, 0.5])
    >>> distribution.ppf([0.75, 0.75])
    array([3., 5.])

    Rows with three draws and one:

    >>> Samples([[1.0, 2.0, 3.0], [5.0]])
    Samples(2 rows, 1 to 3 draws)
    """

    prediction_kind: ClassVar[str] = "samples"
    held: NDArray[Any]  # (n, M) or (n, M, D), float16, float32 or float64, perhaps infinite; NaN beyond counts
    log_densities: NDArray[Any] | None  # (n, M), of such a type too
    finite: bool
    counts: NDArray[np.int64] | None  # (n,), where rows have different numbers of draws
    draw_weights: FloatArray | None  # (n, M)
    chains: int  # that the M draws of a row consist of, one after another
    names: Names | None  # (D,)
    thinned: str  # what thinning did, in a sentence

    @constructor(
        "Call it as Samples(draws), with draws[i] those of outcome i",
        {"columns": lambda names: "Name the coordinates by Samples(draws, names=['a', 'b'])"},
    )
    def __init__(
        self,
        draws: ArrayLike | Sequence[ArrayLike] | Mapping[str, ArrayLike],
        log_density: ArrayLike | None = None,
        *,
        draw_weights: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        refuse_labelled(draws, "draws", SAMPLE_AXES[1:2], SAMPLE_AXES[2:])
        found: Names | None = None
        counts: NDArray[np.int64] | None = None
        if isinstance(draws, Mapping):
            given, found = flattened(draws, "draws", axes=2)
            array = _read_draws(given)
        elif (lengths := _lengths(draws)) is not None:
            array, counts = _read_unequal(cast("Sequence[Any]", draws), lengths)
        else:
            array = _read_draws(draws)
        if names is not None:
            if array.ndim != 3:
                raise InputError("names= are those of the coordinates of vectors, draws (n, M, D); leave it out")
            found = same_names(read_coordinate_names(names, array.shape[2]), found)
        if counts is not None and (log_density is not None or draw_weights is not None):
            which = "log_density" if log_density is not None else "draw_weights"
            raise InputError(f"{which} needs the same number of draws in every row; these rows have {_range(counts)}")
        self._hold(
            held=array,
            log_densities=_read_log_densities(log_density, array.shape[:2]),
            finite=is_finite(array) if counts is None else not np.isinf(array).any(),
            counts=counts,
            draw_weights=None if draw_weights is None else _read_draw_weights(draw_weights, array.shape[:2]),
            chains=1,
            names=found,
            thinned="",
        )

    @classmethod
    @constructor(
        "Call it as Samples.from_chains(draws), with draws of shape (n, chains, draws)",
        {"columns": lambda names: "Name the coordinates by Samples.from_chains(draws, names=['a', 'b'])"},
    )
    def from_chains(
        cls,
        draws: ArrayLike | Mapping[str, ArrayLike],
        *,
        thin: Literal["ess"] | int | None = None,
        names: Sequence[str] | None = None,
    ) -> Samples:
        """Take the draws of Markov chains, (n, chains, draws) or (n, chains, draws, D), or a mapping of such arrays.

        Parameters
        ----------
        draws
            The draws of each chain of each row.
        thin
            None keeps all draws, and `chains`, so that dependence between successive draws can be tested. ``"ess"``
            keeps every k-th draw of a row, k the autocorrelation time of its chains rounded up, the largest over the
            coordinates; rows then have unequal numbers of draws. A whole number keeps every k-th of all rows.
        names
            Names of the coordinates.

        Examples
        --------
        >>> import numpy as np
        >>> kept = Samples.from_chains(np.arange(24.0).reshape(2, 2, 6), thin=3)
        >>> kept, kept.chains, kept.thinned
        (Samples(2 rows, 4 draws), 2, 'Every 3rd draw of each chain was kept, 4 of 12 draws a row.')
        """
        refuse_labelled(draws, "draws", SAMPLE_AXES[:2])
        found: Names | None = None
        if isinstance(draws, Mapping):
            given, found = flattened(draws, "draws", axes=3)
        else:
            given = read_numbers(draws, "draws")
        if given.ndim not in (3, 4) or given.size == 0:
            raise InputError(
                f"draws of chains must have shape (n, chains, draws) or (n, chains, draws, D); got shape {given.shape}"
            )
        if found is not None and names is not None:
            names = same_names(read_coordinate_names(names, given.shape[3]), found)
        n, chains, length = given.shape[:3]
        joined = cls(given.reshape(n, chains * length, *given.shape[3:]), names=names or found)
        if thin is None:
            return joined._with(chains=chains)
        if not (isinstance(thin, str) and thin == "ess"):
            k = check_count("thin", thin)
            kept = given[:, :, ::k]
            words = f"Every {_nth(k)} draw of each chain was kept, {chains * kept.shape[2]:,} of {chains * length:,}"
            found_kept = kept.reshape(n, -1, *given.shape[3:])
            return cls(found_kept, names=joined.names)._with(chains=chains, thinned=f"{words} draws a row.")
        return joined._by_effective_size(chains)

    def _by_effective_size(self, chains: int) -> Samples:
        """Keep every ceil(τ_i)-th draw of each chain of row i; τ_i is the largest over the coordinates."""
        if not self.finite:
            raise InputError('thin="ess" needs finite draws: it compares each draw with those before it')
        length = self.M // chains
        rows = self.held.reshape(self.n, chains, length, *self.shape)
        tau = np.array([float(autocorrelation_time(row).max()) for row in rows])
        step = np.minimum(np.ceil(np.round(tau, 9)), length).clip(1).astype(np.int64)
        counts = chains * -(-length // step)
        held = np.full((self.n, int(counts.max()), *self.shape), np.nan, self.held.dtype)
        for i, row in enumerate(rows):
            held[i, : counts[i]] = row[:, :: step[i]].reshape(-1, *self.shape)
        words = (
            f"Chains were thinned by their autocorrelation times, {tau.min():.2g} to {tau.max():.2g}: "
            f"{_range(counts)} of {self.M:,} a row were kept."
        )
        equal = counts.min() == counts.max()
        return self._with(held=locked(held), counts=None if equal else locked(counts), thinned=words)

    def thin(self, draws: int | None = None, *, rng: Rng) -> Samples:
        """Keep `draws` random draws of each row, without replacement; by default as many as the shortest row has.

        The rank of an outcome among the kept draws has the hypergeometric distribution given its rank among all of
        them, so uniform ranks stay exactly uniform.

        Examples
        --------
        >>> Samples([[1.0, 2.0, 3.0], [5.0]]).thin(rng=0)
        Samples(2 rows, 1 draw)
        """
        self._refuse_draw_weights("thin")
        least = int(self.held.shape[1]) if self.counts is None else int(self.counts.min())
        M = least if draws is None else check_count("draws", draws)
        if least < M:
            row = 0 if self.counts is None else int(self.counts.argmin())
            message = "draws must be at most the number of draws of every row; {row} has {least}, got {value}"
            raise InputError(message, row=row, least=least, value=M)
        if self.counts is None and least == M:
            return self
        counts = np.full(self.n, least) if self.counts is None else self.counts
        chosen = np.empty((self.n, M), np.intp)
        stream, size = generator(rng), max(1, BLOCK // self.held.shape[1])
        for start in range(0, self.n, size):
            part = slice(start, min(start + size, self.n))
            key = stream.random((part.stop - part.start, self.held.shape[1]))
            key[np.arange(key.shape[1]) >= counts[part, None]] = 2.0  # padding comes last
            chosen[part] = np.sort(np.argpartition(key, M - 1, axis=1)[:, :M], axis=1)
        held = np.take_along_axis(self.held, chosen[..., None] if self.shape else chosen, axis=1)
        known = self.log_densities
        return self._with(
            held=locked(held),
            log_densities=None if known is None else locked(np.take_along_axis(known, chosen, axis=1)),
            counts=None,
            chains=1,
        )

    @cached_property
    def draws(self) -> FloatArray:
        """The draws in float64; infinite draws are refused."""
        self._refuse_unequal()
        if not self.finite:
            expected = "draws must be finite for measurements that use more than their order"
            remedy = "ranks, pit and coverage take infinite draws"
            refuse_where(np.isinf(self.held), self.held, expected, remedy, axes=AXES)
        return locked(self.held.astype(np.float64, copy=False))

    @property
    def M(self) -> int:
        """Number of draws per row, where all rows have as many."""
        self._refuse_unequal()
        return int(self.held.shape[1])

    def _refuse_unequal(self) -> None:
        if self.counts is not None:
            raise NotApplicableError(
                f"the rows have unequal numbers of draws, {_range(self.counts)}; call samples.thin(rng=0)"
            )

    def _refuse_draw_weights(self, method: str) -> None:
        if self.draw_weights is not None:
            raise NotApplicableError(
                f"Samples with draw_weights has no {method}(...). Use pit, which takes the weights"
            )

    def _refuse_points(self, method: str) -> None:
        self._refuse_vectors(method)
        self._refuse_draw_weights(method)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.held.shape[2:]

    def __repr__(self) -> str:
        vectors = f" of {self.shape[0]} coordinate{'s' * (self.shape[0] > 1)}" if self.shape else ""
        drawn = _range(np.array([self.held.shape[1]]) if self.counts is None else self.counts)
        weighted = ", weighted" if self.draw_weights is not None else ""
        return f"Samples({self.n} row{'s' * (self.n != 1)}, {drawn}{vectors}{weighted})"

    def take(self, rows: Selection) -> Samples:
        held = rows_of(self.held, rows)
        beside = {
            name: None if (known := getattr(self, name)) is None else rows_of(known, rows)
            for name in ("log_densities", "draw_weights", "counts")
        }
        return self._with(held=held, finite=self.finite or not np.isinf(held).any(), **beside)

    @classmethod
    def of_columns(cls, kind: list[Any], columns: FloatArray) -> Samples:
        """Return the draws whose `columns` these are."""
        shape, dense = kind[1:]
        size = int(np.prod(shape))
        return cls(columns[:, :size].reshape(-1, *shape), columns[:, size:] if dense else None)

    def columns(self) -> tuple[list[Any], FloatArray]:
        draws, dense = self.draws.reshape(self.n, -1), self.log_densities is not None
        columns = np.column_stack([draws, cast(Any, self.log_densities)]) if dense else draws
        return ["Samples", list(self.draws.shape[1:]), dense], columns

    def means(self) -> FloatArray:
        return np.asarray(self.draws.mean(axis=1))

    def variances(self) -> FloatArray:
        """Return the variance of the draws of each row, with the divisor M - 1."""
        self._refuse_one_draw()
        return np.asarray(self.draws.var(axis=1, ddof=1))

    def deviations(self) -> FloatArray:
        """Return the standard deviation of the draws of each row, without a square that leaves float64."""
        with np.errstate(over="ignore", invalid="ignore"):  # these are taken again
            variance = self.variances()
            found = np.sqrt(variance)
        lost = ~((variance > EXACT_VARIANCE) & (variance < np.inf)).reshape(self.n, -1).all(axis=1)
        found[lost] = _scaled_deviations(self.draws[lost])
        return found

    def covariances(self) -> FloatArray:
        if not self.shape:
            return super().covariances()
        self._refuse_one_draw()
        x = self.draws - self.draws.mean(axis=1, keepdims=True)
        return np.asarray(np.einsum("imj,imk->ijk", x, x) / (self.M - 1))

    def _refuse_one_draw(self) -> None:
        if self.M < 2:
            raise InputError("the spread of draws needs at least 2 of them per row; got 1")

    def cdf_bounds(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the shares of draws below the outcome, and of those that are not above it."""
        with np.errstate(over="ignore"):
            at = y.astype(self.held.dtype)[:, None]
        return (self.held < at).sum(axis=1) / self.M, (self.held <= at).sum(axis=1) / self.M

    def marginals(self) -> list[Distribution]:
        return [Samples(self.draws[:, :, d]) for d in range(self.shape[0])] if self.shape else [self]

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return the share of draws <= x."""
        self._refuse_points("cdf")
        return self._share(x, np.less_equal)

    def sf(self, x: ArrayLike) -> FloatArray:
        self._refuse_points("sf")
        return self._share(x, np.greater)

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Return the smallest draw x with P(Y <= x) >= q."""
        self._refuse_points("ppf")
        levels = self._levels(q)
        k = np.ceil(levels * self.M)
        k -= (k - 1) / self.M >= levels  # the product may have been rounded up
        k += k / self.M < levels
        return self._kth(k)

    def isf(self, q: ArrayLike) -> FloatArray:
        self._refuse_points("isf")
        levels = self._levels(q)
        above = np.floor(levels * self.M)  # the most draws that may lie above x
        above += (above + 1) / self.M <= levels
        above -= above / self.M > levels
        return self._kth(self.M - above)

    def log_density(self, x: ArrayLike) -> FloatArray:
        """Raise an error: draws do not determine a density."""
        raise NotApplicableError(
            "Samples has no log_density(...): draws do not determine a density. That at the draws is in log_densities"
        )

    def sample(self, size: int, rng: Rng) -> FloatArray:
        self._refuse_draw_weights("sample")
        chosen = generator(rng).integers(self.M, size=(self.n, check_count("size", size)))
        drawn = np.take_along_axis(self.held, chosen[..., None] if self.shape else chosen, axis=1)
        return drawn.astype(np.float64, copy=False)

    def interval(self, level: float | ArrayLike) -> Intervals:
        """Return intervals between order statistics; they cover with at least the level if draws are exchangeable.

        [x_(a), x_(b)] with a = ⌊(M + 1) α/2⌋ and b = ⌈(M + 1)(1 - α/2)⌉, where x_(0) = -inf and x_(M+1) = inf, covers
        with probability (b - a)/(M + 1). The products are rounded to 1e-10 first, because 20 · 0.05 must be 1.
        """
        self._refuse_points("interval")
        levels, single = read_levels(level)
        a = np.floor(((self.M + 1) * (1 - levels) / 2).round(10)).astype(np.intp)
        b = np.ceil(((self.M + 1) * (1 + levels) / 2).round(10)).astype(np.intp)
        ends = np.full((self.n, 1), np.inf)
        ordered = np.concatenate([-ends, np.sort(self.held, axis=1), ends], axis=1)
        low, high = ordered[:, a], ordered[:, b]
        return Intervals(low[:, 0], high[:, 0], level) if single else Intervals(low, high, levels)

    def _share(self, x: ArrayLike, compare: np.ufunc) -> FloatArray:
        points = self._points(x)
        columns = self._columns(points)
        shares = np.empty(columns.shape)
        for j, column in enumerate(columns.T):  # one point per row at a time: memory does not grow with k
            shares[:, j] = np.count_nonzero(compare(self.held, column[:, None]), axis=1)
        shares /= self.M
        return shares if points.ndim == 2 else shares[:, 0]

    def _kth(self, k: FloatArray) -> FloatArray:
        place = np.clip(k, 1, self.M).astype(np.intp) - 1
        found = np.take_along_axis(np.sort(self.held, axis=1), self._columns(place), axis=1)
        found = found.astype(np.float64, copy=False)
        return found if place.ndim == 2 else found[:, 0]

    def _columns(self, points: NDArray[Any]) -> NDArray[Any]:
        columns = points if points.ndim == 2 else np.atleast_1d(points)[:, None]
        return np.broadcast_to(columns, (self.n, columns.shape[1]))


def refuse_labelled(values: Any, what: str, *orders: tuple[str, ...]) -> None:
    """Refuse groups of arviz, and arrays whose axes of chains and draws are not those after the first in such order."""
    if type(values).__module__.partition(".")[0] not in ARVIZ:
        return
    axes = tuple(map(str, getattr(values, "dims", ())))
    if axes[:1] and axes[0] in MEMBER_AXES:
        turned = ", ".join(map(repr, (*axes[1:2], axes[0], *axes[2:])))
        raise InputError(
            f"{what} must have the outcomes along the first dimension, then the draws; got a {type(values).__name__} "
            f"with dimensions ({', '.join(axes)}). Turn it: Samples({what}.transpose({turned}))"
        )
    drawn = tuple(axis for axis in axes if axis in SAMPLE_AXES)
    if not drawn and not hasattr(values, "groups"):  # which `InferenceData` and `DataTree` have
        return
    if hasattr(values, "dtype") and drawn in orders and axes[1 : 1 + len(drawn)] == drawn:
        return
    others = [axis for axis in axes if axis not in SAMPLE_AXES]
    options = f"case={others[0]!r}" if len(others) == 1 else "case=..."
    if not axes:  # a tree
        options = "group='posterior_predictive', case=..."
    raise InputError(
        f"{what} must have the outcomes along the first dimension, and chains only for Samples.from_chains; got a "
        f"{type(values).__name__} with dimensions ({', '.join(axes)}). Read it with found = "
        f"calibrant.integrations.draws.from_arviz({what}, y, {options}), then pass found.y and found.prediction"
    )


def _scaled_deviations(draws: FloatArray) -> FloatArray:
    """Return standard deviations over axis 1 of draws scaled by powers of two, which rounds nothing."""
    _, size = np.frexp(np.abs(draws).max(axis=1, keepdims=True))
    x = np.ldexp(draws, -size)
    x = x - x.mean(axis=1, keepdims=True)
    _, spread = np.frexp(np.abs(x).max(axis=1, keepdims=True))
    x = np.ldexp(x, -spread)
    unit = np.sqrt((x * x).sum(axis=1) / (draws.shape[1] - 1))
    with np.errstate(over="ignore"):  # that of numbers up to ±max may lie beyond
        return np.asarray(np.ldexp(unit, (size + spread)[:, 0]))


def _range(counts: NDArray[np.int64]) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,} to {high:,} draws" if low < high else f"{low:,} draw{'' if low == 1 else 's'}"


def _nth(k: int) -> str:
    ending = "th" if k % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k:,}{ending}"


def _lengths(draws: Any) -> NDArray[np.int64] | None:
    """Return the lengths of the rows of a list, if they differ; None for everything else."""
    if not isinstance(draws, (list, tuple)) or not all(hasattr(row, "__len__") for row in draws):
        return None
    if any(isinstance(row, (str, bytes, Mapping)) or getattr(row, "ndim", 1) == 0 for row in draws):
        return None
    lengths = np.array([len(row) for row in draws], np.int64)
    return lengths if lengths.size and lengths.min() < lengths.max() else None


def _read_unequal(draws: Sequence[Any], lengths: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return rows of unequal lengths as one array, NaN beyond the length of each, and these lengths."""
    rows = []
    for i, row in enumerate(draws):
        if not lengths[i]:
            raise InputError("every row needs a draw; {row} has none", row=i)
        try:
            rows.append(_read_draws([row])[0])
        except InputError as problem:
            raise problem.within(row=i) if problem.row is not None else problem.within("{row}: ", row=i) from None
        first, read = rows[0], rows[i]
        if read.shape[1:] != first.shape[1:] or read.dtype != first.dtype:
            raise InputError(
                "all rows must have draws of one shape, (M_i,) or (M_i, D), and of one type; row 0 has {first} and "
                "{row} {other}",
                first=f"{first.shape} of {first.dtype}",
                row=i,
                other=f"{read.shape} of {read.dtype}",
            )
    held = np.full((len(rows), int(lengths.max()), *rows[0].shape[1:]), np.nan, rows[0].dtype)
    for i, row in enumerate(rows):
        held[i, : len(row)] = row
    return locked(held), locked(lengths)


def _read_draw_weights(values: Any, shape: tuple[int, ...]) -> FloatArray:
    weights = read_array(values, "draw_weights")
    if weights.shape != shape:
        raise InputError(f"draw_weights must have one weight per draw, shape (n, M) = {shape}; got {weights.shape}")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    refuse_where(bad, weights, "draw_weights must be finite and at least 0", "Drop or repair such rows", axes=AXES)
    total = weights.max(axis=1)
    refuse_where(total == 0, total, "the draw_weights of a row must not all be 0", "Drop such rows")
    return weights


def _read_draws(draws: Any) -> NDArray[Any]:
    array = read_numbers(draws, "draws")
    if array.size == 0:
        raise InputError(f"draws is empty (shape {array.shape}); at least one value is needed")
    if array.ndim not in (2, 3):
        remedy = (
            "For one draw per row pass draws[:, None], for one row draws[None, :]" if array.ndim == 1 else "Reshape it"
        )
        raise InputError(
            "draws must have shape (n, M), M draws per row, or (n, M, D) for vectors of D coordinates; "
            f"got shape {array.shape}. {remedy}"
        )
    refuse_rounded(array, "draws")
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite
        held: NDArray[Any] = np.ascontiguousarray(array, dtype=float_type(array.dtype)).view()
    held.flags.writeable = False
    if not is_finite(held):
        refuse_where(np.isnan(held), held, "draws must not be missing", "Drop or repair such rows", axes=AXES)
    return held


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which numbers of a type are stored: float16 and float32 as they are, all others as float64.

    >>> float_type(np.dtype(">f4")), float_type(np.dtype(int))
    (dtype('float32'), dtype('float64'))
    """
    return dtype.newbyteorder("=") if dtype.kind == "f" and dtype.itemsize < 8 else np.dtype(np.float64)


def _read_log_densities(log_density: Any, shape: tuple[int, ...]) -> NDArray[Any] | None:
    if log_density is None:
        return None
    numbers = read_numbers(log_density, "log_density")
    refuse_rounded(numbers, "log_density")
    with np.errstate(over="ignore"):
        array = locked(numbers.astype(float_type(numbers.dtype), order="C", copy=True))
    if array.shape != shape:
        raise InputError(
            f"log_density, the joint density, must have one value per draw: (n, M) = {shape}; got shape {array.shape}"
        )
    bad = ~(array < np.inf)  # minus infinity stands for a density of 0
    remedy = "Drop or repair such rows"
    refuse_where(bad, array, "log_density must be below infinity and not missing", remedy, axes=AXES)
    return array
