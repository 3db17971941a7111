"""Scorers and display inside scikit-learn itself."""

import pickle

import numpy as np
import pytest

from calibrant import brier_score, ece, log_score, reliability_curve, top_label
from calibrant.core import catalogue
from calibrant.core.means import enter_mean
from calibrant.core.moments import Moments
from calibrant.integrations.sklearn import ReliabilityDisplay, scorer
from calibrant.results import Curve


@pytest.fixture(scope="module")
def binary(labelled):
    """Return X, y (0 and 1) and positive weights of 600 rows."""
    X, labels = labelled
    return X, (labels == "yes").astype(int), np.random.default_rng(0).uniform(0.5, 3, len(X))


@pytest.fixture
def routing(sk):
    """Switch metadata routing on."""
    with sk.config_context(enable_metadata_routing=True):
        yield


class TestValue:
    @pytest.mark.parametrize(("verb", "options"), [(ece, {}), (ece, {"bins": 7}), (brier_score, {}), (log_score, {})])
    def test_binary_is_the_verb_of_the_second_column_negated(self, sk, binary, verb, options):
        X, y, w = binary
        model = sk.linear_model.LogisticRegression().fit(X[:200], y[:200])
        p = model.predict_proba(X[200:])[:, 1]
        score = scorer(verb, **options)
        assert score(model, X[200:], y[200:]) == -verb(y[200:], p, **options)
        assert score(model, X[200:], y[200:], sample_weight=w[200:]) == -verb(y[200:], p, weights=w[200:], **options)

    @pytest.mark.parametrize("names", [["stays", "leaves"], [False, True], [-1, 1], [2.0, 1.0]])
    def test_labels_of_any_kind(self, sk, binary, names):
        X, y, _ = binary
        labels = np.array(names)[y]
        model = sk.linear_model.LogisticRegression().fit(X, labels)
        p = model.predict_proba(X)[:, 1]
        assert scorer("ece")(model, X, labels) == -ece(labels == model.classes_[1], p)

    def test_several_classes_are_judged_by_the_whole_matrix(self, sk, three):
        X, y = three
        model = sk.linear_model.LogisticRegression().fit(X, y)
        P, numbers = model.predict_proba(X), np.searchsorted(["a", "b", "c"], y)
        assert scorer("brier_score")(model, X, y) == -brier_score(numbers, P)
        assert scorer("ece", notion="classwise")(model, X, y) == -ece(numbers, P, notion="classwise")

    def test_rows_in_which_a_class_is_missing(self, sk, three):
        X, y = three
        model = sk.linear_model.LogisticRegression().fit(X, y)
        some = y != "b"
        numbers = np.searchsorted(["a", "b", "c"], y[some])
        assert scorer("ece")(model, X[some], y[some]) == -ece(numbers, model.predict_proba(X[some]))

    def test_a_metric_whose_best_value_is_its_largest_keeps_its_sign(self, sk, binary, entered):
        def share_right(y, prediction=None, *, weights=None, classes=None, pos_label=None) -> float:
            given = {"weights": weights, "classes": classes, "pos_label": pos_label}
            return entry(y, prediction, catalogue.NoOptions(), **given)

        entry = enter_mean(
            share_right,
            catalogue.NoOptions,
            lambda rows, options: ((rows.p > 0.5) == rows.y).astype(float),
            predictions=("binary",),
            range=(0.0, 1.0),
            perfect=1.0,
        )
        assert catalogue.find("share_right").reads == (Moments,)
        X, y, _ = binary
        model = sk.linear_model.LogisticRegression().fit(X, y)
        assert scorer("share_right")(model, X, y) == pytest.approx(model.score(X, y), rel=1e-12)


class TestInScikitLearn:
    def test_cross_val_score(self, sk, binary):
        X, y, _ = binary
        labels = np.where(y, "yes", "no")
        model, folds = sk.linear_model.LogisticRegression(), sk.model_selection.KFold(4)
        found = sk.model_selection.cross_val_score(model, X, labels, cv=folds, scoring=scorer("ece", bins=10))
        expected = []
        for train, rest in folds.split(X):
            p = model.fit(X[train], labels[train]).predict_proba(X[rest])[:, 1]
            expected.append(-ece(labels[rest], p, bins=10, pos_label="yes"))
        assert found.tolist() == expected

    def test_brier_score_is_scikit_learns(self, sk, binary):
        X, y, _ = binary
        given = {"estimator": sk.linear_model.LogisticRegression(), "X": X, "y": y, "cv": 4}
        ours = sk.model_selection.cross_val_score(**given, scoring=scorer("brier_score"))
        theirs = sk.model_selection.cross_val_score(**given, scoring="neg_brier_score")
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)

    def test_grid_search_takes_the_smallest_error(self, sk, three):
        X, y = three
        steps = sk.pipeline.make_pipeline(sk.preprocessing.StandardScaler(), sk.linear_model.LogisticRegression())
        grid = {"logisticregression__C": [1e-6, 1.0]}
        search = sk.model_selection.GridSearchCV(steps, grid, scoring=scorer("log_score"), cv=3).fit(X, y)
        assert search.best_params_ == {"logisticregression__C": 1.0}
        assert search.score(X, y) == -log_score(y, search.predict_proba(X), classes=search.classes_)

    def test_other_processes(self, sk, binary):
        X, y, _ = binary
        given = {"estimator": sk.linear_model.LogisticRegression(), "X": X, "y": y, "cv": 4, "scoring": scorer("ece")}
        here, there = (sk.model_selection.cross_val_score(**given, n_jobs=jobs) for jobs in (1, 2))
        assert here.tolist() == there.tolist()

    def test_pickle_and_clone(self, sk):
        for copy in (pickle.loads(pickle.dumps(scorer("ece", bins=7))), sk.clone(scorer("ece", bins=7), safe=False)):
            assert repr(copy) == "scorer('ece', bins=7)"
            assert copy.metric is ece

    @pytest.mark.parametrize("several", [False, True])
    def test_weights_of_a_search_reach_the_scorer(self, sk, binary, several):
        X, y, w = binary
        folds = sk.model_selection.KFold(2)
        scoring = {"ece": scorer(), "brier": scorer("brier_score")} if several else scorer()
        grid = sk.model_selection.GridSearchCV(
            sk.linear_model.LogisticRegression(), {"C": [1.0]}, scoring=scoring, cv=folds, refit=False
        )
        grid.fit(X, y, sample_weight=w)
        expected = []
        for train, rest in folds.split(X):
            model = sk.linear_model.LogisticRegression().fit(X[train], y[train], sample_weight=w[train])
            expected.append(-ece(y[rest], model.predict_proba(X[rest])[:, 1], weights=w[rest]))
        name = "ece" if several else "score"
        assert [grid.cv_results_[f"split{k}_test_{name}"][0] for k in range(2)] == expected

    @pytest.mark.usefixtures("routing")
    @pytest.mark.parametrize(("asked", "passed"), [(True, "sample_weight"), ("importance", "importance")])
    def test_routed_weights(self, sk, binary, asked, passed):
        X, y, w = binary
        model = sk.linear_model.LogisticRegression().set_fit_request(sample_weight=False)
        score = scorer("ece").set_score_request(sample_weight=asked)
        found = sk.model_selection.cross_validate(model, X, y, cv=2, scoring={"e": score}, params={passed: w})["test_e"]
        folds = sk.model_selection.StratifiedKFold(2).split(X, y)
        expected = [
            -ece(y[rest], model.fit(X[train], y[train]).predict_proba(X[rest])[:, 1], weights=w[rest])
            for train, rest in folds
        ]
        assert found.tolist() == expected

    @pytest.mark.usefixtures("routing")
    def test_weights_nobody_asked_for_are_refused_by_scikit_learn(self, sk, binary):
        X, y, w = binary
        model = sk.linear_model.LogisticRegression().set_fit_request(sample_weight=True)
        with pytest.raises(sk.exceptions.UnsetMetadataPassedError, match="sample_weight"):
            sk.model_selection.cross_validate(model, X, y, scoring=scorer(), params={"sample_weight": w})


class TestRefused:
    def test_what_is_not_one_number(self, refusal):
        for metric, options, words in (
            ("kuiper_test", {}, "kuiper_test is a test: call kuiper_test(y, p)"),
            (reliability_curve, {}, "ReliabilityDisplay.from_estimator"),
            ("decompose", {}, "brier_score, cutoff_error, ece, log_score, mce"),
            ("accuracy", {}, "expected a verb"),
            ("ece", {"bin": 10}, "ece has no option bin"),
        ):
            assert words in refusal(scorer, metric, **options)

    def test_an_estimator_without_probabilities(self, sk, binary, refusal):
        X, y, _ = binary
        assert "LinearSVC has no predict_proba" in refusal(scorer(), sk.svm.LinearSVC().fit(X, y), X, y)


def same(a, b):
    assert isinstance(a, Curve)
    assert a.columns.keys() == b.columns.keys()
    for name in a.columns:
        np.testing.assert_array_equal(a.columns[name], b.columns[name])


@pytest.mark.usefixtures("plt")
class TestDisplay:
    def test_holds_the_curve_of_the_predictions(self, D1):
        y, p = D1
        w = np.linspace(0.5, 2, len(y))
        display = ReliabilityDisplay.from_predictions(y, p, sample_weight=w, bins=5, strategy="mass")
        same(display.curve, reliability_curve(y, p, weights=w, bins=5, strategy="mass"))
        assert display.ax_.figure is display.figure_
        assert display.ax_.get_title() == ""

    def test_of_a_binary_estimator(self, sk, binary):
        X, y, w = binary
        labels = np.where(y, "yes", "no")
        model = sk.linear_model.LogisticRegression().fit(X, labels)
        P = model.predict_proba(X)
        display = ReliabilityDisplay.from_estimator(model, X, labels, sample_weight=w)
        same(display.curve, reliability_curve(y, P[:, 1], weights=w))
        assert display.ax_.get_title() == "LogisticRegression"
        other = ReliabilityDisplay.from_estimator(model, X, labels, pos_label="no", name="those who stay")
        same(other.curve, reliability_curve(1 - y, P[:, 0]))
        assert other.ax_.get_title() == "those who stay"

    def test_looks_like_the_curve(self, D1, plt):
        curve = reliability_curve(*D1)
        drawn, display = curve.plot(plt.figure().subplots()), ReliabilityDisplay(curve).plot(plt.figure().subplots())
        assert len(drawn.lines) == len(display.ax_.lines) > 0
        for ours, theirs in zip(drawn.lines, display.ax_.lines, strict=True):
            np.testing.assert_array_equal(ours.get_xydata(), theirs.get_xydata())

    def test_drawn_on_given_axes(self, D1, plt):
        _, axes = plt.subplots(1, 2)
        display = ReliabilityDisplay.from_predictions(*D1, ax=axes[0])
        assert display.ax_ is axes[0]
        assert display.plot(axes[1]) is display
        assert display.ax_ is axes[1]

    def test_several_classes(self, sk, three, refusal):
        X, y = three
        model = sk.linear_model.LogisticRegression().fit(X, y)
        message = refusal(ReliabilityDisplay.from_estimator, model, X, y)
        assert "LogisticRegression has 3 classes. Name one with pos_label=" in message
        P = model.predict_proba(X)
        one = ReliabilityDisplay.from_estimator(model, X, y, pos_label="b")
        same(one.curve, reliability_curve(y == "b", P[:, 1]))
        top = ReliabilityDisplay.from_predictions(*top_label(y, P, classes=model.classes_))  # as the message says
        assert top.curve.n == 600
        message = refusal(ReliabilityDisplay.from_estimator, model, X, y, pos_label="d")
        assert message == "pos_label must be one of ['a', 'b', 'c']; got 'd'"
