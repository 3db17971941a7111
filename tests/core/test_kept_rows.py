"""The rows themselves as a summary: every kind of prediction merges, travels as bytes, and comes back the same."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy import stats

import calibrant as cb
from calibrant.core import summary as codec
from calibrant.core.kept_rows import KeptRows, joined, prediction_of
from calibrant.errors import SummaryError
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.kinds import KINDS
from calibrant.inputs.probabilities import read_probabilities
from calibrant.inputs.rows import QuantileRows, SetRows, read_outcomes
from calibrant.kernel_errors import cme_test
from calibrant.summaries import Summary

RNG = np.random.default_rng(0)
n = 12
CENTRE = RNG.normal(size=n)
REAL = CENTRE + RNG.normal(size=n)
W = RNG.uniform(0.5, 3, n)
MASK = RNG.random((n, 3, 2)) < 0.6
A = RNG.normal(size=(n, 3, 3))

DISTRIBUTIONS = {
    "Normal": cb.Normal(CENTRE, RNG.uniform(1, 2, n)),
    "Laplace": cb.Laplace(CENTRE, RNG.uniform(1, 2, n)),
    "MvNormal": cb.MvNormal(RNG.normal(size=(n, 3)), A @ A.transpose(0, 2, 1) + np.eye(3)),
    "MvNormal shared": cb.MvNormal(RNG.normal(size=(n, 2)), [[1.0, 0.3], [0.3, 1.0]]),
    "Samples": cb.Samples(RNG.normal(size=(n, 4))),
    "Samples of vectors": cb.Samples(RNG.normal(size=(n, 4, 2))),
    "Samples with densities": cb.Samples(RNG.normal(size=(n, 4)), RNG.normal(size=(n, 4))),
    "Samples of vectors with densities": cb.Samples(RNG.normal(size=(n, 4, 2)), RNG.normal(size=(n, 4))),
    "Mixture": cb.Mixture([cb.Normal(CENTRE, 1.0), cb.Laplace(CENTRE, 2.0)], RNG.dirichlet([1, 1], n)),
    "Mixture of vectors": cb.Mixture(
        [cb.MvNormal(RNG.normal(size=(n, 2)), np.eye(2)), cb.MvNormal(RNG.normal(size=(n, 2)), 2 * np.eye(2))],
        [0.25, 0.75],
    ),
    "Mixture of mixtures": cb.Mixture(
        [cb.Mixture([cb.Normal(CENTRE, 1.0), cb.Normal(np.zeros(n), 2.0)], [0.5, 0.5]), cb.Normal(np.ones(n), 3.0)],
        [0.25, 0.75],
    ),
}
CASES = {
    "probability": (RNG.integers(0, 2, n), RNG.random(n)),
    "single precision": (RNG.integers(0, 2, n), RNG.random(n).astype("float32")),
    "classes": (RNG.integers(0, 3, n), RNG.dirichlet(np.ones(3), n)),
    "interval": (REAL, cb.Intervals(CENTRE - 1, CENTRE + 1.5, 0.8)),
    "intervals": (REAL, cb.Intervals(CENTRE[:, None] - [2, 1], CENTRE[:, None] + [2, 1], [0.9, 0.5])),
    "set": (RNG.integers(0, 3, n), cb.Sets(MASK[:, :, 0], 0.8)),
    "sets": (RNG.integers(0, 3, n), cb.Sets(MASK, [0.8, 0.5])),
    "quantile": (REAL, cb.Quantiles(CENTRE, 0.5)),
    "quantiles": (REAL, cb.Quantiles(CENTRE[:, None] + [-1, 0, 1], [0.1, 0.5, 0.9])),
    **{name: (RNG.normal(size=(n, *d.shape)), d) for name, d in DISTRIBUTIONS.items()},
}
TYPED = [name for name in CASES if not isinstance(CASES[name][1], np.ndarray)]


def of(name, rows=slice(None), weights=None):
    y, prediction = CASES[name]
    w = None if weights is None else weights[rows]
    if isinstance(prediction, np.ndarray):
        return KeptRows.of(read_probabilities(y[rows], prediction[rows], weights=w))
    return KeptRows.of(KINDS[prediction.prediction_kind].read(y[rows], prediction.take(rows), weights=w))


def test_rows_stay_in_order():
    for name, (y, prediction) in CASES.items():
        found = of(name, weights=W)
        np.testing.assert_array_equal(found.rows.y, y)
        np.testing.assert_array_equal(found.rows.w, W)
        assert repr(found) == "KeptRows(n=12)"
        assert found.grows
        if isinstance(prediction, np.ndarray):
            held = found.rows.p if prediction.ndim == 1 else found.rows.P
            np.testing.assert_array_equal(held, prediction.astype(float))
            assert (held.dtype, found.dtype) == (np.float64, prediction.dtype.name)


def test_the_verbs_make_it():
    for name in TYPED:
        if name.startswith("Samples") or "vectors" in name:
            continue
        assert cb.summarize(cb.skce, *CASES[name]) == cb.summarize(cb.skce_test, *CASES[name]) == of(name), name
    assert cb.summarize(cb.decompose, *CASES["quantiles"]) == of("quantiles")


def test_it_is_a_copy_that_cannot_be_written_to():
    y, P, w = np.array([0, 2, 1]), np.full((3, 3), 1 / 3), np.array([1.0, 2.0, 0.5])
    found = KeptRows.of(read_probabilities(y, P, weights=w))
    y[:], P[:], w[:] = 0, 0, 9
    assert (found.rows.y.tolist(), found.rows.w.tolist()) == ([0, 2, 1], [1.0, 2.0, 0.5])
    np.testing.assert_array_equal(found.rows.P, 1 / 3)
    for array in (found.rows.y, found.rows.P, found.rows.w):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(FrozenInstanceError):
        found.dtype = "float32"
    y = np.array([0.5, 1.0])
    kept = KeptRows.of(read_outcomes(y, cb.Normal([0.0, 1.0], 1.0)))
    y[0] = 9
    assert kept.rows.y[0] == 0.5


@pytest.mark.parametrize("weights", [None, W], ids=["", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_merging_is_one_after_the_other(name, weights):
    whole = of(name, weights=weights)
    for cut in (1, 5):
        first, second = of(name, slice(0, cut), weights), of(name, slice(cut, n), weights)
        assert first + second == whole != second + first
        assert is_unit((first + second).rows.w) == (weights is None)
        mixed = of(name, slice(0, cut)) + of(name, slice(cut, n), W)
        assert mixed.rows.w.tolist() == [1.0] * cut + W[cut:].tolist()


def test_no_rows():
    zero = KeptRows.zero()
    assert zero.n == 0
    assert zero + zero == zero == Summary.from_bytes(zero.to_bytes())
    for name in CASES:
        some = of(name)
        assert zero + some == some + zero == some != zero
    with pytest.raises(SummaryError, match="empty"):
        _ = zero.rows


@pytest.mark.parametrize("weights", [None, W], ids=["", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_bytes_and_pickle(name, weights):
    found = of(name, weights=weights)
    for back in (Summary.from_bytes(found.to_bytes()), pickle.loads(pickle.dumps(found))):
        assert back == found
        assert back + found == found + found
        assert type(back.rows) is type(found.rows)
        assert back.kind == found.kind
    assert is_unit(KeptRows.from_bytes(found.to_bytes()).rows.w) == (weights is None)


def test_differences_are_seen():
    y, prediction = CASES["Normal"]
    base = of("Normal", weights=W)
    others = [
        KeptRows.of(read_outcomes(y + 1, prediction, weights=W)),
        KeptRows.of(read_outcomes(y, cb.Normal(prediction.mean, prediction.std + 1), weights=W)),
        KeptRows.of(read_outcomes(y, cb.Laplace(prediction.mean, prediction.std), weights=W)),
        KeptRows.of(read_outcomes(y, prediction, weights=W + 1)),
        KeptRows.of(read_outcomes(y, prediction)),
    ]
    assert all(other != base for other in others)
    assert base != "rows"


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("classes", "probability", "rows of 3 classes do not merge with rows of one probability per row"),
        ("Normal", "Laplace", "rows of Normal do not merge with rows of Laplace"),
        ("set", "quantile", "Sets of levels 0.8 and 3 labels do not merge with rows of Quantiles of levels 0.5"),
        ("interval", "intervals", "Intervals of levels 0.8 do not merge with rows of Intervals of levels 0.9, 0.5"),
        ("quantile", "quantiles", "of levels 0.5 do not merge with rows of Quantiles of levels 0.1, 0.5, 0.9"),
        ("probability", "single precision", "float64 and float32"),
        ("MvNormal", "MvNormal shared", "do not merge"),
        ("Samples", "Samples of vectors", "do not merge"),
        ("Samples", "Samples with densities", "Samples [4] False do not merge with rows of Samples [4] True"),
        ("Mixture", "Mixture of mixtures", "do not merge"),
    ],
)
def test_kinds_do_not_mix(first, second, words, refusal):
    assert words in refusal(lambda: of(first) + of(second), error=SummaryError)


@pytest.mark.parametrize(
    ("name", "other", "words"),
    [
        ("classes", read_probabilities([0], [[0.25] * 4]), "3 classes do not merge with rows of 4 classes"),
        (
            "set",
            SetRows.read([0], cb.Sets([[True, False]], 0.8)),
            "3 labels do not merge with rows of Sets of levels 0.8 and 2 labels",
        ),
    ],
)
def test_other_numbers_of_classes_and_labels(name, other, words, refusal):
    assert words in refusal(lambda: of(name) + KeptRows.of(other), error=SummaryError)


def test_levels_are_compared_after_rounding():
    first, second = (KeptRows.of(QuantileRows.read([0.0], cb.Quantiles([1.0], level))) for level in (0.1, 1 - 0.9))
    assert (first + second).n == 2
    several = KeptRows.of(QuantileRows.read([0.0], cb.Quantiles([[1.0]], [0.1])))
    assert not (first + several).rows.prediction.single


def test_a_verb_refuses_rows_of_another_kind(refusal):
    message = refusal(cme_test, of("interval"), error=SummaryError)
    assert message.endswith("this summary has rows of Intervals")
    assert "decompose judges" in refusal(cb.decompose, of("classes"), error=SummaryError)


class Own(cb.Distribution):
    @property
    def n(self):
        return 1

    def take(self, rows):
        return self


@pytest.mark.parametrize(
    "distribution", [Own(), cb.ScipyDistribution(stats.gamma([2.0])), cb.Mixture([Own(), Own()], [0.5, 0.5])]
)
def test_distributions_without_a_table(distribution, refusal):
    found = KeptRows.of(read_outcomes([0.5], distribution))
    for call in (found.to_bytes, lambda: found + found):
        message = refusal(call, error=SummaryError)
        assert "has no table of parameters" in message
        assert "pass all rows in one call" in message
    assert found == found  # noqa: PLR0124


def test_distributions_without_a_table_are_still_measured():
    distribution = cb.ScipyDistribution(stats.norm(CENTRE, 1.0))
    expected = cb.skce(REAL, distribution)
    assert cb.skce(KeptRows.of(read_outcomes(REAL, distribution))) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_there_and_back(name):
    distribution = DISTRIBUTIONS[name]
    kind, columns = distribution.columns()
    assert columns.shape[0] == n
    halves = joined(distribution.take(slice(4)), distribution.take(slice(4, None)))
    for found in (prediction_of(kind, columns), halves):
        assert type(found) is type(distribution)
        assert found.shape == distribution.shape
        assert found.columns()[0] == kind
        np.testing.assert_array_equal(found.columns()[1], columns)


def test_a_foreign_kind(refusal):
    assert "unknown kind Gumbel" in refusal(prediction_of, ["Gumbel"], np.zeros((1, 2)), error=SummaryError)


@pytest.mark.parametrize(
    ("name", "key", "bad"),
    [
        ("probability", "columns", np.full((n, 1), 1.5)),
        ("classes", "columns", np.full((n, 3), 0.9)),
        ("classes", "y", np.full(n, 3)),
        ("classes", "kind", '["classes", 4]'),
        ("intervals", "columns", np.column_stack([np.ones((n, 2)), np.zeros((n, 2))])),
        ("interval", "kind", '["Intervals", [1.5], true]'),
        ("quantiles", "columns", np.full((n, 3), np.nan)),
        ("sets", "columns", np.full((n, 6), 2.0)),
        ("Normal", "columns", np.zeros((n, 2))),
        ("Normal", "columns", np.ones((n, 1))),
        ("MvNormal", "columns", np.ones((n, 2))),
        *(("Normal", "kind", kind) for kind in ('["Cauchy"]', "[]", "{", 3, '["Mixture", 1]')),
        ("Normal", "w", np.full(n, -1.0)),
    ],
)
def test_bytes_with_values_that_are_not_legal(name, key, bad, refusal):
    kind, values = codec.decode(of(name).to_bytes())
    assert refusal(Summary.from_bytes, codec.encode(kind, {**values, key: bad}), error=SummaryError)
