"""Ranks of outcomes among their draws, and of quantities of one's own."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.references.books import arrays

from calibrant import CdfValues, Intervals, MvNormal, Normal, Quantiles, Samples, summarize
from calibrant.ranking.quantities import quantities_by_name, ranks, takes_covariates, values_of

ARRAYS = arrays("samples")
Y = np.array([[0.0, 3.0], [1.0, -1.0], [0.5, 0.5]])
X = np.array([[[1.0, 1.0], [4.0, 5.0]], [[0.0, 0.0], [2.0, -3.0]], [[1.5, 2.5], [-2.0, 0.0]]])


def total(z):
    return z.sum(axis=2)


class TestReferences:
    @pytest.mark.parametrize(
        ("y", "name"),
        [
            ("y", "calibrated"),
            ("y", "overdispersed"),
            ("y", "biased"),
            ("y_shape", "skewed"),
            ("y_shape", "heavy_tailed"),
            ("y_seed", "seed_ideal"),
        ],
    )
    def test_no_ties(self, y, name):
        found = ranks(ARRAYS[y], Samples(ARRAYS[f"samples_{name}"]))
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, ARRAYS[f"ranks_{name}"])

    def test_whole_numbers(self, refusal):
        y, samples = ARRAYS["integer_y"], Samples(ARRAYS["integer_samples"])
        less, equal = ARRAYS["integer_less"], ARRAYS["integer_equal"]
        found = ranks(y, samples, rng=0)
        assert ((less <= found) & (found <= less + equal)).all()
        assert len({tuple(ranks(y, samples, rng=seed)) for seed in range(3)}) == 3
        assert "the outcome equals draws in 277 of 300 ranks" in refusal(ranks, y, samples)
        assert summarize(ranks, y, samples, rng=0).tied.tolist() == [277]


class TestMarginal:
    def test_by_hand(self):
        np.testing.assert_array_equal(ranks(Y, Samples(X)), [[0, 1], [1, 1], [1, 1]])
        np.testing.assert_array_equal(ranks([5.0], Samples([[1.0]])), [1])
        draws = [[-np.inf, 0.0, np.inf], [np.inf, np.inf, -np.inf]]
        np.testing.assert_array_equal(ranks([1.0, 0.0], Samples(draws)), [2, 1])

    @pytest.mark.parametrize("M", [1, 4, 9])
    @pytest.mark.parametrize("values", [3, 10**6])
    def test_exchangeable_members_have_uniform_ranks(self, M, values):
        members = np.random.default_rng(M).integers(0, values, (20_000, M + 1)) * 1.0
        counts = np.bincount(ranks(members[:, 0], Samples(members[:, 1:]), rng=0), minlength=M + 1)
        assert counts.size == M + 1
        assert stats.chisquare(counts).pvalue > 0.001

    @given(st.integers(0, 10**6))
    def test_orders_do_not_matter(self, seed):
        rng = np.random.default_rng(seed)
        y, x = rng.normal(size=(6, 2)), rng.normal(size=(6, 5, 2))
        found = ranks(y, Samples(x))
        np.testing.assert_array_equal(ranks(y, Samples(x[:, rng.permutation(5)])), found)
        order = rng.permutation(6)
        np.testing.assert_array_equal(ranks(y[order], Samples(x[order])), found[order])

    def test_distributions_quantiles_and_distribution_functions_have_cells(self):
        np.testing.assert_array_equal(ranks([0.0, 0.0], Normal([0.0, 9.0], 1.0)), [499, 0])
        np.testing.assert_array_equal(ranks(None, CdfValues([0.0, 0.001, 0.0011, 1.0])), [0, 0, 1, 999])
        assert ranks([[0.0, 0.0]], MvNormal([[0.0, 1.0]], np.eye(2))).shape == (1, 2)
        inside = ranks(np.zeros(300), Quantiles(np.tile([-1.0, 1.0], (300, 1)), [0.25, 0.75]), rng=0)
        assert inside.min() >= 250
        assert inside.max() < 750
        assert summarize(ranks, [0.0], Normal([0.0], 1.0)).cells


class TestQuantities:
    def test_by_hand(self):
        # Sums: 3 among 2, 9; 0 among 0, -1; 1 among 4, -2.
        options = {"quantity": {"sum": total, "first": lambda z: z[:, :, 0]}}
        found = ranks(Y, Samples(X), rng=0, **options)
        np.testing.assert_array_equal(found[:, 1], ranks(Y, Samples(X))[:, 0])
        assert found[0, 0] == found[2, 0] == 1
        assert found[1, 0] in (1, 2)
        summary = summarize("ranks", Y, Samples(X), rng=0, **options)
        assert summary.names == ("sum", "first")
        assert summary.tied.tolist() == [1, 0]
        assert not summary.single
        with np.errstate(divide="ignore"):
            found = ranks([0.0, 5.0], Samples([[1.0, 2.0], [0.0, np.inf]]), quantity=np.log)
        np.testing.assert_array_equal(found, [0, 1])

    def test_one_function_is_one_column(self):
        found = ranks(Y, Samples(X), quantity=total, rng=0)
        assert found.shape == (3,)
        named = summarize(ranks, Y, Samples(X), quantity=total, rng=0)
        assert (named.names, named.single) == (("total",), True)
        assert summarize(ranks, Y, Samples(X), quantity=lambda z: z[:, :, 0]).names == ("",)
        numbers = Y[:, 0], Samples(X[:, :, 0])  # which have no axis of coordinates
        np.testing.assert_array_equal(ranks(*numbers, quantity=np.negative), 2 - ranks(*numbers))
        assert list(quantities_by_name({"b": norm, "a": Scaled()})) == ["b", "a"]
        assert list(quantities_by_name(Scaled())) == [""]

    def test_covariates_and_a_forecaster_that_knows_nothing(self):
        x = np.array([1.0, 0.5, 3.0])
        near = lambda z, c: np.abs(z[:, :, 0] - c[:, None])  # noqa: E731
        # Distances: 1 among 0, 3; 0.5 among 0.5, 1.5; 2.5 among 1.5, 5.
        found = ranks(Y, Samples(X), quantity={"near": near, "first": lambda z: z[:, :, 0]}, covariates=x, rng=0)
        assert found[[0, 2], 0].tolist() == [1, 1]
        assert found[1, 0] in (0, 1)
        np.testing.assert_array_equal(found[:, 1], ranks(Y, Samples(X))[:, 0])
        options = {"quantity": lambda z, c: z * c[:, None], "covariates": [1.0, 7.0, -1.0], "weights": [2.0, 0.0, 1.0]}
        summary = summarize(ranks, [0.0, np.nan, 5.0], Samples([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0]]), **options)
        assert summary.weight[:, 0].tolist() == [3.0, 0.0, 0.0]
        rng = np.random.default_rng(0)
        x = rng.normal(size=2000)
        y, draws = x + rng.normal(size=2000), rng.normal(size=(2000, 19)) * np.sqrt(2)
        likelihood = lambda z, c: -((z - c[:, None]) ** 2)  # noqa: E731
        for quantity, uniform in ((None, True), (likelihood, False)):
            given = {} if quantity is None else {"quantity": quantity, "covariates": x}
            counts = np.bincount(ranks(y, Samples(draws), **given), minlength=20)
            assert (stats.chisquare(counts).pvalue > 0.001) == uniform

    @pytest.mark.parametrize(
        "quantity",
        [
            lambda z: z - z[:, :1],
            lambda z: z - z[:, 1:].mean(axis=1, keepdims=True),
            lambda z: z * (np.arange(z.shape[1]) + 1),
            lambda z: (z > z[:, 1:].mean(axis=1, keepdims=True)).astype(int),
        ],
    )
    def test_members_must_be_treated_alike(self, refusal, quantity):
        rng = np.random.default_rng(0)
        message = refusal(ranks, rng.normal(size=9) + 9, Samples(rng.normal(size=(9, 5))), quantity=quantity)
        assert "must treat the outcome, z[:, 0], and the draws alike" in message
        assert "row 0" in message

    @pytest.mark.parametrize("kind", [np.float32, np.float64])
    def test_functions_of_the_set_of_members_are_legal(self, kind):
        rng = np.random.default_rng(0)
        y, draws = rng.normal(1e3, 1.0, 50).astype(kind), rng.normal(1e3, 1.0, (50, 30)).astype(kind)
        centred = lambda z: z - z.mean(axis=1, keepdims=True) + z.mean()  # noqa: E731
        np.testing.assert_array_equal(ranks(y, Samples(draws), quantity=centred), ranks(y, Samples(draws)))


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"quantity": lambda z: z}, "shape (n, M + 1) = (3, 3), from z of shape (3, 3, 2); got shape (3, 3, 2)"),
            ({"quantity": {"s": lambda z: z[:, :, 0] * np.nan}}, "quantity 's' must not be missing; it is nan at the"),
            ({"quantity": lambda z: np.where(z[:, :, 0] == 2, np.nan, 1.0)}, "nan at draw 1 of row 1"),
            ({"quantity": lambda z: z[:, :, 0].astype(complex)}, "must return real numbers"),
            ({"quantity": lambda z: z[:, :, 0].astype(str)}, "real numbers; got values of type <U32"),
            ({"quantity": lambda z: z.sum()}, "from z of shape (3, 3, 2); got shape ()"),
            *(({"quantity": f}, "quantity must be a function") for f in (3, [3], {1: total})),
            *(({"quantity": none}, "quantity has no entries") for none in ({}, [])),
            ({"quantity": {"a": 1}}, "or a mapping from names to them; got {'a': 1}"),
            ({"quantity": lambda z, x: z}, "needs covariates=, which is x; it has two arguments"),
            ({"quantity": {"b": lambda z, x: z}}, "'b' has two arguments"),
            ({"quantity": total, "covariates": [1, 2, 3]}, "two arguments without defaults; none of these has"),
            ({"covariates": [1, 2, 3]}, "covariates= goes with quantity="),
            ({"quantity": lambda z, x: z, "covariates": [1, 2]}, "expected 3 rows, got shape (2,)"),
            ({"quantities": total}, "Did you mean ranks(y, prediction, rng=0, quantity=...)?"),
            ({"quantity": total, "rng": None}, "the quantity of the outcome equals that of draws in 1 of 3 ranks"),
        ],
    )
    def test_options(self, refusal, options, words):
        assert words in refusal(ranks, Y, Samples(X), **{"rng": 0, **options})

    @pytest.mark.parametrize(
        ("y", "prediction", "options", "words"),
        [
            ([0.0], Normal(0.0, 1.0), {"quantity": total}, "quantity= is for Samples"),
            (None, CdfValues([0.5]), {"quantity": total}, "got CdfValues"),
            (np.zeros((5, 2)), Samples(np.zeros((9, 5, 2))), {}, "must have shape (9, 2)"),
            (np.zeros((9, 2)), Samples(np.zeros((5, 9, 2))), {}, "numpy.swapaxes(draws, 0, 1)"),
            (np.zeros((4, 2)), Samples(np.zeros((4, 9))), {}, "got shape (4, 2)"),
            ([[0.0, 0.0], [0.0, np.nan]], Samples(np.zeros((2, 3, 2))), {}, "row 1, coordinate 1"),
            ([0.0], Intervals([0.0], [1.0], 0.9), {}, "ranks judges"),
            ([0.0], [[0.5, 0.2]], {}, "ranks judges"),
            ([0.0], None, {}, "ranks judges"),
        ],
    )
    def test_input(self, refusal, y, prediction, options, words):
        assert words in refusal(ranks, y, prediction, **options)


Z = np.random.default_rng(0).normal(size=(4, 6, 2))


def norm(z):
    return np.sqrt((z**2).sum(axis=2))


class Scaled:
    def __call__(self, z, x):
        return z[:, :, 0] * x[:, None]


@pytest.mark.parametrize(
    ("f", "takes"),
    [
        (norm, False),
        (lambda z, x: z, True),
        (lambda z, x=None: z, False),
        (lambda z, *, axis=2: z, False),
        (lambda *given: given[0], False),
        (partial(lambda z, x, power: z, power=2), True),
        (partial(lambda a, z: z, 1), False),
        (Scaled(), True),
        (np.abs, False),
        (np.sum, False),
        (max, False),
    ],
)
def test_a_second_argument_without_default_is_the_covariates(f, takes):
    assert takes_covariates(f) == takes


class TestValues:
    def test_members_are_given_once_and_rows_of_equal_ones_show_nothing(self, refusal):
        seen = []

        def first(z):
            seen.append((z.shape, z.flags.writeable))
            return z[:, :, 0]

        np.testing.assert_array_equal(values_of("first", first, Z.copy(), None), Z[:, :, 0])
        assert seen == [((4, 6, 2), False)] * 2
        z = np.ones((3, 4))
        z[2] = [1.0, 2.0, 3.0, 4.0]
        message = refusal(values_of, "gap", lambda z: z - z[:, :1], z, None)
        assert message.startswith("quantity 'gap' must treat")
        assert "row 2" in message

    @pytest.mark.parametrize(
        ("kind", "becomes"), [("float16", "float32"), ("longdouble", "float64"), (">f4", "float32"), ("int8", "int8")]
    )
    def test_types_that_compiled_code_knows(self, kind, becomes):
        assert values_of("", lambda z: z[:, :, 0].astype(kind), Z.copy(), None).dtype == np.dtype(becomes)
