"""What recalibration refuses: tables from the words of the message to the call, one for each kind of prediction."""

import re

import numpy as np
import pytest
from scipy import stats

import calibrant as cb
from calibrant.errors import InputError
from calibrant.recalibrating import class_maps
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.methods import METHODS

INF = np.inf
RNG = np.random.default_rng(0)
Y = np.arange(10.0)
AROUND = cb.Intervals(Y - 1, Y + 1, 0.9)
ENDLESS = cb.Intervals(np.full(10, -INF), np.full(10, INF), 0.9)
ZERO = cb.Intervals(np.zeros(10), np.zeros(10), 0.5)
LEFT_OPEN = cb.Intervals(np.where(Y == 4, -INF, 0.0), Y + 9, 0.5)
LETTERS = ["a", "b"] * 5
# Row 0 is covered from the first set on, row 1 from the second, row 2 never.
MASK = np.array([[[1, 1], [0, 1], [0, 0]], [[0, 1], [1, 1], [0, 0]], [[1, 1], [0, 1], [0, 0]]], dtype=bool)
NOT_NESTED = MASK.copy()
NOT_NESTED[1, 1] = [True, False]
FULL = cb.Sets([[True, True], [True, True]], 0.5)
POINTS = cb.Quantiles(np.tile([0.0, 4.0, 8.0], (20, 1)), [0.1, 0.5, 0.9])
ENDLESS_POINTS = cb.Quantiles(np.tile([0.0, 4.0, INF], (20, 1)), [0.1, 0.5, 0.9])
OUTSIDE = np.r_[-np.ones(9), np.full(11, 3.0)]
DRAWS, OUTCOME = RNG.normal(size=(20, 5)), RNG.normal(size=20)
BROKEN = DRAWS.copy()
BROKEN[3, 2] = INF
AT = np.linspace(0.1, 0.9, 20)
THREE = np.array([0.0, 1.0, 5.0])
FIRST, LAST = [0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9]
MIXED, P = [0, 1, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.6, 0.7, 0.9]


def fit(method, *rows, **options):
    return cb.recalibrate(*rows, method=method, **options)


def moved(*rows, **options):
    return fit("location-scale", *rows, **options)


def grouped():
    return fit("shift", Y, ZERO, groups=LETTERS)


def simulated(n, K=3, seed=20):
    """Return outcomes and probabilities of K classes."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(K), n)
    return (P.cumsum(axis=1)[:, :-1] < rng.uniform(size=(n, 1))).sum(axis=1), P


class Own(cb.Distribution):
    n = 3

    def take(self, rows):
        return self


def each(words, methods, call):
    """Return entries for several methods; the words may name the method as {}."""
    return {re.escape(words.format(method)) + f"|{method}!": lambda method=method: call(method) for method in methods}


TIED, ENDS = ([0, 1, 0, 1], [0.2, 0.2, 0.6, 0.6]), ([0, 1, 1, 0, 0, 1], [0.0, 0.1, 0.3, 0.6, 0.9, 0.7])
BINARY = list(METHODS["binary"])[1:]
ONE_PROBABILITY = {
    **each("only one class occurs: of 6 rows every one happened", BINARY, lambda m: fit(m, [1] * 6, P)),
    **each("only one class occurs: of 6 rows every one did not happen", BINARY, lambda m: fit(m, [0] * 6, P)),
    **each("the scores are constant: all are 0.3", BINARY[1:4], lambda m: fit(m, MIXED, [0.3] * 6)),
    **each(
        "No finite map minimises the log score; pass more rows, or use method='logistic'",
        BINARY[:4],
        lambda m: fit(m, FIRST, LAST),
    ),
    **each("separated", BINARY[1:3], lambda m: fit(m, FIRST, [0.1, 0.2, 0.6, 0.6, 0.8, 0.9])),
    **each(
        "{} has 3 parameters and needs at least as many different scores; got 2", BINARY[2:4], lambda m: fit(m, *TIED)
    ),
    **each(
        "no {} map gives such a row a finite log score. Limit the scores with clip= of recalibrate",
        BINARY[:3],
        lambda m: fit(m, [0, 1, 1, 0, 1], [0.1, 0.2, 0.0, 0.4, 0.3]),
    ),
    "the score of row 2 is 0 and the outcome is 1": lambda: fit("beta", [0, 1, 1, 0, 1], [0.1, 0.2, 0.0, 0.4, 0.3]),
    "the score of row 2 is 1 and the outcome is 0": lambda: fit("beta", [0, 1, 0, 0, 1], [0.1, 0.2, 1.0, 0.4, 0.3]),
    "the score of row 3": lambda: fit("beta", [0, 0, 1, 1], [0.0, 0.1, 0.2, 0.0], weights=[0, 1, 1, 1]),
    r"quadratic needs scores inside \(0, 1\); row 6 is 0.0": lambda: fit("quadratic", [*MIXED, 0], [*P, 0.0]),
    r"smoothing needs scores inside \(0, 1\); row 6": lambda: fit("logistic", [*MIXED, 0], [*P, 0], smoothing="platt"),
    "constant: all are 0.3": lambda: fit("logistic", MIXED, [0.3] * 6, smoothing="platt"),
    r"the scores inside \(0, 1\) are constant": lambda: fit("logistic", [0, *MIXED], [0.0, *[0.3] * 6]),
    "constant: all are 0.5, and no temperature": lambda: fit("temperature", MIXED, [0.5] * 6),
    "no event has a higher score than a non-event": lambda: fit("logistic", [1, 1, 0, 0], [0.1, 0.2, 0.6, 0.7]),
    "a quadratic map puts all rows": lambda: fit(
        "quadratic", [0, 0, 1, 1, 1, 0, 0], [0.1, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9]
    ),
    "every score is on the side of": lambda: fit("temperature", [0, 1, 0], [0.0, 1.0, 0.0]),
    r"no score lies inside \(0, 1\)": lambda: fit("logistic", [0, 1, 0], [0.0, 1.0, 0.0]),
    "beta has 3 parameters and needs at least as many rows; got 2": lambda: fit("beta", [1, 0], [0.2, 0.6]),
    "the best temperature map has slope = 0": lambda: fit("temperature", *ENDS),
    "the best logistic map has slope = -": lambda: fit("logistic", *ENDS),
    "the best beta map has a = 0": lambda: fit("beta", *ENDS),
    r"scores inside \(0, 1\); row 1 is 1.0": lambda: fit("quadratic", MIXED, P).apply([0.5, 1.0]),
    "row 200000 is": lambda: fit("quadratic", MIXED, P).apply(np.append(np.full(200_000, 0.5), 0.0)),
}

C = CLASS_ROWS, CLASS_P = simulated(100)
WITH_ZERO, ZERO_ROWS = CLASS_P.copy(), CLASS_ROWS.copy()
WITH_ZERO[57], ZERO_ROWS[57] = [0.5, 0, 0.5], 0
NO_ONES = np.where(CLASS_ROWS == 1, 0, CLASS_ROWS)
SCALED = (np.log(CLASS_P) * [1, 2, 1.5]).argmax(axis=1)  # larger and larger scales, which have no ridge
SHARE = 0.7 * RNG.uniform(size=100)
CONSTANT = np.column_stack([np.full(100, 0.3), SHARE, 0.7 - SHARE])
RULED_OUT = [0, 1, 2, 0], [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.9, 0.1, 0], [0.9, 0.1, 0]]
HUGE = {"scale": np.full(3, 1.7e308), "bias": np.zeros(3)}
SOFTMAX = ("temperature", "vector", "matrix", "dirichlet")
CLASSES = {
    **each("separated by the probabilities", SOFTMAX, lambda m: fit(m, CLASS_P.argmax(axis=1), CLASS_P)),
    **each("separated", ("vector", "dirichlet"), lambda m: fit(m, SCALED, CLASS_P)),
    **each("{} needs probabilities above 0; row 57, column 1", SOFTMAX[1:], lambda m: fit(m, ZERO_ROWS, WITH_ZERO)),
    **each("class 1 never occurs: no finite {} map", ("vector", "dirichlet"), lambda m: fit(m, NO_ONES, CLASS_P)),
    "class 1: only one class .* both classes": lambda: fit("one-vs-rest", NO_ONES, CLASS_P),
    "5 parameters for 3 classes and needs at least as many rows; got 4": lambda: fit("vector", *simulated(4)),
    "12 parameters for 3 classes and needs at least as many rows; got 11": lambda: fit("matrix", *simulated(11)),
    "dirichlet has 12 .* at least as many rows; got 11": lambda: fit("dirichlet", *simulated(11)),
    "as many different rows; got 2": lambda: fit("vector", [0, 1, 2] * 10, [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]] * 15),
    "outcome of row 2 is class 2, .* clip= of recalibrate": lambda: fit("temperature", *RULED_OUT),
    "row 57, column 1": lambda: fit("vector", *C).apply(WITH_ZERO),
    "the probabilities are constant": lambda: fit("temperature", [0, 1, 2] * 2, [[1 / 3] * 3] * 6),
    "the probability of class 0 is constant": lambda: fit("vector", CLASS_ROWS, CONSTANT),
    "ridge must be a number above 0": lambda: fit("matrix", *C, ridge=0.0),
    "matrix has one ridge": lambda: fit("matrix", *C, ridge=(1.0, 1.0)),
    "clip times the number of classes must be below 1.* 12 ": lambda: fit("temperature", *simulated(60, 12), clip=0.1),
    "inner must be one of": lambda: fit("one-vs-rest", *C, inner="platt"),
    "inner='beta' does not use smoothing=": lambda: fit("one-vs-rest", *C, inner="beta", smoothing="platt"),
    "must be finite; row 0": lambda: METHODS["classes"]["vector"].apply(HUGE, np.full((2, 3), 1 / 3), FitOptions()),
    "3 classes; got 2 columns": lambda: fit("temperature", *C).apply([[0.5, 0.5]]),
    "class probabilities .*one probability per row": lambda: fit("temperature", *C).apply([0.5, 0.5]),
}
REGIONS = {
    "y must be finite; row 3 is nan": lambda: fit("shift", np.where(Y == 3, np.nan, Y), AROUND),
    "same number of rows": lambda: fit("shift", Y[:9], AROUND),
    "by identity, shift, shift-each-end, scale or auto": lambda: fit("temperature", Y, AROUND),
    "not fitted by a score": lambda: fit("relevel", [0, 1], FULL, score="interval"),
    "score must be one of 'interval'": lambda: fit("shift", Y, AROUND, score="log"),
    "fitted on Intervals; got Quantiles": lambda: fit("shift", Y, AROUND).apply(cb.Quantiles([1.0], 0.5)),
    r"levels \[0.9\]; got \[0.8\]": lambda: fit("shift", Y, AROUND).apply(cb.Intervals([0.0], [1.0], 0.8)),
    "lower must be finite for scale; row 0 is -inf": lambda: fit("scale", Y, ENDLESS),
    "do not determine a shift": lambda: fit("shift", Y, ENDLESS),
    "shift takes one-sided ones": lambda: fit("shift-each-end", Y, cb.Intervals(np.full(10, -INF), Y, 0.7)),
    "quantiles are infinite at level 0.5": lambda: fit("shift", Y, cb.Quantiles(np.full(10, INF), 0.5)),
    "upper must be finite": lambda: fit("scale", Y, AROUND).apply(cb.Intervals([0.0], [INF], 0.9)),
    r"no group 'c'; it was fitted on \['a', 'b'\]": lambda: grouped().apply(ZERO, groups=["a"] * 9 + ["c"]),
    r"no group '\{c\}'; it was fitted": lambda: grouped().apply(ZERO, groups=["a"] * 9 + ["{c}"]),
    r"fitted with groups \(\['a', 'b'\]\); pass groups=": lambda: grouped().apply(ZERO),
    "this one was not": lambda: fit("shift", Y, ZERO).apply(ZERO, groups=LETTERS),
    "finite for scale; row 4 is -inf": lambda: fit("scale", Y, LEFT_OPEN, groups=LETTERS),
    "row 4 is -inf": lambda: fit("scale", Y, LEFT_OPEN, weights=[0, 1, 0, *[1] * 7]),
    "row 1 has a label in its set of level 0.25 that is not in its set of level 0.5": lambda: fit(
        "relevel", [0, 0, 2], cb.Sets(NOT_NESTED, [0.25, 0.5])
    ),
    "needs the nominal level": lambda: fit("relevel", [0, 0, 2], cb.Sets(MASK[:, :, 0])),
}

TWO = cb.Mixture([cb.Normal(np.zeros(3), 1.0)] * 2, [0.5, 0.5])
POISSON = cb.ScipyDistribution(stats.poisson([1.0, 2.0, 3.0]))
VECTORS = cb.MvNormal(np.zeros((3, 2)), np.eye(2))
DISTRIBUTIONS = {
    "not convex .*Use score='crps'": lambda: moved(THREE, TWO, score="log"),
    "at the same distance from the mean": lambda: moved(THREE + 0.1, cb.Normal(THREE, 1.0)),
    "same distance from the mean": lambda: moved(THREE + 0.1, cb.Normal(THREE, 1.0), score="crps"),
    "same distance": lambda: moved([1.1, 1e6 + 0.1], cb.Laplace([1.0, 1e6], 1.0)),
    "no minimum of the mean CRPS with": lambda: moved(np.eye(1, 40)[0], cb.Normal(np.zeros(40), 1.0), score="crps"),
    r"got ScipyDistribution of poisson. Describe it by draws, Samples\(distribution": lambda: moved(THREE, POISSON),
    "got MvNormal. .* one by one": lambda: moved(np.zeros((3, 2)), VECTORS),
    "got Own. Describe it by draws": lambda: moved(THREE, Own()),
    "got Mixture of Own": lambda: moved(THREE, cb.Mixture([Own(), Own()], [0.5, 0.5])),
    r"location-scale, or pit on distribution.quantiles\(levels\)": lambda: fit("pit", THREE, cb.Normal(THREE, 1.0)),
    "2 parameters and needs at least 2 rows; got 1": lambda: moved([1.0], cb.Normal(0.0, 1.0)),
    "must be finite; row 1 is inf": lambda: moved([0.0, 1.7e308], cb.Normal([0.0, -1.7e308], 1.0)),
}
PLAIN, WEIGHTED = cb.Samples(DRAWS), cb.Samples(DRAWS, draw_weights=np.ones((20, 5)))
FLAT = np.stack([DRAWS, np.ones_like(DRAWS)], axis=2)
FAR = [0.0, 1.7e308, 0.0], cb.Samples([[0.0, 1.0, 2.0], [-1.7e308, 0, 0], [1.0, 5.0, 2.0]])
SAMPLES = {
    "at least 2 draws per row; got 1": lambda: moved(OUTCOME, cb.Samples(DRAWS[:, :1])),
    "2 draws per row do not determine": lambda: moved(OUTCOME, cb.Samples(DRAWS[:, :2]), score="fair-crps"),
    "does not judge draws that": lambda: cb.recalibrate(OUTCOME, PLAIN, score="fair-crps"),
    "does not judge draws": lambda: cb.recalibration_gain(OUTCOME, PLAIN, method="location-scale", score="fair-crps"),
    "at least 2 rows; got 1": lambda: moved(OUTCOME[:1], cb.Samples(DRAWS[:1])),
    "draws of each row are all equal;": lambda: moved(OUTCOME, cb.Samples(np.tile(OUTCOME[:, None], (1, 5)))),
    "the best scale is 0": lambda: moved(DRAWS.mean(axis=1), PLAIN),
    r"all equal \(coordinate 1\)": lambda: moved(np.stack([OUTCOME, OUTCOME], axis=1), cb.Samples(FLAT)),
    "draws must be finite .* row 3, draw 2": lambda: moved(OUTCOME, cb.Samples(BROKEN)),
    "equal weight": lambda: moved(OUTCOME, PLAIN).apply(WEIGHTED),
    "same number of draws": lambda: moved(OUTCOME[:2], cb.Samples([[1.0, 2.0], [3.0]])),
    "score must be one of 'crps'": lambda: moved(OUTCOME, PLAIN, score="log"),
    "must be finite; row 1": lambda: moved(*FAR),
}
PITS = {
    "needs at least 20 rows, .*; got 19": lambda: fit("pit", None, cb.CdfValues(AT[:19])),
    "does not take weights": lambda: fit("pit", None, cb.CdfValues(AT), weights=np.arange(1, 21)),
    "pass None for y": lambda: fit("pit", AT, cb.CdfValues(AT)),
    "vectors of 1 coordinates": lambda: fit("pit", OUTCOME[:, None], cb.Samples(DRAWS[:, :, None])),
    "at least 2 draws per row": lambda: fit("pit", OUTCOME, cb.Samples(DRAWS[:, :1])),
    "equal weight": lambda: fit("pit", OUTCOME, PLAIN).apply(WEIGHTED),
    "level 0.1 would be that of level 0.0233.*, beyond the given levels 0.1 to 0.9": lambda: fit(
        "pit", OUTSIDE, POINTS
    ),
    "at least 2 levels": lambda: fit("pit", OUTSIDE, cb.Quantiles(np.zeros(20), 0.5)),
    "must be finite for pit; row 0, column 2 is inf": lambda: fit("pit", OUTSIDE, ENDLESS_POINTS),
}
TABLES = {
    "one probability": ONE_PROBABILITY,
    "classes": CLASSES,
    "regions": REGIONS,
    "distributions": DISTRIBUTIONS,
    "samples": SAMPLES,
    "pits": PITS,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_refused(table, for_each, monkeypatch):
    monkeypatch.setattr(class_maps, "BLOCK", 30)  # rows are named by their number among all blocks

    def check(words):
        with pytest.raises(InputError, match=words.partition("|")[0]):
            table[words]()

    for_each(list(table), check)
