"""The transformer of probabilities and the recalibrated classifier inside scikit-learn itself."""

import json
import pickle
import warnings

import numpy as np
import pytest
from scipy.special import expit

from calibrant.errors import InputError
from calibrant.recalibrating.recalibrate import recalibrate
from calibrant.recalibrating.recalibration import Recalibration

REPEATED_ROWS = "folds are not weighted, so a weight of 2 is not a row that occurs twice; as in CalibratedClassifierCV"
ONE_COLUMN = "one probability per row may be a 1-D array"


@pytest.fixture(scope="module")
def ours(sk):
    """Return the module of the estimators."""
    from calibrant.integrations import sklearn

    return sklearn


@pytest.fixture(scope="module")
def binary(labelled):
    return labelled


def checked(sk, estimator, **expected):
    """Run all checks of scikit-learn; return the names of those that passed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # auto says that small data sets stay as they are
        found = sk.utils.estimator_checks.check_estimator(
            estimator, on_skip=None, on_fail="raise", expected_failed_checks=expected
        )
    return {one["check_name"] for one in found if one["status"] == "passed"}


def same_map(found, expected):
    for name in ("kind", "method", "n", "classes"):
        assert getattr(found, name) == getattr(expected, name)
    for name, value in expected.parameters.items():
        np.testing.assert_allclose(found.parameters[name], value, rtol=1e-12)


class TestChecks:
    def test_classifier(self, sk, ours):
        passed = checked(
            sk,
            ours.RecalibratedClassifier(sk.linear_model.LogisticRegression(), cv=3),
            check_sample_weight_equivalence_on_dense_data=REPEATED_ROWS,
            check_sample_weight_equivalence_on_sparse_data=REPEATED_ROWS,
        )
        assert len(passed) > 50
        assert {"check_classifiers_train", "check_estimators_pickle", "check_fit_idempotent"} <= passed

    def test_transformer(self, sk, ours):
        with pytest.warns(sk.exceptions.SkipTestWarning, match="ProbabilityRecalibrator"):
            sk.utils.estimator_checks.check_estimator(ours.ProbabilityRecalibrator())

    def test_transformer_of_probabilities_that_are_made_from_any_table(self, sk, ours):
        """All checks, with probabilities that are made from the tables of the checks."""

        class OfAnyTable(ours.ProbabilityRecalibrator):
            def _columns(self, X, *, reset):
                table = super()._columns(X, reset=reset)
                return expit(0.2 * (table - 0.3) @ np.cos(np.arange(table.shape[1])))[:, None]

            def _checked_target(self, y):
                labels = None if y is None else np.ravel(np.asarray(y))
                if labels is None or labels.dtype.kind == "O":
                    return super()._checked_target(y)
                return (labels > labels.min()).astype(int)

            def __sklearn_tags__(self):
                tags = super().__sklearn_tags__()
                tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, True
                return tags

        passed = checked(
            sk,
            OfAnyTable(),
            check_fit1d=ONE_COLUMN,
            check_fit2d_predict1d=ONE_COLUMN,
            check_estimators_pickle="a class inside a test cannot be pickled",
        )
        assert len(passed) > 40
        assert {"check_transformer_general", "check_sample_weight_equivalence_on_dense_data"} <= passed


class TestClassifier:
    def test_cross_fitting_is_that_of_scikit_learn(self, sk, ours, binary):
        X, y = binary
        folds = sk.model_selection.KFold(4, shuffle=True, random_state=0)
        model = sk.naive_bayes.GaussianNB()
        found = ours.RecalibratedClassifier(model, method="beta", cv=folds).fit(X, y)
        P = sk.model_selection.cross_val_predict(model, X, y, cv=folds, method="predict_proba")
        expected = recalibrate(y == "yes", P[:, 1], method="beta")
        same_map(found.recalibration_, expected)
        p = model.fit(X, y).predict_proba(X)[:, 1]
        np.testing.assert_allclose(found.predict_proba(X)[:, 1], expected.apply(p), rtol=1e-12)
        np.testing.assert_allclose(found.predict_proba(X).sum(axis=1), 1, rtol=1e-15)
        assert found.predict(X).tolist() == np.where(expected.apply(p) > 0.5, "yes", "no").tolist()

    def test_a_fitted_model_stays_as_it_is(self, sk, ours, three):
        X, y = three
        model = sk.naive_bayes.GaussianNB().fit(X[:300], y[:300])
        before = pickle.dumps(model)
        found = ours.RecalibratedClassifier(model, method="temperature", cv="prefit").fit(X[300:], y[300:])
        frozen = sk.frozen.FrozenEstimator(model)
        again = ours.RecalibratedClassifier(frozen, method="temperature").fit(X[300:], y[300:])
        assert pickle.dumps(model) == before
        assert found.estimator_ is model
        expected = recalibrate(y[300:], model.predict_proba(X[300:]), method="temperature", classes=["a", "b", "c"])
        same_map(found.recalibration_, expected)
        same_map(again.recalibration_, expected)
        assert json.loads(found.recalibration_.to_json())["classes"] == ["a", "b", "c"]
        np.testing.assert_allclose(found.predict_proba(X), expected.apply(model.predict_proba(X)), rtol=1e-12)
        assert (found.predict(X) == model.predict(X)).all()

    @pytest.mark.parametrize("data", ["binary", "three"])
    def test_temperature_is_that_of_scikit_learn(self, sk, ours, data, request):
        """Of two classes scikit-learn halves the slope of `decision_function`; the probabilities are equal."""
        X, y = request.getfixturevalue(data)
        model, folds = sk.linear_model.LogisticRegression(), sk.model_selection.StratifiedKFold(3)
        found = ours.RecalibratedClassifier(model, method="temperature", cv=folds).fit(X, y)
        peer = sk.calibration.CalibratedClassifierCV(model, method="temperature", cv=folds, ensemble=False).fit(X, y)
        np.testing.assert_allclose(found.predict_proba(X), peer.predict_proba(X), rtol=0, atol=2e-8)

    def test_weights_reach_the_classifier_and_the_map(self, sk, ours, binary):
        X, y = binary
        w = np.random.default_rng(0).uniform(0.2, 3, len(y))
        folds = sk.model_selection.KFold(3)
        model = sk.linear_model.LogisticRegression()
        found = ours.RecalibratedClassifier(model, method="logistic", cv=folds).fit(X, y, sample_weight=w)
        p = np.empty(len(y))
        for train, rest in folds.split(X):
            p[rest] = model.fit(X[train], y[train], sample_weight=w[train]).predict_proba(X[rest])[:, 1]
        expected = recalibrate(y == "yes", p, method="logistic", weights=w)
        assert found.recalibration_.parameters["slope"] == pytest.approx(expected.parameters["slope"], rel=1e-9)
        np.testing.assert_allclose(found.estimator_.coef_, model.fit(X, y, sample_weight=w).coef_)

    def test_weights_that_the_classifier_does_not_take(self, sk, ours, binary):
        X, y = binary
        steps = sk.pipeline.make_pipeline(sk.preprocessing.StandardScaler(), sk.linear_model.LogisticRegression())
        with pytest.warns(UserWarning, match="Pipeline takes no sample_weight"):
            ours.RecalibratedClassifier(steps, method="logistic").fit(X, y, sample_weight=np.ones(len(y)))

    def test_folds_of_groups(self, sk, ours, binary):
        """Folds as pairs of rows: no fold tests a group that it was fitted on."""
        X, y = binary
        folds = list(sk.model_selection.GroupKFold(4).split(X, y, groups=np.arange(len(y)) // 10))
        found = ours.RecalibratedClassifier(sk.naive_bayes.GaussianNB(), method="logistic", cv=folds).fit(X, y)
        p = np.empty(len(y))
        for train, rest in folds:
            p[rest] = sk.naive_bayes.GaussianNB().fit(X[train], y[train]).predict_proba(X[rest])[:, 1]
        same_map(found.recalibration_, recalibrate(y == "yes", p, method="logistic"))

    def test_a_second_fit_forgets_the_first(self, sk, ours, binary, three, require):
        found = ours.RecalibratedClassifier(sk.naive_bayes.GaussianNB(), method="temperature")
        found.fit(require("pandas").DataFrame(binary[0], columns=list("abcdef")), binary[1])
        assert found.feature_names_in_.tolist() == list("abcdef")
        found.fit(*three)
        assert not hasattr(found, "feature_names_in_")
        assert found.n_features_in_ == three[0].shape[1]
        assert found.predict_proba(three[0]).shape == (600, 3)

    def test_searches_pipelines_clones_and_pickles(self, sk, ours, three):
        X, y = three
        classifier = ours.RecalibratedClassifier(sk.naive_bayes.GaussianNB(), method="temperature", cv=3)
        steps = sk.pipeline.make_pipeline(sk.preprocessing.StandardScaler(), classifier)
        scores = sk.model_selection.cross_val_score(steps, X, y, cv=3, scoring=ours.scorer("log_score"))
        nb, score = sk.naive_bayes.GaussianNB(), ours.scorer("log_score")
        plain = sk.model_selection.cross_val_score(nb, X, y, cv=3, scoring=score)
        assert (scores > plain).all()  # naive Bayes is too sure, and errors have a minus sign
        grid = {
            "recalibratedclassifier__method": ["identity", "temperature"],
            "recalibratedclassifier__estimator__var_smoothing": [1e-9, 1e-3],
        }
        search = sk.model_selection.GridSearchCV(steps, grid, cv=3, scoring=ours.scorer("log_score")).fit(X, y)
        assert search.best_params_["recalibratedclassifier__method"] == "temperature"
        fresh = sk.clone(search.best_estimator_)
        assert fresh.get_params()["recalibratedclassifier__method"] == "temperature"
        assert not hasattr(fresh[-1], "recalibration_")
        again = pickle.loads(pickle.dumps(search.best_estimator_))
        np.testing.assert_allclose(again.predict_proba(X), search.predict_proba(X), rtol=1e-12)

    def test_auto_leaves_a_calibrated_classifier_alone(self, sk, ours):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(1500, 2))
        y = rng.uniform(size=1500) < expit(X[:, 0])
        with pytest.warns(UserWarning, match="auto leaves predictions as they are"):
            found = ours.RecalibratedClassifier(sk.linear_model.LogisticRegression()).fit(X, y)
        assert found.recalibration_.method == "identity"
        np.testing.assert_allclose(found.predict_proba(X), found.estimator_.predict_proba(X), rtol=1e-12)

    def test_refused(self, sk, ours, binary, for_each):
        X, y = binary
        around, folds = ours.RecalibratedClassifier, sk.model_selection
        nb, ridge = sk.naive_bayes.GaussianNB(), sk.linear_model.RidgeClassifier().fit(X, y)
        knn = around(sk.neighbors.KNeighborsClassifier(1).fit(X, y), method="temperature", cv="prefit", clip=0.01)

        def check(classifier, labels, words):
            with pytest.raises(InputError, match=words):
                classifier.fit(X, labels)

        cases = {
            "one class": (around(nb), np.full(len(y), "no"), "one class: 'no'"),
            "one row": (around(nb), np.r_[["maybe"], y[1:]], "there is 1 of 'maybe'"),
            "method": (around(nb, method="platt"), y, "can be recalibrated by"),
            "no probabilities": (around(ridge, cv="prefit"), y, "has no predict_proba"),
            "no probabilities in folds": (around(ridge), y, "RidgeClassifier has no predict_proba"),
            "rows that are never tested": (around(nb, cv=folds.TimeSeriesSplit(3)), y, "row 0 is tested 0 times"),
            "rows that are tested twice": (around(nb, cv=folds.RepeatedKFold(n_splits=3)), y, "row 0 is tested 10"),
            "separated outcomes": (knn, y, "separated"),
        }
        for_each(cases, check)


class TestTransformer:
    def test_every_shape_comes_back(self, sk, ours, binary, three):
        X, y = binary
        p = sk.naive_bayes.GaussianNB().fit(X[:300], y[:300]).predict_proba(X)
        expected = recalibrate(y == "yes", p[:, 1], method="beta").apply(p[:, 1])
        for given, shape in ((p[:, 1], (600,)), (p[:, 1:], (600, 1)), (p, (600, 2)), (p[:, 1].tolist(), (600,))):
            found = ours.ProbabilityRecalibrator(method="beta").fit(given, y).transform(given)
            assert found.shape == shape
            last = found if found.ndim == 1 else found[:, -1]
            np.testing.assert_allclose(last, expected, rtol=1e-12)
        X, y = three
        P = sk.naive_bayes.GaussianNB().fit(X[:300], y[:300]).predict_proba(X)
        found = pickle.loads(pickle.dumps(ours.ProbabilityRecalibrator(method="vector").fit(P, y)))
        assert isinstance(found.recalibration_, Recalibration)
        expected = recalibrate(y, P, method="vector", classes=["a", "b", "c"]).apply(P)
        np.testing.assert_allclose(found.transform(P), expected, rtol=1e-12)

    def test_pipeline_and_frames(self, sk, ours, three, require):
        pd = require("pandas")
        X, y = three
        P = sk.naive_bayes.GaussianNB().fit(X, y).predict_proba(X)
        frame = pd.DataFrame(P, columns=["P(a)", "P(b)", "P(c)"])
        steps = sk.pipeline.make_pipeline(
            ours.ProbabilityRecalibrator(method="temperature"), sk.preprocessing.FunctionTransformer(np.log)
        )
        found = steps.set_output(transform="pandas").fit(frame, y).transform(frame)
        assert list(steps[0].get_feature_names_out()) == list(frame.columns)
        expected = np.log(recalibrate(y, P, method="temperature", classes=["a", "b", "c"]).apply(P))
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-12)

    def test_refused(self, sk, ours, for_each):
        y = np.array([0, 1] * 20)

        def check(P, labels, words):
            with pytest.raises(ValueError, match=words):
                ours.ProbabilityRecalibrator(method="logistic").fit(P, labels)

        p = np.linspace(0.1, 0.9, 40)
        cases = {
            "not probabilities": (20 * p, y, "must lie in"),
            "not a simplex": (np.column_stack([p, p]), y, "sum to 1"),
            "columns unlike classes": (np.full((40, 3), 1 / 3), y, "3 columns belong to 3 classes; y has 2"),
            "one class": (p, np.zeros(40), "y has one class: 0.0"),
            "three classes": (p, np.arange(40) % 3, "1 column of probabilities belongs to 2 classes; y has 3"),
            "lengths": (p[1:], y, "inconsistent numbers of samples"),
            "no outcomes": (p, None, "requires y"),
            "NaN": (np.where(p > 0.5, np.nan, p), y, "NaN"),
        }
        for_each(cases, check)

    def test_sums_that_are_off_by_rounding(self, sk, ours, three):
        """A classifier that rounds to three decimals, as half precision does."""

        class Rounded(sk.naive_bayes.GaussianNB):
            def predict_proba(self, X):
                return (0.97 * super().predict_proba(X) + 0.01).round(3)

        X, y = three
        found = ours.RecalibratedClassifier(Rounded(), method="temperature").fit(X, y).predict_proba(X)
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)

    def test_not_fitted(self, sk, ours, refusal):
        refusal(ours.ProbabilityRecalibrator().transform, [0.5], error=sk.exceptions.NotFittedError)
