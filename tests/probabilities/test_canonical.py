"""The canonical notion of the expected calibration error: by hand, against reference values, laws, refusals."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.references.books import book

from calibrant import consistency_test, ece, mce, summarize
from calibrant.errors import SummaryError
from calibrant.inputs.probabilities import two_columns
from calibrant.probabilities.canonical import MedianVariance, bin_numbers, distinct, median_variance_bins

# Two rows in the cell of the lower halves: mean (3, 3, 2)/8, frequencies (1, 0, 1)/2.
# One row alone: it predicts (3, 1, 0)/4, and class 1 came true.
Y, P = [0, 2, 1], np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.75, 0.25, 0.0]])
D1 = ([0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1], [0.25, 0.2, 0.3, 0.5, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.1, 1.0])


def canonical(y, prediction, **options):
    return ece(y, prediction, notion="canonical", **options)


class TestByHand:
    @pytest.mark.parametrize(
        ("distance", "lower", "alone"),
        [
            ("tv", 3 / 8, 3 / 4),
            ("euclidean", math.sqrt(1 + 9 + 4) / 8, math.sqrt(2) * 3 / 4),
            ("squared-euclidean", 14 / 64, 9 / 8),
            (lambda p, q: abs(p - q).max(), 3 / 8, 3 / 4),
        ],
    )
    def test_distances(self, distance, lower, alone):
        expected = (2 * lower + alone) / 3
        assert canonical(Y, P, bins=2, distance=distance) == pytest.approx(expected, rel=1e-15)

    def test_weights(self):
        # Weights 3, 1, 4: the lower cell has mean (7, 5, 4)/16 and frequencies (3, 0, 1)/4: half of (5 + 5 + 0)/16.
        assert canonical(Y, P, bins=2, weights=[3, 1, 4]) == (5 / 16 + 3 / 4) / 2

    def test_one_cell_is_the_distance_of_the_means(self):
        gap = P.mean(axis=0) - [1 / 3, 1 / 3, 1 / 3]
        assert canonical(Y, P, bins=1) == pytest.approx(abs(gap).sum() / 2, rel=1e-15)
        assert canonical(Y, P, bins=MedianVariance(maxbins=1, minsize=1)) == canonical(Y, P, bins=1)

    def test_median_variance(self):
        # Column 0 and 1 vary equally: column 0 decides. Sorted 0.25, 0.5, 0.75, cut 0.5: row 1 alone, rows 0 and 2.
        P = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.75, 0.0, 0.25]])
        # Row 1 predicts its class 2 with 1/4; the others have mean (5, 1, 2)/8 and frequencies (4, 4, 0)/8.
        expected = (3 / 4 + 2 * 3 / 8) / 3
        assert canonical([0, 2, 1], P, bins=MedianVariance(minsize=1, maxbins=2)) == pytest.approx(expected, rel=1e-15)

    def test_weights_do_not_move_the_cuts_of_median_variance(self):
        option = MedianVariance(minsize=1, maxbins=2)
        P = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.75, 0.0, 0.25]])
        # The bins are those of the test above; rows 0 and 2 have mean (11, 1, 4)/16 and frequencies (4, 12, 0)/16.
        expected = (1 * 3 / 4 + 4 * 11 / 16) / 5
        assert canonical([0, 2, 1], P, bins=option, weights=[1, 1, 3]) == pytest.approx(expected, rel=1e-15)

    def test_a_distance_gets_one_cell(self):
        seen = []

        def distance(p, q):
            seen.append((p.tolist(), q.tolist()))
            return 0

        assert canonical(Y, P, bins=2, distance=distance) == 0
        assert seen == [([0.375, 0.375, 0.25], [0.5, 0.0, 0.5]), ([0.75, 0.25, 0.0], [0.0, 1.0, 0.0])]


class TestTwoClasses:
    OPTIONS = pytest.mark.parametrize(
        "options",
        [
            {},
            {"bins": 2},
            {"bins": 10, "distance": "euclidean"},
            {"bins": 101, "distance": "squared-euclidean"},
            {"bins": MedianVariance(minsize=1)},
            {"bins": MedianVariance(minsize=2, maxbins=3)},
            {"bins": MedianVariance(minsize=3), "distance": lambda p, q: abs(p - q)[0] ** 3},
        ],
    )

    @OPTIONS
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_two_columns_are_one(self, options, dtype):
        y, p = D1[0], np.array(D1[1], dtype)
        two = canonical(y, np.stack([1 - p, p], axis=1), **options)
        assert two == pytest.approx(canonical(y, p, **options), rel=1e-12)

    @pytest.mark.parametrize("bins", [1, 2, 10, 15, 250])
    def test_is_the_plain_error(self, bins):
        assert canonical(*D1, bins=bins) == pytest.approx(ece(*D1, bins=bins), rel=1e-12)
        assert canonical(*D1, bins=bins, weights=range(1, 13)) == pytest.approx(
            ece(*D1, bins=bins, weights=range(1, 13)), rel=1e-12
        )

    def test_other_distances_see_both_columns(self):
        expected = math.sqrt(2) * ece(*D1, bins=4)
        assert canonical(*D1, bins=4, distance="euclidean") == pytest.approx(expected, rel=1e-12)
        squared = 2 * ece(*D1, bins=4, norm="l2-squared")
        assert canonical(*D1, bins=4, distance="squared-euclidean") == pytest.approx(squared, rel=1e-12)

    def test_median_variance_cuts_the_first_column(self):
        # 1 - p is 1, 0.75, 0: the cut 0.75 keeps p = 0 and p = 0.25 together, mean 1/8 and no event; p = 1 is right.
        option = MedianVariance(minsize=1, maxbins=2)
        assert canonical([0, 0, 1], [0.0, 0.25, 1.0], bins=option) == pytest.approx(2 / 24)


BOOK = book("kernel")


def references(*kinds):
    found = [v for v in BOOK["vectors"] if v["kind"] in kinds and v["call"].get("metric") != "ace"]
    return pytest.mark.parametrize("vector", found, ids=lambda vector: vector["id"])


def inputs(vector):
    return BOOK["data"][vector["inputs"]["data"]] if "data" in vector["inputs"] else vector["inputs"]


def as_sets(place):
    return sorted(np.flatnonzero(place == b).tolist() for b in range(place.max() + 1))


class TestReferences:
    @references("ece-canonical", "binned-binary", "binned-multiclass")
    def test_values(self, vector):
        call, data = vector["call"], inputs(vector)
        bins = MedianVariance(call["minsize"]) if call["binning"] == "median-variance" else call["bins"]
        options = {name: call[name] for name in ("notion", "distance") if name in call}
        found = {"ece": ece, "mce": mce}[call["metric"]](data["y"], data["prediction"], bins=bins, **options)
        assert found == pytest.approx(vector["expected"], rel=1e-12, abs=1e-12)
        if "bin_sizes" in vector:
            place = median_variance_bins(np.array(data["prediction"]), call["minsize"], None)
            assert sorted(np.bincount(place).tolist()) == vector["bin_sizes"]

    @references("median-variance-bins")
    def test_median_variance_bins(self, vector):
        P = np.array(vector["inputs"]["prediction"])
        assert as_sets(median_variance_bins(P, vector["call"]["minsize"], None)) == vector["expected"]

    @references("uniform-cells")
    def test_uniform_cells(self, vector):
        P = np.array(vector["inputs"]["prediction"])
        assert as_sets(distinct(bin_numbers(P, vector["call"]["bins"]))[1]) == vector["expected"]

    @references("bin-index")
    def test_bin_index(self, vector, refusal):
        p, m = vector["inputs"]["p"], vector["call"]["bins"]
        if vector["expected"] == "error":
            assert "prediction must lie in [0, 1]" in refusal(canonical, [0], [p], bins=m)
        else:
            summary = summarize("ece", [0], [p], notion="canonical", bins=m)
            assert summary.keys.tolist() == [[vector["expected"] - 1]]


rows = st.lists(
    st.tuples(st.integers(0, 2), st.floats(0, 1), st.floats(0, 1), st.integers(1, 4)), min_size=2, max_size=30
)
options = st.fixed_dictionaries(
    {
        "bins": st.one_of(
            st.integers(1, 200), st.builds(MedianVariance, st.integers(1, 2), st.one_of(st.none(), st.integers(1, 9)))
        ),
        "distance": st.sampled_from(["tv", "euclidean", "squared-euclidean"]),
    }
)


def columns(drawn):
    y, a, b, w = (np.array(column) for column in zip(*drawn, strict=True))
    return y, np.stack([a, (1 - a) * b, (1 - a) * (1 - b)], axis=1), w


@given(rows, options)
def test_between_the_overall_gap_and_the_largest_distance(drawn, options):
    y, P, w = columns(drawn)
    bound = {"tv": 1.0, "euclidean": math.sqrt(2), "squared-euclidean": 2.0}[options["distance"]]
    overall = canonical(y, P, weights=w, bins=1, distance=options["distance"])
    assert overall - 1e-12 <= canonical(y, P, weights=w, **options) <= bound + 1e-12


class TestChance:
    def test_a_calibrated_model_is_far_from_zero(self):
        # Widmann, Lindsten and Zachariah (2019): mean 0.4395 for n = 250, K = 10, Dirichlet(0.1), 10 bins.
        rng = np.random.default_rng(0)
        found = []
        for _ in range(40):
            P = rng.dirichlet(np.full(10, 0.1), size=250)
            y = (rng.random((250, 1)) > P.cumsum(axis=1)[:, :-1]).sum(axis=1)
            found.append(canonical(y, P, bins=10))
        assert np.mean(found) == pytest.approx(0.4395, abs=4 * 0.02 / math.sqrt(40))

    @pytest.mark.parametrize("bins", [10, MedianVariance()])
    def test_consistency_test(self, bins):
        rng = np.random.default_rng(1)
        P = rng.dirichlet(np.full(10, 0.1), size=250)
        fair = (rng.random((250, 1)) > P.cumsum(axis=1)[:, :-1]).sum(axis=1)
        given = {"metric": "ece", "notion": "canonical", "bins": bins, "resamples": 99}
        result = consistency_test(fair, P, **given)
        assert result.estimate == canonical(fair, P, bins=bins)
        assert result.pvalue > 0.05
        assert consistency_test(rng.integers(0, 10, 250), P, **given).pvalue == 0.01


OTHER_NOTIONS = [("strategy", "mass"), ("norm", "l2"), ("norm", "max"), ("debias", True), ("average", "macro")]
SHAPED = "notion='canonical' is shaped by bins= and distance= alone; leave {} out; got {!r}"


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            *(({name: value}, SHAPED.format(name, value)) for name, value in OTHER_NOTIONS),
            *(({"bins": rule}, f"bins={rule!r} is for one probability per row") for rule in ("cube-root", "sweep")),
            ({"bins": "sweep"}, "MedianVariance(minsize, maxbins)"),
            *(({"bins": bins}, "bins must be") for bins in (0, -3, 2.5, True, None, 10**9)),
            ({"bins": MedianVariance}, "with brackets"),
            (
                {"bins": MedianVariance()},
                "bins of at least 10 rows need at least that many; got 3. Use MedianVariance(",
            ),
            *(({"distance": d}, f"'squared-euclidean'; got {d!r}") for d in ("TV", "l1", None, 2)),
        ],
    )
    def test_options(self, refusal, options, words):
        assert words in refusal(canonical, Y, P, **options)
        if "leave" in words:
            assert words in refusal(summarize, "ece", Y, P, notion="canonical", **options)

    @pytest.mark.parametrize("notion", [None, "confidence", "top-label", "classwise"])
    @pytest.mark.parametrize(
        "options", [{"bins": MedianVariance(2)}, {"bins": MedianVariance}, {"distance": "euclidean"}, {"distance": max}]
    )
    def test_options_that_need_this_notion(self, refusal, notion, options):
        assert "notion='canonical'" in refusal(ece, Y, P, notion=notion, **options)

    def test_other_calls(self, refusal):
        message = "notion must be one of None, 'confidence', 'top-label', 'classwise'; got 'canonical'"
        assert message == refusal(mce, Y, P, notion="canonical")
        assert message == refusal(mce, summarize("mce", Y, P), notion="canonical")
        assert "bins must be a whole number" in refusal(mce, Y, P, bins=MedianVariance())
        for name, value in itertools.product(("minsize", "maxbins"), (0, -1, 2.0, True, "10")):
            assert f"{name} must be" in refusal(MedianVariance, **{name: value})

    @pytest.mark.parametrize("value", [math.nan, math.inf, -0.25, "far", None, [0.5], True, 1j], ids=repr)
    def test_distances_that_are_no_numbers(self, refusal, value):
        message = refusal(canonical, Y, P, bins=2, distance=lambda p, q: value)
        assert message.startswith("distance must return one finite number of at least 0")
        assert "for [0.375, 0.375, 0.25] and [0.5, 0.0, 0.5]" in message


class TestSummaries:
    @pytest.mark.parametrize("bins", [15, MedianVariance(1)])
    def test_of_another_notion(self, refusal, bins):
        cells = summarize("ece", Y, P, notion="canonical", bins=bins)
        for notion in (None, "confidence", "top-label", "classwise"):
            message = refusal(ece, cells, notion=notion, error=SummaryError)
            assert message == f"a {type(cells).__name__} is for notion='canonical'; got notion={notion!r}"
            for summary in (summarize("ece", Y, P, notion=notion), summarize("ece", [0, 1], [0.5, 0.5])):
                assert "notion='canonical'" in refusal(canonical, summary, None, bins=bins, error=SummaryError)

    def test_of_other_bins(self, refusal):
        cells = summarize("ece", Y, P, notion="canonical", bins=3)
        message = refusal(canonical, cells, None, bins=4, error=SummaryError)
        assert "this summary has 3 bins" in message
        assert "summarize('ece', y, prediction, notion='canonical', bins=4)" in message
        message = refusal(canonical, cells, None, bins=MedianVariance(), error=SummaryError)
        assert "needs all rows; this summary is of kind SimplexCells" in message
        kept = summarize("ece", Y, P, notion="canonical", bins=MedianVariance())
        assert "this summary has KeptRows" in refusal(canonical, kept, None, error=SummaryError)


def by_queue(P, minsize, maxbins):
    """Return the bins by the steps of the definition, one set at a time."""

    def spread(rows):
        variance = P[rows].var(axis=0, ddof=1)
        return variance.max(), int(np.argmax(variance >= variance.max() * (1 - 1e-12)))

    first = np.lexsort(P.T)
    if len(P) < 2 * minsize:
        return [first]
    queue, final, bins = [(*spread(first), first)], [], 1
    while queue and (maxbins is None or bins < maxbins):
        place = max(range(len(queue)), key=lambda i: queue[i][0])  # the first of the largest
        _, d, S = queue.pop(place)
        value = P[S, d]
        cut = np.sort(value)[len(S) // 2]
        parts = S[value < cut], S[value >= cut]
        if min(map(len, parts)) < minsize:
            final.append(S)
            continue
        bins += 1
        for part in parts:
            if len(part) < 2 * minsize:
                final.append(part)
            else:
                queue.append((*spread(part), part))
    return final + [S for *_, S in queue]


def test_by_hand():
    # The first column is 0, 1, 0, 0.5: the cut 0.5 leaves {0, 0} and {0.5, 1}, and the second is cut again at 1.
    P = two_columns(np.array([0.0, 1.0, 0.0, 0.5]))[:, ::-1]
    assert as_sets(median_variance_bins(P, 1, None)) == [[0, 2], [1], [3]]
    assert as_sets(median_variance_bins(P, 2, None)) == [[0, 2], [1, 3]]
    assert as_sets(median_variance_bins(P, 3, None)) == [[0, 1, 2, 3]]


@pytest.mark.parametrize(("maxbins", "expected"), [(1, [[0, 1, 2, 3]]), (2, [[0, 1], [2, 3]]), (3, [[0, 1], [2], [3]])])
def test_the_widest_set_is_cut_first(maxbins, expected):
    # The cut 0.2 leaves {0, 0.1} and {0.2, 0.9}, of which the second is wider.
    numbers = median_variance_bins(np.array([[0.0], [0.1], [0.2], [0.9]]), 1, maxbins)
    assert as_sets(numbers) == expected


def test_equal_variances_are_cut_in_the_order_they_came():
    # {0, .125} and {.75, .875} have equal variances; the part below came first.
    numbers = median_variance_bins(np.array([[0.75], [0.0], [0.875], [0.125]]), 1, 3)
    assert as_sets(numbers) == [[0, 2], [1], [3]]


def test_the_first_of_equal_components_is_cut():
    # Column 0 is 1, 0.75, 0, so that the cut 0.75 keeps the first two rows together; column 1 would keep the last two.
    P = two_columns(np.array([0.0, 0.25, 1.0]))
    assert as_sets(median_variance_bins(P, 1, 2)) == [[0, 1], [2]]


def test_no_other_component_is_tried():
    # Column 0 varies most, but its median is its minimum: one bin, although column 1 could be cut.
    P = np.array([[0.0, 0.1], [0.0, 0.2], [0.0, 0.3], [0.9, 0.1]])
    assert as_sets(median_variance_bins(P, 1, None)) == [[0, 1, 2, 3]]


simplex = st.integers(2, 4).flatmap(
    lambda K: arrays(np.int64, st.tuples(st.integers(1, 40), st.just(K)), elements=st.integers(0, 6))
)


@given(simplex, st.integers(1, 5), st.one_of(st.none(), st.integers(1, 12)))
def test_as_the_definition(counts, minsize, maxbins):
    # Multiples of 1/32, so that no variance is a matter of rounding.
    P = counts / 32
    expected = sorted(sorted(S.tolist()) for S in by_queue(P, minsize, maxbins))
    assert as_sets(median_variance_bins(P, minsize, maxbins)) == expected
    sizes = [len(S) for S in expected]
    assert len(sizes) <= (maxbins or len(P))
    assert len(sizes) == 1 or min(sizes) >= minsize


@pytest.mark.parametrize("K", [2, 3, 10])
@pytest.mark.parametrize("maxbins", [None, 2, 7, 60, 1000])
def test_as_the_definition_on_many_rows(K, maxbins):
    P = np.random.default_rng(K).dirichlet(np.full(K, 0.5), size=700)
    expected = sorted(sorted(S.tolist()) for S in by_queue(P, 5, maxbins))
    assert as_sets(median_variance_bins(P, 5, maxbins)) == expected


@given(simplex, st.integers(1, 5), st.one_of(st.none(), st.integers(1, 12)), st.randoms(use_true_random=False))
def test_row_order_does_not_matter(counts, minsize, maxbins, random):
    P = counts / 7 + 0.1  # not exact: variances that differ by rounding must do so in every order
    order = list(range(len(P)))
    random.shuffle(order)
    back = np.empty(len(P), int)
    back[order] = median_variance_bins(P[order], minsize, maxbins)
    # Which number a bin has does not matter; the pooled rows do.
    assert as_sets(back) == as_sets(median_variance_bins(P, minsize, maxbins))
