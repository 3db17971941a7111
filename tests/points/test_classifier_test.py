"""The classifier test: by hand, its reference, scikit-learn, level, laws of rows, folds, every refusal."""

import functools
import io
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from tests.references.books import arrays, by_id

from calibrant import progress
from calibrant.points import classifier_test
from calibrant.points.classifier_test import HeldOut, check_classifier, held_out, stratified_folds

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(60, 3)), RNG.normal(0.5, 1.2, size=(45, 3))
c2st = functools.partial(classifier_test.c2st, classifier="neighbours")  # several: test_classifiers.py
FOLDED = {"folds": 3, "resamples": 9, "rng": 0}


def rng(seed=0):
    return np.random.default_rng(seed)


class TestByHand:
    def test_sets_far_apart(self):
        for n, m, ways in ((2, 2, 2), (4, 4, 6), (5, 8, 35)):  # held out: 1 and 1, 2 and 2, 3 and 4
            found = c2st(np.arange(n)[:, None], 100.0 + np.arange(m)[:, None], rng=0)
            assert (found.statistic, found.estimate) == (1.0, 1.0)
            assert found.pvalue == pytest.approx(1 / ways, rel=1e-12)
            assert found.details["held_out"] == ((n + 1) // 2, (m + 1) // 2)

    def test_no_information_is_one_half_also_of_unequal_sets(self):
        for options in ({"rng": 0}, FOLDED):
            found = c2st(A, B[:7], classifier=DummyClassifier(), **options)
            assert (found.statistic, found.estimate, found.pvalue) == (0.5, 0.5, 1.0)

    def test_what_it_says(self):
        found = c2st(A, B, rng=0)
        assert found.n == 105
        assert found.method == (
            "classifier two-sample test; nearest neighbours (k = 7) fitted to one half, "
            "exact distribution of the rank sum"
        )
        assert dict(found.details) == {
            **{"n": 60, "m": 45, "held_out": (30, 23), "null": "exact", "k": 7, "classifier": "neighbours"},
            **{"repeated_y": 0, "repeated_points": 0, "repeated_values_y": 0, "repeated_values_points": 0},
            "shared_rows": 0,
        }
        assert all(type(value) is float for value in (found.statistic, found.pvalue, found.estimate))

    def test_what_it_says_of_folds(self):
        found = c2st(A, B, classifier=GaussianNB(), **FOLDED)
        assert found.method == "classifier two-sample test; GaussianNB in 3 folds, 9 permutations of the labels"
        expected = {"held_out": (60, 45), "null": "permutation", "folds": 3, "resamples": 9}
        assert expected.items() <= dict(found.details).items()
        assert "k" not in found.details
        found = c2st(A, B, **FOLDED)
        assert found.details["k"] == 8  # of 70 rows
        assert "nearest neighbours (k = 8) in 3 folds" in found.method
        assert all(type(value) is float for value in (found.statistic, found.pvalue, found.estimate))

    def test_repetitions_on_one_side_are_found(self):
        found = c2st(A, np.round(B), rng=0)
        assert found.details["repeated_values_points"] > 0.8
        assert found.details["repeated_values_y"] == 0
        assert found.details["repeated_points"] == 1 - len(np.unique(np.round(B) + 0.0, axis=0)) / 45


def test_the_forest_of_sbi():
    case = by_id("samples")["c2st/rf"]
    y, points = (arrays("samples")[name] for name in case["inputs"])
    forest = RandomForestClassifier(50, random_state=1)
    found = c2st(y, points, classifier=forest, folds=5, resamples=1, rng=0)
    assert found.estimate == pytest.approx(case["value"], abs=0.08)


class TestFolds:
    def test_the_mean_over_folds(self):
        """With as many folds as rows each holds a pair: its AUC is whether the right one has the larger score."""
        y, points = np.array([[0.0], [1.0], [2.0]]), np.array([[10.0], [11.0], [12.0]])
        found = c2st(y, points, folds=3, resamples=19, rng=0)
        assert (found.statistic, found.estimate) == (1.0, 1.0)
        assert found.details["held_out"] == (3, 3)

    def test_pvalues_are_shares_of_the_permutations(self):
        assert c2st(A, B + 5, folds=2, resamples=19, rng=0).pvalue == 0.05
        p = c2st(A[:30], A[30:], folds=2, resamples=19, rng=0).pvalue
        assert p * 20 == pytest.approx(round(p * 20), abs=1e-12)
        assert p > 0.05

    def test_an_interruption_leaves_nothing_behind(self, monkeypatch):
        class Stopped(GaussianNB):
            fits = 0

            def fit(self, X, labels):
                Stopped.fits += 1
                if Stopped.fits == 10:
                    raise KeyboardInterrupt
                return super().fit(X, labels)

        terminal = io.StringIO()
        terminal.isatty = lambda: True
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr(progress, "PATIENCE", -1)
        monkeypatch.setattr(progress, "INTERVAL", 0)
        classifier = Stopped()
        with pytest.raises(KeyboardInterrupt):
            c2st(A, B, classifier=classifier, **FOLDED)
        written = terminal.getvalue()
        assert "refitting the classifier: 2 of 9" in written
        assert written.endswith("\r\x1b[K")  # the line is wiped
        assert not hasattr(classifier, "classes_")
        assert c2st(A, B, classifier=GaussianNB(), **FOLDED) == c2st(A, B, classifier=GaussianNB(), **FOLDED)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([None, 2]), st.booleans())
def test_the_order_of_rows_changes_nothing(seed, folds, rounded):
    chance = rng(seed)
    y, points = chance.normal(size=(13, 2)), chance.normal(size=(9, 2))
    if rounded:
        y, points = np.round(y), np.round(points)
    options = {"folds": folds, "resamples": 3, "rng": 3}
    found = c2st(y, points, **options)
    assert c2st(chance.permutation(y), chance.permutation(points), **options) == found
    assert 0 < found.pvalue <= 1
    assert 0 <= found.statistic <= 1
    assert 0 <= found.estimate <= 1


class Locked(GaussianNB):
    """One that `copy.deepcopy` cannot copy."""

    __sklearn_clone__ = None

    def __init__(self):
        self.lock = threading.Lock()


class Renaming(GaussianNB):
    """One that `sklearn.base.clone` cannot copy: its constructor changes what it is given."""

    def __init__(self, var_smoothing=(1e-9,)):
        self.var_smoothing = list(var_smoothing)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"folds": 1}, "folds must be at least 2; got 1"),
        ({"folds": 46}, "folds must be at most 45, so that each contains a row of both sets; got 46 with 60 rows"),
        ({"folds": 2.0}, "folds must be a whole number of at least 2; got 2.0 (float)"),
        ({"classifier": "knn"}, "classifier must be one of 'best', 'logistic', 'neighbours'"),
        ({"classifier": 7}, "without fit and predict_proba"),
        ({"classifier": ()}, "at least one classifier"),
        ({"classifier": Locked()}, "a fresh one; copying Locked() failed: cannot pickle '_thread.lock' object"),
        ({"classifier": Renaming()}, "fresh one; copying Renaming(var_smoothing=[1e-09]) failed: Cannot clone object"),
    ],
    ids=str,
)
def test_options_that_are_refused(options, words, refusal):
    assert words in refusal(c2st, A, B, rng=0, **options)


RNG_HELD_OUT = np.random.default_rng(0)
LABELS = np.repeat([0, 1], [30, 50])
Z = RNG_HELD_OUT.normal(size=(80, 2)) + LABELS[:, None]
HELD = np.arange(80) % 2 == 0


def scored(classifier, seed=0):
    return held_out({"it": classifier}, Z, LABELS, HELD, np.random.default_rng(seed))[0]


class Own:
    """A classifier of one's own: the first column, squashed, in an array that `answer` may spoil."""

    def __init__(self, answer=lambda scores: np.stack([1 - scores, scores], axis=1), classes=None):
        self.answer = answer
        if classes is not None:
            self.classes_ = classes

    def fit(self, X, labels):
        self.seen = labels
        X[:] = np.nan  # what it is given is its own

    def predict_proba(self, X):
        return self.answer(1 / (1 + np.exp(-X[:, 0])))


@pytest.mark.parametrize(
    ("scores", "labels", "threshold", "hits"),
    [
        ([0.2, 0.25, 0.25, 0.3], [0, 0, 1, 0], 0.25, [1.0, 0.5, 0.5, 0.0]),
        ([0.1 + 0.2], [1], 0.3, [0.5]),  # rounding is no side
    ],
)
def test_hits_by_the_share_of_the_fitted_rows(scores, labels, threshold, hits):
    assert HeldOut(np.array(scores), np.array(labels), threshold).hits.tolist() == hits


class TestScores:
    @pytest.mark.parametrize(
        "classifier",
        [LogisticRegression(), RandomForestClassifier(10), make_pipeline(StandardScaler(), LogisticRegression())],
        ids=lambda model: type(model).__name__,
    )
    def test_it_scores_what_it_has_not_seen(self, classifier):
        part = scored(classifier)
        assert sorted(part.labels) == sorted(LABELS[HELD])
        assert part.scores[part.labels == 1].mean() > part.scores[part.labels == 0].mean() + 0.1

    def test_scores_belong_to_their_rows(self):
        found = scored(Own())
        expected = 1 / (1 + np.exp(-Z[HELD, 0]))
        assert dict(zip(found.scores, found.labels, strict=True)) == dict(zip(expected, LABELS[HELD], strict=True))

    def test_rows_come_in_random_order(self):
        orders = []

        class Watched(Own):
            def fit(self, X, labels):
                orders.append(labels.tolist())

        for seed in range(3):
            scored(Watched(), seed)
            assert orders[-1] != sorted(orders[-1])
        assert orders[0] != orders[1] != orders[2]
        place = Own(lambda scores: np.linspace([1, 0], [0, 1], scores.size))  # guesses by place
        gaps = []
        for seed in range(200):
            part = scored(place, seed)
            gaps.append(part.scores[part.labels == 1].mean() - part.scores[part.labels == 0].mean())
        assert np.mean(gaps) == pytest.approx(0, abs=5 * np.std(gaps) / np.sqrt(200))


class TestCopies:
    def test_yours_stays_as_it_is(self):
        for model in (LogisticRegression(), RandomForestClassifier(5), Own()):
            before = dict(vars(model))
            scored(model)
            assert vars(model) == before
        assert np.isfinite(Z).all()

    def test_what_was_fitted_before_is_forgotten(self):
        fresh = RandomForestClassifier(10, random_state=0, warm_start=True)
        fitted = RandomForestClassifier(10, random_state=0, warm_start=True).fit(Z, LABELS)
        np.testing.assert_array_equal(scored(fitted).scores, scored(fresh).scores)

    def test_chance_comes_from_rng_alone(self):
        state = np.random.get_state()[1].copy()  # noqa: NPY002
        forests = RandomForestClassifier(10), make_pipeline(StandardScaler(), RandomForestClassifier(10))
        for forest in forests:
            first, again, other = (scored(forest, seed).scores for seed in (0, 0, 1))
            np.testing.assert_array_equal(first, again)
            assert sorted(first) != sorted(other)
        np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
        assert forests[0].random_state is None


class TestRefusalsHeldOut:
    @pytest.mark.parametrize(
        ("classifier", "words"),
        [
            ("forest", "got 'forest' without fit and predict_proba"),
            (3, "got 3 without fit and predict_proba"),
            (Ridge(), "got Ridge() without predict_proba"),
            (LinearSVC(), "got LinearSVC() without predict_proba"),
            (RandomForestClassifier, "got the class RandomForestClassifier. Pass RandomForestClassifier()"),
        ],
    )
    def test_what_is_no_classifier(self, classifier, words, refusal):
        assert words in refusal(check_classifier, classifier)

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (lambda s: s, "shape (40, 2), the probabilities of label 0 and 1 of each row; got shape (40,)"),
            (lambda s: np.stack([s, s, s], axis=1), "got shape (40, 3)"),
            (lambda s: np.stack([1 - s, s], axis=1)[:-1], "got shape (39, 2)"),
            (lambda s: np.stack([1 - s, s], axis=1)[None], "got shape (1, 40, 2)"),
            (lambda s: None, "predict_proba of Own"),
            (lambda s: np.full((s.size, 2), "high"), "predict_proba of Own must be real numbers"),
            (lambda s: np.stack([1 - s, s], axis=1) * 1j, "predict_proba of Own must be real numbers"),
            (lambda s: np.full((s.size, 2), np.nan), "must return probabilities; row 0 is nan"),
            (lambda s: np.full((s.size, 2), np.inf), "must return probabilities; row 0 is inf"),
            (lambda s: np.stack([1 - s, s * 0 - 2], axis=1), "must return probabilities; row 0 is -2.0"),
        ],
    )
    def test_what_is_no_answer(self, answer, words, refusal):
        message = refusal(scored, Own(answer))
        assert words in message
        assert "Own" in message

    @pytest.mark.parametrize("classes", [["y", "points"], [0, 2], [1, 1], [1, 0], [0, 1, 2]])
    def test_other_classes(self, classes, refusal):
        words = "Own was fitted to labels 0 and 1, and its classes_ must be these"
        assert words in refusal(scored, Own(classes=classes))

    def test_probabilities_may_leave_their_range_by_rounding(self):
        assert scored(Own(lambda s: np.full((s.size, 2), 1 + 1e-7))).scores[0] > 1


@given(st.integers(2, 30), st.integers(2, 30), st.data())
def test_shares(n, m, data):
    F = data.draw(st.integers(2, min(n, m)))
    labels = np.array(data.draw(st.permutations([0] * n + [1] * m)))
    fold = stratified_folds(labels, F, np.random.default_rng(0))
    for label, size in ((0, n), (1, m)):
        expected = [size // F + (f < size % F) for f in range(F)]
        assert np.bincount(fold[labels == label], minlength=F).tolist() == expected


def test_every_row_is_as_likely_in_each():
    labels, rng = np.array([0, 1, 0, 1, 0, 1, 0, 1]), np.random.default_rng(1)
    share = np.mean([stratified_folds(labels, 2, rng) for _ in range(4000)], axis=0)
    assert share == pytest.approx(0.5, abs=0.04)  # five standard errors
