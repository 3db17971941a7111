"""What is simulated for ranks against covariates, and for skill: errors of known place, and none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from calibrant import CdfValues, Intervals, Normal, Quantiles, Samples, Sets

Rng = np.random.Generator
FloatArray = np.ndarray[Any, Any]


class Place(NamedTuple):
    """The rows with an error, and the names of the covariates that decide it."""

    rows: FloatArray
    names: tuple[str, ...]


class Drawn(NamedTuple):
    """Outcomes, their predictions, the options of the test, and where the errors are."""

    y: FloatArray
    prediction: Any
    options: Mapping[str, Any]
    wrong: tuple[Place, ...] = ()


Draw = Callable[[Rng, int], Drawn]


def draws_with(rng: Rng, n: int, M: int = 99, *, bias: Any = 0.0, spread: Any = 1.0, D: int = 0) -> tuple[Any, Any]:
    """Return outcomes and draws that are too high by `bias` predictive sd, of a spread that is `spread` too small."""
    shape = (n, D) if D else (n,)
    column = (n, 1) if D else (n,)
    y = np.reshape(np.broadcast_to(spread, n), column) * rng.normal(size=shape)
    y = y - np.reshape(np.broadcast_to(bias, n), column)
    return y, Samples(rng.normal(size=(n, M, D) if D else (n, M)))


# Predictions that are as good everywhere.


def _plain(q: int, **error: Any) -> Draw:
    def draw(rng: Rng, n: int) -> Drawn:
        return Drawn(*draws_with(rng, n, **error), {"covariates": rng.normal(size=(n, q))})

    return draw


def _mixed(rng: Rng, n: int) -> Drawn:
    x = {
        "binary": rng.random(n) < 0.3,
        "four": rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.15, 0.05]),
        "cauchy": rng.standard_cauchy(n),
        "whole": rng.poisson(2, n),
    }
    return Drawn(*draws_with(rng, n, M=9), {"covariates": x})


def _many_categories(rng: Rng, n: int) -> Drawn:
    """Forty categories, the later ones rarer, of which the rarest are pooled; and two numbers."""
    share = 1 / np.arange(1, 41)
    kind = rng.choice([f"kind {k}" for k in range(40)], n, p=share / share.sum())
    return Drawn(*draws_with(rng, n), {"covariates": {"kind": kind, "a": rng.normal(size=n), "b": rng.normal(size=n)}})


def _weighted(rng: Rng, n: int) -> Drawn:
    x = rng.normal(size=(n, 3))
    return Drawn(*draws_with(rng, n), {"covariates": x, "weights": np.exp(0.8 * x[:, 0]), **UNIFORM})


def _with(draw: Draw, **options: Any) -> Draw:
    """Return the same data with more options of the test."""

    def more(rng: Rng, n: int) -> Drawn:
        data = draw(rng, n)
        return data._replace(options={**data.options, **options})

    return more


def _weights(draw: Draw) -> Draw:
    """Return the same data with weights that are unrelated to the covariates."""
    return lambda rng, n: _with(draw, weights=rng.lognormal(sigma=0.8, size=n), **UNIFORM)(rng, n)


UNIFORM = {"null": "calibrated"}

# Other kinds of prediction, right or wrong in a place.

HALF, QUARTER, CORNER = "half", "quarter", "corner"


def _inside(name: str, x: FloatArray) -> Place:
    if name == CORNER:
        return Place((x[:, 0] > 0.76) & (x[:, 1] > 0.76), ("x0", "x1"))
    return Place(x[:, 0] > (0.0 if name == HALF else 0.6745), ("x0",))


def _events(low: float, high: float, where: str = "", size: float = 0.0, q: int = 4) -> Draw:
    """Events whose chance is off by `size` in a place; by -`size` elsewhere, if that is a half."""

    def draw(rng: Rng, n: int) -> Drawn:
        x, p = rng.normal(size=(n, q)), rng.uniform(low, high, n)
        place = _inside(where, x)
        off = np.where(place.rows, size, -size if where == HALF else 0.0)
        y = (rng.random(n) < np.clip(p + off, 0, 1)).astype(int)
        return Drawn(y, p, {"covariates": x}, (place,) if where else ())

    return draw


def _of_kind(kind: str, where: str = "", size: float = 0.0) -> Draw:
    """Predictions of a standard normal outcome whose spread, of quantiles its place, is off by `size` in a place."""

    def draw(rng: Rng, n: int) -> Drawn:
        x, z, one = rng.normal(size=(n, 5)), rng.normal(size=n), np.ones(n)
        place = _inside(where or QUARTER, x)
        inside = place.rows if where else np.zeros(n, bool)
        wide = z * np.where(inside, 1 + size, 1.0)
        y, prediction = {
            "intervals": lambda: (wide, Intervals(-1.96 * one, 1.96 * one, level=0.95)),
            "two levels": lambda: (
                wide,
                Intervals(one[:, None] * [-0.6745, -1.96], one[:, None] * [0.6745, 1.96], [0.5, 0.95]),
            ),
            "quantiles": lambda: (z + size * inside, Quantiles(one[:, None] * [-1.2816, 0, 1.2816], [0.1, 0.5, 0.9])),
            "PIT": lambda: (None, CdfValues(_normal_cdf(wide))),
            "normal": lambda: (wide, Normal(0 * one, 1.0)),
            "classes": lambda: _classes(rng, n, inside),
            "sets": lambda: _sets(rng, n, np.where(inside, 0.9 - size, 0.9)),
        }[kind]()
        return Drawn(y, prediction, {"covariates": x}, (place,) if where else ())

    return draw


def _normal_cdf(z: FloatArray) -> FloatArray:
    from scipy.special import ndtr

    return np.asarray(ndtr(z))


def _classes(rng: Rng, n: int, inside: FloatArray) -> tuple[Any, Any]:
    """Four classes; inside, the last is taken for the third."""
    P = rng.dirichlet(2 * np.ones(4), n)
    y = (P.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return np.where(inside & (y == 3), 2, y), P


def _sets(rng: Rng, n: int, coverage: FloatArray) -> tuple[Any, Any]:
    """Sets of two or three of four classes, whose coverage does not depend on their size."""
    place = rng.random((n, 4)).argsort(axis=1)
    size = rng.integers(2, 4, n)
    covered = rng.random(n) < coverage
    pick = np.where(covered, rng.integers(0, size), rng.integers(size, 4))
    y = (place == pick[:, None]).argmax(axis=1)
    return y, Sets(place < size[:, None], level=0.9)


KINDS = ("intervals", "two levels", "quantiles", "PIT", "classes", "sets")

LEVELS: dict[str, tuple[Draw, dict[int, int]]] = {
    "events, q = 4": (_events(0.2, 0.8), {800: 300}),
    "events of 1 %, q = 4": (_events(0.005, 0.015), {2000: 200}),
    **{f"{kind}, q = 5": (_of_kind(kind), {500: 200}) for kind in KINDS},
    "calibrated, q = 3": (_plain(3), {800: 200, 100: 200}),
    "all x .7, q = 3": (_plain(3, spread=1 / 0.7), {800: 200}),
    "all + .4 sd, q = 3": (_plain(3, bias=0.4), {800: 200}),
    "q = 10": (_plain(10), {300: 200}),
    "D = 5, q = 3": (_plain(3, D=5), {200: 200}),
    "numbers and categories, M = 9": (_mixed, {100: 200, 400: 200}),
    "40 categories and 2 numbers": (_many_categories, {400: 200}),
    "calibrated null, q = 3": (_with(_plain(3), **UNIFORM), {300: 200}),
    "calibrated null, D = 5, q = 3": (_with(_plain(3, D=5), **UNIFORM), {300: 200}),
    "calibrated null, categories, M = 9": (_with(_mixed, **UNIFORM), {400: 200}),
    "calibrated null, weights by x": (_weighted, {300: 200}),
    "calibrated null, weights, categories": (_weights(_mixed), {400: 200}),
}
"""Designs, and numbers of data sets by numbers of rows."""


# One error.


def _by(name: str, q: int) -> Draw:
    def draw(rng: Rng, n: int) -> Drawn:
        x = rng.normal(size=(n, q))
        place = _place(name, x)
        given, inside = {"covariates": x}, place.rows
        if name.startswith("spread"):
            return Drawn(*draws_with(rng, n, spread=np.where(inside, 0.8, 1.25)), given, (place,))
        size = 0.3 if ".3" in name else 0.5
        bias = np.where(inside, 1.0, 0.0) if "5 %" in name else np.where(inside, size, -size)
        if name.endswith("one of five"):
            y, prediction = draws_with(rng, n, D=5)
            y[:, 2] -= bias
            return Drawn(y, prediction, given, (place,))
        return Drawn(*draws_with(rng, n, bias=bias), given, (place,))

    return draw


def _place(name: str, x: FloatArray) -> Place:
    if "|x2|" in name:
        return Place(np.abs(x[:, 1]) > 0.6745, ("x1",))
    if "x1 x2" in name:
        return Place(x[:, 0] * x[:, 1] > 0, ("x0", "x1"))
    if "tail" in name:
        return Place(x[:, 0] > 1.645, ("x0",))
    return Place(x[:, 0] > 0, ("x0",))


def _people(rng: Rng, n: int) -> dict[str, Any]:
    city = rng.choice(["Rome", "Oslo", "Lima", "Bonn", "Kyiv"], n)
    return {"age": rng.normal(size=n), "city": city, "sex": rng.random(n) < 0.5}


def _category(rng: Rng, n: int) -> Drawn:
    x = _people(rng, n)
    place = Place(x["city"] == "Oslo", ("city",))
    return Drawn(*draws_with(rng, n, bias=np.where(place.rows, 0.5, 0.0)), {"covariates": x}, (place,))


def _category_and_number(rng: Rng, n: int) -> Drawn:
    """An error of one category above an age: a box."""
    x = _people(rng, n)
    place = Place((x["city"] == "Oslo") & (x["age"] > 0), ("age", "city"))
    return Drawn(*draws_with(rng, n, bias=np.where(place.rows, 1.0, 0.0)), {"covariates": x}, (place,))


POWERS: dict[str, tuple[Draw, dict[int, int], bool]] = {
    "events +- .12 by x1": (_events(0.2, 0.8, HALF, 0.12, 5), {1000: 60}, True),
    "events + .2 in a 5 % corner": (_events(0.2, 0.8, CORNER, 0.2, 5), {4000: 30}, False),
    "95 % intervals, spread doubled in a quarter": (_of_kind("intervals", QUARTER, 1.0), {800: 60}, True),
    "PIT, spread 1.5 in a quarter": (_of_kind("PIT", QUARTER, 0.5), {400: 60}, False),
    "quantiles, + .4 sd in a quarter": (_of_kind("quantiles", QUARTER, 0.4), {400: 60}, False),
    "4 classes, one taken for another in a quarter": (_of_kind("classes", QUARTER, 1.0), {1500: 40}, True),
    "sets, coverage .75 for .9 in a quarter": (_of_kind("sets", QUARTER, 0.15), {800: 60}, True),
    **{f"bias +-.5 sd by |x2|, q = {q}": (_by("|x2|", q), {800: 60 if q < 20 else 40}, True) for q in (2, 10, 20)},
    "bias +-.3 sd by |x2|, q = 3": (_by("|x2| .3", 3), {800: 60}, False),
    "bias +-.3 sd by |x2|, weights": (_weights(_by("|x2| .3", 3)), {800: 60}, False),
    "bias +-.3 sd by |x2|, one of D = 5": (_by("|x2| .3 one of five", 3), {800: 60}, False),
    "spread x .8, x 1.25 by x1, q = 3": (_by("spread", 3), {800: 60}, False),
    "bias +-.5 sd by sign of x1 x2, q = 3": (_by("x1 x2", 3), {800: 60}, False),
    "+ 1 sd in the 5 % tail of x1, q = 3": (_by("tail 5 %", 3), {800: 100}, False),
    "+ .5 sd in one of 5 categories": (_category, {800: 100}, False),
    "+ .5 sd in one of 5 categories, weights": (_weights(_category), {800: 100}, False),
    "+ 1 sd in one category above an age": (_category_and_number, {800: 100}, False),
}
"""Designs, numbers of data sets, and whether a power of 0.9 is asked."""


# Two errors in two places.


def _two_covariates(rng: Rng, n: int) -> Drawn:
    x = rng.normal(size=(n, 3))
    places = (Place(x[:, 0] > FIFTH, ("x0",)), Place(x[:, 1] < -FIFTH, ("x1",)))
    bias = 0.8 * places[0].rows - 0.8 * places[1].rows
    return Drawn(*draws_with(rng, n, bias=bias), {"covariates": x}, places)


def _two_ends(rng: Rng, n: int) -> Drawn:
    x = rng.normal(size=(n, 3))
    places = (Place(x[:, 0] > FIFTH, ("x0",)), Place(x[:, 0] < -FIFTH, ("x0",)))
    spread = np.where(places[1].rows, 1 / 0.6, 1.0)
    return Drawn(*draws_with(rng, n, bias=0.8 * places[0].rows, spread=spread), {"covariates": x}, places)


def _two_kinds(rng: Rng, n: int) -> Drawn:
    x = _people(rng, n)
    places = (Place(x["city"] == "Oslo", ("city",)), Place(x["age"] > FIFTH, ("age",)))
    bias = 0.8 * places[0].rows - 0.8 * places[1].rows
    return Drawn(*draws_with(rng, n, bias=bias), {"covariates": x}, places)


FIFTH = 0.8416  # a fifth of standard normal numbers is larger
SEVERAL: dict[str, Draw] = {
    "x1 high: + .8 sd; x2 low: - .8 sd": _two_covariates,
    "x1 high: + .8 sd; x1 low: x .6": _two_ends,
    "one category: + .8 sd; high age: - .8 sd": _two_kinds,
}
"""Each place has a fifth of the rows."""


# Half of the rows, which get the bias that is said to be visible in them.


class Halves(NamedTuple):
    """Covariates, and the half of the rows that gets a bias."""

    covariates: Any
    half: FloatArray


def halves(rng: Rng, name: str, n: int) -> Halves:
    """Return covariates and a half of the rows."""
    x = rng.normal(size=(n, 10 if "q = 10" in name else 3))
    if name.startswith("category"):
        kind = rng.random(n) < 0.5
        return Halves({"kind": kind, "a": x[:, 0], "b": x[:, 1]}, kind)
    return Halves(x, _place(name, x).rows)


VISIBLE = ("x1 > 0, q = 3", "x1 > 0, q = 10", "|x2| > .67, q = 3", "category, q = 3", "x1 x2 > 0, q = 3")
BOXES_ONLY = "x1 x2 > 0, q = 3"  # a half that no covariate shows alone


# Maps and skill.


def _of_spread(x: FloatArray) -> FloatArray:
    return np.where(x[:, 0] > 0, 0.8, 1.25)


MAPS: dict[str, tuple[int, Callable[[FloatArray], Any]]] = {
    **{f"calibrated, M = {M}": (M, lambda x: 1.0) for M in (7, 49)},
    "all x .6": (49, lambda x: 1 / 0.6),
    "spread by x": (49, _of_spread),
}


def _skill_log(rng: Rng, n: int) -> tuple[Any, ...]:
    x = rng.normal(size=n)
    y = rng.normal(x, 1.0)
    return y, Normal(x, 1.1), {"score": "log", "climatology": Normal(np.zeros(n), np.sqrt(2))}


def _skill_log_heavy(rng: Rng, n: int) -> tuple[Any, ...]:
    x = rng.normal(size=n)
    y = x + rng.standard_t(5, size=n)
    return y, Normal(x, 1.2), {"score": "log", "climatology": Normal(np.zeros(n), 1.6)}


def _skill_energy(rng: Rng, n: int) -> tuple[Any, ...]:
    x = rng.normal(size=(n, 3))
    y = x + rng.normal(size=(n, 3))
    return y, Samples(x[:, None] + rng.normal(size=(n, 20, 3))), {"score": "energy"}


def _skill_energy_none(rng: Rng, n: int) -> tuple[Any, ...]:
    y = rng.normal(size=(n, 3))
    return y, Samples(rng.normal(size=(n, 20, 3))), {"score": "energy"}


def _skill_seed(rng: Rng, n: int) -> tuple[Any, ...]:
    x = rng.normal(size=n)
    return rng.normal(x, 1.0), Samples(x[:, None] + rng.normal(size=(n, 49))), {}


def _skill_none(rng: Rng, n: int) -> tuple[Any, ...]:
    return rng.normal(size=n), Samples(rng.normal(size=(n, 49))), {}


def _skill_constant(rng: Rng, n: int) -> tuple[Any, ...]:
    return rng.normal(size=n), Normal(np.zeros(n), 1.0), {}


SKILLS: dict[str, tuple[Callable[[Rng, int], tuple[Any, ...]], float | None]] = {
    "crps, draws": (_skill_seed, None),
    "crps, climatology drawn": (_skill_none, 0.0),
    "crps, constant marginal": (_skill_constant, 0.0),
    "energy, D = 3": (_skill_energy, None),
    "energy, climatology drawn": (_skill_energy_none, 0.0),
    "log, normal": (_skill_log, None),
    "log, outcomes t5": (_skill_log_heavy, None),
}
"""How data are drawn, and their true skill where it is known without a simulation."""
