"""What is asked of a classifier: copies are fitted, chance is the caller's, and what it says is checked."""

import threading

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from calibrant.inference.held_out import HeldOut, check_classifier, held_out

RNG = np.random.default_rng(0)
LABELS = np.repeat([0, 1], [30, 50])
Z = RNG.normal(size=(80, 2)) + LABELS[:, None]
HELD = np.arange(80) % 2 == 0


def scored(classifier, seed=0):
    return held_out(classifier, Z, LABELS, HELD, np.random.default_rng(seed))


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


class TestHits:
    def test_the_threshold_is_the_share_of_the_fitted_rows(self):
        part = HeldOut(np.array([0.2, 0.25, 0.25, 0.3]), np.array([0, 0, 1, 0]), 0.25)
        assert part.hits.tolist() == [1.0, 0.5, 0.5, 0.0]

    def test_rounding_is_no_side(self):
        part = HeldOut(np.array([0.1 + 0.2]), np.array([1]), 0.3)
        assert part.hits.tolist() == [0.5]

    def test_no_information_is_half(self):
        part = scored(DummyClassifier())  # the share of each label
        assert part.threshold == LABELS[~HELD].mean()
        assert set(part.hits.tolist()) == {0.5}


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

    def test_the_column_of_label_1(self):
        straight, turned = Own(classes=[0, 1]), Own(lambda s: np.stack([s, 1 - s], axis=1), classes=np.array([1, 0]))
        np.testing.assert_array_equal(scored(straight).scores, scored(turned).scores)
        np.testing.assert_array_equal(scored(straight).scores, scored(Own()).scores)

    def test_single_precision_and_lists(self):
        single = scored(Own(lambda s: np.stack([1 - s, s], axis=1).astype(np.float32)))
        assert single.scores.dtype == np.float64
        listed = scored(Own(lambda s: np.stack([1 - s, s], axis=1).tolist()))
        np.testing.assert_array_equal(listed.scores, scored(Own()).scores)


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

    def test_a_seed_of_ones_own_is_kept(self):
        first, other = (
            held_out(RandomForestClassifier(10, random_state=s), Z, LABELS, HELD, np.random.default_rng(0)).scores
            for s in (1, 2)
        )
        assert first.tolist() != other.tolist()

    def test_what_cannot_be_copied(self, refusal):
        model = Own()
        model.lock = threading.Lock()
        message = refusal(scored, model)
        assert "classifier Own cannot be copied" in message
        assert "copy.deepcopy" in message


class TestRefusals:
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

    @pytest.mark.parametrize("classes", [["y", "points"], [0, 2], [1, 1], [0, 1, 2]])
    def test_other_classes(self, classes, refusal):
        assert "Own was fitted to labels 0 and 1, and its classes_ must be these" in refusal(
            scored, Own(classes=classes)
        )

    def test_probabilities_may_leave_their_range_by_rounding(self):
        assert scored(Own(lambda s: np.full((s.size, 2), 1 + 1e-7))).scores[0] > 1
