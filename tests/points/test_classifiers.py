"""Classifiers by name, each against that of scikit-learn, and the test by the best of several."""

import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from calibrant.errors import MissingExtraError
from calibrant.points import c2st, compare
from calibrant.points.classifiers import BEST, named
from calibrant.points.rank_sum import auc, standard_ranks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)) * [1.0, 5.0, 0.1]
LABELS = (X[:, 0] + RNG.normal(size=80) > 0).astype(np.int64)
Q = RNG.normal(size=(30, 3)) * [1.0, 5.0, 0.1]


class TestEach:
    @pytest.mark.parametrize("name", BEST)
    def test_constant_and_distant_points(self, name):
        """No warning, no NaN."""
        model = named(name).fit(np.column_stack([X, np.full(80, 3.0)]), LABELS)
        far = np.column_stack([1e140 * Q, np.full(30, -7.0)])
        scores = model.log_odds(far) if hasattr(model, "log_odds") else model.predict_proba(far)
        assert np.isfinite(scores).all()

    @pytest.mark.parametrize("name", BEST)
    def test_units_do_not_matter(self, name):
        y, points = X, X[::-1] + np.array([0.5, 0.0, 0.1])
        expected = c2st(y, points, classifier=name, rng=0).statistic
        for unit in (1e-160, 1e140):
            assert c2st(unit * y, unit * points, classifier=name, rng=0).statistic == pytest.approx(expected, rel=0.02)

    @pytest.mark.parametrize("name", BEST)
    def test_points_that_are_all_equal_teach_nothing(self, name):
        found = c2st(np.ones((6, 2)), np.ones((9, 2)), classifier=name, rng=0)
        assert (found.statistic, found.estimate, found.pvalue) == (0.5, 0.5, 1.0)

    def test_scores_are_log_odds_of_scaled_columns(self):
        scaled = (X - X.mean(axis=0)) / X.std(axis=0)
        peer = GaussianNB(var_smoothing=1e-6).fit(scaled, LABELS).predict_log_proba(scaled)
        np.testing.assert_allclose(named("quadratic").fit(X, LABELS).log_odds(X), peer[:, 1] - peer[:, 0], atol=1e-9)
        logistic = LogisticRegression(tol=1e-10, max_iter=10_000).fit(scaled, LABELS)
        found = named("logistic").fit(X, LABELS).log_odds(X)
        np.testing.assert_allclose(found, logistic.decision_function(scaled), atol=1e-3)

    def test_neighbours_see_scaled_columns(self):
        scaled = (X - X.mean(axis=0)) / X.std(axis=0)
        found = named("neighbours").fit(X, LABELS).predict_proba(X)
        np.testing.assert_array_equal(found, KNeighborsClassifier(9).fit(scaled, LABELS).predict_proba(scaled))

    def test_without_scikit_learn(self, monkeypatch, refusal):
        monkeypatch.setitem(sys.modules, "sklearn.naive_bayes", None)
        assert "calibrant[sklearn]" in refusal(c2st, X, Q, rng=0, error=MissingExtraError)
        found = compare(X, Q)
        assert any("No classifiers" in caveat and "calibrant[sklearn]" in caveat for caveat in found.findings.caveats)
        assert "classifier" not in [section.name for section in found.findings.sections]


class TestStandardRanks:
    def test_is_the_area_in_standard_deviations(self):
        rng = np.random.default_rng(1)
        scores, labels = np.round(rng.normal(size=12), 1), np.repeat([0, 1], [7, 5])
        drawn = np.array([auc(scores, rng.permutation(labels)) for _ in range(4000)])
        z = standard_ranks(scores, labels) @ labels
        assert z == pytest.approx((auc(scores, labels) - 0.5) / drawn.std(), rel=0.05)

    def test_all_tied(self):
        assert standard_ranks(np.ones(4), np.array([0, 1, 1, 0])).tolist() == [0] * 4


class TestBest:
    def test_details(self):
        y, points = RNG.normal(size=(2, 80, 2))
        found = c2st(y, points + 1, rng=0)
        assert found.details["classifier"] in BEST
        assert list(found.details["auc"]) == list(found.details["pvalue_unadjusted"]) == list(BEST)
        assert found.statistic == found.details["auc"][found.details["classifier"]]
        assert (found.pvalue, found.details["null"]) == (1 / 1000, "permutation")
        assert "best of logistic, neighbours, quadratic, stumps" in found.method

    def test_unadjusted_is_the_p_value_of_each_alone(self):
        y, points = RNG.normal(size=(2, 60, 2))
        found = c2st(y, points, rng=3)
        for name in BEST:
            alone = c2st(y, points, classifier=name, rng=3)
            assert found.details["auc"][name] == pytest.approx(alone.statistic, rel=1e-12)
            assert found.details["pvalue_unadjusted"][name] == pytest.approx(alone.pvalue, rel=1e-12)

    def test_names_and_objects_together(self):
        y, points = RNG.normal(size=(2, 60, 2))
        found = c2st(y, points, classifier=("stumps", GaussianNB(), GaussianNB(), "trees"), rng=0, resamples=99)
        assert list(found.details["auc"]) == ["stumps", "GaussianNB", "GaussianNB 2", "trees"]
        assert "k" not in found.details

    def test_folds(self):
        y, points = RNG.normal(size=(2, 20, 2))
        found = c2st(y, points + 3, classifier=("logistic", "quadratic"), folds=2, resamples=19, rng=0)
        assert found.pvalue == 0.05
        assert set(found.details["pvalue_unadjusted"].values()) == {0.05}

    def test_a_spread_in_512_columns(self, rng):
        y, points = rng.normal(size=(250, 512)), 1.05 * rng.normal(size=(250, 512))
        found = c2st(y, points, rng=0)
        assert found.pvalue < 0.01
        assert found.details["classifier"] == "quadratic"
