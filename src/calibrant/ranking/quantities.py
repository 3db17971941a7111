"""Which ranks a verb takes: of coordinates, or of quantities that are ready or that a user defines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Quantities, Quantity, Rng
from calibrant.core.catalogue import public
from calibrant.core.dispatch import chunks
from calibrant.errors import InputError, NotApplicableError, did_you_mean, shown
from calibrant.inputs.options import check_count
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.counting import (
    JUDGED,
    Forecast,
    Ranked,
    as_compared,
    equal_rows,
    marginal_ranks,
    rank_counts,
    ranked,
)
from calibrant.ranking.covariates import read_covariates
from calibrant.ranking.density_ranks import energies
from calibrant.ranking.effects import RankArray, check_rng, enter_ranks
from calibrant.ranking.members import Members, coordinate_scale
from calibrant.ranking.summary import Ranks
from calibrant.ranking.vector_ranks import pre_rank

Named: TypeAlias = Quantity | str
LIKELIHOOD, DENSITY, PRODUCT, DISTANCE = "log_likelihood", "log_density", "product", "mean_distance"
OF_COORDINATES: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "sum": lambda z: z.sum(axis=2),
    "max": lambda z: z.max(axis=2),
    "min": lambda z: z.min(axis=2),
    "range": lambda z: z.max(axis=2) - z.min(axis=2),
}
READY = (LIKELIHOOD, DENSITY, PRODUCT, "norm", *OF_COORDINATES, DISTANCE)
OUTWARD = (DENSITY, DISTANCE)  # high ranks are outlying outcomes
MAX_PRODUCTS = 10  # coordinates whose products are ranked


@dataclass(frozen=True)
class RankedBy:
    """The options that say which ranks are taken; shared by all verbs of ranks that take quantities."""

    quantity: Quantities | None
    covariates: ArrayLike | None
    log_likelihood: Quantity | None
    log_density_y: ArrayLike | None
    draws: int | None
    rng: Rng | None

    def __post_init__(self) -> None:
        functions = {} if self.quantity is None else quantities_by_name(self.quantity)
        named = set(map(str, functions.values()))
        if self.log_likelihood is not None and not callable(self.log_likelihood):
            raise InputError(f"log_likelihood must be a function f(z, x); got {shown(self.log_likelihood)}")
        if (self.log_likelihood is not None) != (LIKELIHOOD in named):
            raise InputError('quantity="log_likelihood" and log_likelihood=f, its function f(z, x), go together')
        if self.log_density_y is not None and DENSITY not in named:
            raise InputError('log_density_y= goes with quantity="log_density"')
        if self.covariates is not None and not functions:
            raise InputError("covariates= goes with quantity=, a function f(z, x) that uses them")
        if self.draws is not None:
            check_count("draws", self.draws)
        check_rng(self.rng)


def count_ranked(rows: DistributionRows | QuantileRows | CdfRows, options: RankedBy) -> Ranks:
    return Ranks.of_ranked(ranked_by(rows, options), rows.w)


def ranked_by(rows: DistributionRows | QuantileRows | CdfRows, options: RankedBy) -> Ranked:
    rows, stream = equal_rows(rows, options.rng, options.draws)
    if options.quantity is None:
        return marginal_ranks(rows, stream)
    if rows.samples is None:
        got = type(rows.prediction).__name__
        raise InputError(
            f"quantity= is for Samples: it is computed from draws; got {got}. Pass draws of the distribution"
        )
    functions = quantities_by_name(options.quantity)
    columns = list(_values(rows, rows.samples, functions, options))
    less, equal = np.empty((2, rows.n, len(columns)), np.int64)
    for c, (_, values) in enumerate(columns):
        less[:, c], equal[:, c] = rank_counts(values[:, 0], values[:, 1:], values.dtype)
    names = tuple(name for name, _ in columns)
    if len(set(names)) != len(names):
        raise InputError(f"quantities must have different names; got {', '.join(map(shown, names))}")
    if callable(options.quantity) or (isinstance(options.quantity, str) and options.quantity != PRODUCT):
        less, equal = less[:, 0], equal[:, 0]
    tied = "the quantity of the outcome equals that of draws"
    found = ranked(less, equal, stream, M=rows.samples.M, names=names, what=tied)
    return found._replace(outward=all(isinstance(f, str) and f in OUTWARD for f in functions.values()))


def _values(
    rows: DistributionRows, distribution: Samples, functions: Mapping[str, Named], options: RankedBy
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the values of all members by each quantity, (n, M + 1), and its name."""
    known = {name: options.log_likelihood if f == LIKELIHOOD else f for name, f in functions.items()}
    own = {name: f for name, f in known.items() if callable(f)}
    with_covariates = {name for name, f in own.items() if takes_covariates(f)}
    if with_covariates and options.covariates is None:
        which = ", ".join(map(repr, sorted(with_covariates))) if with_covariates != {""} else "it"
        raise InputError(f"quantity f(z, x) needs covariates=, which is x; {which} has two arguments")
    if options.covariates is not None and not with_covariates:
        raise InputError(
            "covariates= goes with a quantity f(z, x) of two arguments without defaults; none of these has"
        )
    x = read_covariates(options.covariates, rows.n, rows.keep) if with_covariates else None
    z = _members(rows, distribution) if own else None
    for name, f in functions.items():
        if name in own:
            assert z is not None
            yield name, values_of(name, own[name], z, x if name in with_covariates else None)
        elif f == DENSITY:
            yield name, energies(rows, distribution, options.log_density_y, 'quantity="log_density"')
        else:
            yield from _ready(name, str(f), rows)


def _ready(name: str, ready: str, rows: DistributionRows) -> Iterator[tuple[str, NDArray[Any]]]:
    members = Members.of(rows)
    if members.D == 1 and ready != "norm":
        raise NotApplicableError(f"quantity {ready!r} is for vectors of two coordinates or more; these have one")
    if ready == DISTANCE:
        score = pre_rank(DISTANCE, members, coordinate_scale("pooled", members))
        yield name, np.concatenate([score(part) for part in chunks(members.n, members.size)])
        return
    z = np.concatenate([members.block(part) for part in chunks(members.n, members.size)])
    with np.errstate(over="ignore"):
        if ready == PRODUCT:
            called = rows.names or tuple(map(str, range(members.D)))
            if members.D > MAX_PRODUCTS:
                words = f"quantity 'product' is for at most {MAX_PRODUCTS} coordinates; these have {members.D}"
                raise NotApplicableError(f"{words}. Pass a function of the pairs you care about")
            for d, e in combinations(range(members.D), 2):
                yield f"{called[d]} × {called[e]}", z[:, :, d] * z[:, :, e]
        elif ready == "norm":
            yield name, np.sqrt(((z / coordinate_scale("pooled", members)) ** 2).sum(axis=2))
        else:
            yield name, OF_COORDINATES[ready](z)


def _members(rows: DistributionRows, distribution: Samples) -> NDArray[Any]:
    """Return outcome and draws in one array, (n, M + 1) or (n, M + 1, D), as the coarser of their types."""
    y = as_compared(rows.y, rows.dtype)
    z = np.empty((rows.n, distribution.M + 1, *distribution.shape), y.dtype)
    z[:, 0] = y
    for part in chunks(rows.n):
        z[part, 1:] = as_compared(distribution.held[part], rows.dtype)
    return z


def quantities_by_name(quantity: Any) -> dict[str, Named]:
    """Return quantities by their names; a function by itself has the name it was defined with, "" for a lambda."""
    if isinstance(quantity, Mapping):
        found = dict(quantity)
    elif isinstance(quantity, (list, tuple)):
        found = {_name_of(f): f for f in quantity}
        if len(found) != len(quantity):
            raise InputError("the quantities of a list must have different names; pass a mapping from names to them")
    else:
        found = {_name_of(quantity): quantity}
    if not found:
        raise InputError("quantity has no entries; name at least one, or leave it out")
    for name, f in found.items():
        if not isinstance(name, str) or not (callable(f) or isinstance(f, str)):
            words = "quantity must be a function of the members z, a ready name, a list of these"
            raise InputError(f"{words} or a mapping from names to them; got {shown(quantity)}")
        if isinstance(f, str) and f not in READY:
            hint = did_you_mean(f, READY)
            raise InputError(f"there is no ready quantity {f!r}; there are {', '.join(READY)}. {hint}".rstrip(". "))
    return found


def _name_of(f: Any) -> Any:
    if not callable(f):
        return f if isinstance(f, str) else ""
    name = str(getattr(f, "__name__", ""))
    return "" if name == "<lambda>" else name


def uses_covariates(quantity: Any) -> bool:
    found = quantities_by_name(quantity).values()
    return any(f == LIKELIHOOD if isinstance(f, str) else takes_covariates(f) for f in found)


def takes_covariates(f: Quantity) -> bool:
    """Tell whether a function is f(z, x): whether it has a second argument without a default."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):  # some built-in functions do not tell
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters) > 1


def values_of(name: str, f: Quantity, z: NDArray[Any], x: Any) -> NDArray[Any]:
    """Return the values of all members, (n, M + 1), from z (n, M + 1, D) or (n, M + 1); x None is left out.

    f is asked a second time with the members of one row moved round, and their values must move with them.
    """
    given = () if x is None else (x,)
    found = _asked(name, f, z, given).copy()  # f may write its next values into the same array
    differs = (z[:, 0] != z[:, -1]).reshape(len(z), -1).any(axis=1)
    row = int(np.argmax(differs))  # in which moving the members round is visible
    turned = z.copy()
    turned[row] = np.roll(z[row], 1, axis=0)
    again = _asked(name, f, turned, given)[row]
    if not _same(again, np.roll(found[row], 1), z.dtype):
        words = "{name} must treat the outcome, z[:, 0], and the draws alike: the values of {row} did not move with its"
        raise InputError(words + " members", name=_named(name), row=row)
    return found


def _asked(name: str, f: Quantity, z: NDArray[Any], given: tuple[Any, ...]) -> NDArray[Any]:
    z.flags.writeable = False
    values = np.asarray(f(z.view(), *given))  # of a view nobody can make it writeable
    n, m = z.shape[:2]
    if values.shape != (n, m):
        words = f"must return one value per row and member, shape (n, M + 1) = ({n}, {m}), from z of shape {z.shape}"
        raise InputError(f"{_named(name)} {words}; got shape {values.shape}")
    if values.dtype.kind not in "biuf":
        raise InputError(f"{_named(name)} must return real numbers; got values of type {values.dtype}")
    bad = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    if bad.any():
        row, member = np.unravel_index(int(np.argmax(bad)), bad.shape)
        which = "the outcome" if member == 0 else f"draw {int(member) - 1}"
        raise InputError(
            "{name} must not be missing; it is nan at {which} of {row}", name=_named(name), which=which, row=int(row)
        )
    return _native(values)


def _native(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        return values.astype(np.float32 if values.dtype.itemsize < 4 else np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _same(a: NDArray[Any], b: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Tell whether values are equal up to what sums taken in another order leave."""
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    coarser = dtype if np.finfo(dtype).eps > np.finfo(a.dtype).eps else a.dtype
    finite = np.isfinite(b)
    size = float(np.abs(b[finite]).max(initial=0.0))
    with np.errstate(invalid="ignore"):  # inf - inf, where both are the same
        near = np.abs(a - b) <= np.sqrt(np.finfo(coarser).eps) * size
    return bool((near | (a == b)).all())


def _named(name: str) -> str:
    return f"quantity {name!r}" if name else "quantity"


@public
def ranks(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    quantity: Quantities | None = None,
    covariates: ArrayLike | None = None,
    log_likelihood: Quantity | None = None,
    log_density_y: ArrayLike | None = None,
    draws: int | None = None,
    rng: Rng | None = None,
) -> RankArray:
    r"""Number of draws below the outcome: uniform on 0 to M if outcome and draws are exchangeable.

    .. math:: r_i = \#\{j : x_{ij} < y_i\} + U_i, \quad U_i \text{ uniform on } 0, \dots, \#\{j : x_{ij} = y_i\}

    Do not divide by M: r/M is not uniform, and neither is (r + ½)/(M + 1).

    Parameters
    ----------
    y
        Outcomes, numbers (n,) or vectors (n, D); None for `CdfValues`.
    prediction
        `Samples` of draws (n, M) or (n, M, D), those of row i in ``draws[i]``. Or a distribution, `Quantiles` or
        `CdfValues`.
    quantity
        For `Samples`: what is ranked in place of the coordinates. A function f, the name of a ready quantity, a list of
        these, or a mapping from your names to them. ``f(z)`` receives the members, an array (n, M + 1, D), or
        (n, M + 1) for numbers, with the outcome at ``z[:, 0]`` and the draws after it, and returns values (n, M + 1). A
        function of two arguments without defaults is called as ``f(z, x)``. It must treat the members alike, which is
        checked in one row. Ready ones: ``"sum"``, ``"max"``, ``"min"``, ``"range"`` of the coordinates; ``"norm"``
        (Euclidean, coordinates over their pooled standard deviation); ``"product"`` (of each pair of coordinates, at
        most 10 of them); ``"mean_distance"`` (as in `joint_ranks`); ``"log_density"`` (as in `energy_ranks`, high ranks
        are improbable outcomes); ``"log_likelihood"``.
    covariates
        What the predictions were made from, with one value, vector or array per row: the x of ``f(z, x)``.
    log_likelihood
        The function ``f(z, x)`` of the quantity ``"log_likelihood"``: the log likelihood of x at each member.
    log_density_y
        For the quantity ``"log_density"``: the log density of the prediction at each outcome, (n,).
    draws
        Among how many draws outcomes are ranked: random ones of each row, all if not given. Rows with unequal numbers
        of draws keep as many as the shortest has.
    rng
        Generator or seed for U. Needed as soon as an outcome equals a draw, a distribution function jumps at it, or
        draws are chosen.

    Returns
    -------
    ndarray of int64
        (n,) for numbers, (n, D) for vectors, coordinate by coordinate; (n,) for one quantity and (n, Q) for a list or
        mapping of Q.

    Examples
    --------
    >>> from calibrant import Samples
    >>> ranks([2.5, 0.0], Samples([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    array([2, 0])

    The sum of the two coordinates is 3 for the outcome, 2 and 9 for the draws:

    >>> samples = Samples([[[1.0, 1.0], [4.0, 5.0]]])
    >>> ranks([[0.0, 3.0]], samples, quantity={"sum": lambda z: z.sum(axis=2)})
    array([[1]])
    >>> ranks([[0.0, 3.0]], samples, quantity="sum")
    array([1])
    """
    return RANKS(y, prediction, RankedBy(quantity, covariates, log_likelihood, log_density_y, draws, rng))


RANKS = enter_ranks(ranks, RankedBy, ranked_by, predictions=JUDGED)
