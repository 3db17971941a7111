"""Whether the properties catch verbs that lack them, and what they are checked on."""

import numpy as np
import pytest

from calibrant import coverage_curve, coverage_gap, decompose, width
from calibrant.core.catalogue import Entry, NoOptions, enter, find
from calibrant.core.means import enter_mean
from calibrant.core.moments import Moments
from calibrant.testing import DATA, PROPERTIES, PerRow, VerbUnderTest, check_verb
from calibrant.testing.data import judgement, numbers


def mean_of(scores):
    """Enter a verb of intervals that is the mean of these scores of rows, and return it."""

    def verb(y, prediction=None, *, weights=None):
        return entry(y, prediction, NoOptions(), weights=weights)

    options = {"predictions": ("intervals",), "range": (0.0, np.inf)}
    entry = enter_mean(verb, NoOptions, lambda rows, options: scores(rows), **options)
    return verb


def held(prediction):
    """Return the arrays of a prediction as lists."""
    if isinstance(prediction, np.ndarray):
        return prediction.tolist()
    return {name: value.tolist() for name, value in vars(prediction).items() if isinstance(value, np.ndarray)}


class TestCheckVerb:
    @pytest.mark.usefixtures("entered")
    def test_a_correct_verb(self):
        def distance(rows):
            return np.abs(rows.y[:, None] - (rows.prediction.lower + rows.prediction.upper) / 2)

        check_verb(mean_of(distance))

    @pytest.mark.usefixtures("entered")
    @pytest.mark.parametrize(
        ("broken", "lacking"),
        [
            (lambda rows: np.arange(rows.n) * 1.0, "row order does not matter"),
            (lambda rows: np.full(rows.n, -1.0), "numbers stay in the declared range"),
            (lambda rows: np.full(rows.n, np.inf), "numbers stay in the declared range"),
            (lambda rows: np.ones(rows.n), "certain and right is perfect"),
            (lambda rows: np.full(rows.n, float(rows.n)), "weight two is a row twice"),
        ],
    )
    def test_a_verb_that_lacks_a_property(self, broken, lacking):
        verb = mean_of(broken)
        subject = VerbUnderTest(find(verb), "one interval")
        with pytest.raises(AssertionError):
            PROPERTIES[lacking].check(subject, np.random.default_rng(0))
        with pytest.raises(AssertionError, match=f"'{lacking}' on the data 'one interval'"):
            check_verb(verb, data=["one interval"])

    @pytest.mark.usefixtures("entered")
    def test_a_verb_that_writes_to_its_input(self):
        def scores(rows):
            rows.y[:] = 0.0
            return np.zeros(rows.n)

        subject = VerbUnderTest(find(mean_of(scores)), "one interval")
        with pytest.raises(AssertionError, match="an input was modified"):
            PROPERTIES["inputs are not modified"].check(subject, np.random.default_rng(0))

    @pytest.mark.usefixtures("entered")
    def test_a_kind_without_data(self, refusal):
        def nothing(y, prediction=None, *, weights=None):
            return 0.0

        empty = (lambda rows, options: Moments.zero(), lambda summary, options: 0.0)
        enter(Entry(nothing, NoOptions, *empty, reads=(Moments,), predictions=("words",)))
        assert "no data of the kind 'words'" in refusal(check_verb, nothing, error=KeyError)

    def test_unknown_names(self, refusal):
        assert "unknown properties in exempt: ['a law']. Known are [" in refusal(check_verb, width, exempt=["a law"])
        assert "unknown names in data: ['a table']. Known are [" in refusal(check_verb, width, data=["a table"])


class TestData:
    @pytest.mark.parametrize("name", DATA)
    def test_rows_are_the_same_rows_everywhere(self, name):
        case = DATA[name].make(np.random.default_rng(0), 30)
        for some in (np.array([3, 3, 17]), slice(2, 5), np.arange(30) % 10 == 0):
            cut = case.rows(some)
            assert cut.n == len(cut.prediction) if isinstance(cut.prediction, np.ndarray) else cut.prediction.n == 3
            assert held(cut.prediction) == held(cut.build(**cut.columns))
            assert case.y is None or np.array_equal(cut.y, case.y[some])

    @pytest.mark.parametrize("name", DATA)
    def test_numbers_fit_into_float16(self, name):
        case = DATA[name].make(np.random.default_rng(0), 210)
        numbers = [column for column in (case.y, *case.columns.values()) if column is not None]
        for column in (column for column in numbers if column.dtype.kind == "f"):
            np.testing.assert_array_equal(column.astype(np.float16), column)
            np.testing.assert_array_equal(column * 64, np.rint(column * 64))

    def test_outcomes_tell_rows_apart(self):
        for name in ("intervals", "one interval", "quantiles", "distributions", "samples"):
            y = DATA[name].make(np.random.default_rng(0), 210).y
            assert np.unique(y).size == y.size

    def test_labels_travel_with_their_rows(self):
        subject = VerbUnderTest(find(coverage_gap), "intervals", {"groups": PerRow(("a", "b"))})
        case = subject.case(np.random.default_rng(0))
        assert case.rows(slice(5, 9)).options["groups"].tolist() == case.options["groups"][5:9].tolist()
        assert set(case.options["groups"].tolist()) == {"a", "b"}


class TestNumbers:
    def test_text_is_left_out(self):
        case = DATA["one interval"].make(np.random.default_rng(0), 20)
        curve = coverage_curve(case.y, case.prediction, groups=["a", "b"] * 10)
        assert numbers(curve).size == 2 * (len(curve.columns) - 1)
        assert numbers(curve, without=("count", "hits")).size == 2 * (len(curve.columns) - 3)

    def test_of_a_prediction_alone(self):
        case = DATA["intervals"].make(np.random.default_rng(0), 20)
        subject = VerbUnderTest(find(width), "intervals")
        assert subject.value(case).tolist() == width(case.prediction).tolist()
        assert subject.value_of(subject.summary(case)).tolist() == pytest.approx(width(case.prediction).tolist())

    def test_judgement_of_records(self):
        case = DATA["quantiles"].make(np.random.default_rng(0), 20)
        parts = decompose(case.y, case.prediction)
        assert judgement(parts).tolist() == parts.score.tolist()
        assert numbers(parts).size == 5 * 3 + 5
