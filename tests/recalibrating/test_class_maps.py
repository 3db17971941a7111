"""Temperature, vector, matrix, dirichlet and one-vs-rest: reference values, hand-worked cases, properties."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.references.books import book

from calibrant import log_score, per_row
from calibrant.errors import InputError
from calibrant.inputs.probabilities import Classes, read_probabilities
from calibrant.recalibrating import class_maps, softmax_maps
from calibrant.recalibrating.methods import METHODS
from calibrant.recalibrating.recalibrate import recalibrate
from calibrant.recalibrating.recalibration import Recalibration

BOOK = book("recalibration")
SOFTMAX = ("temperature", "vector", "matrix", "dirichlet")


def fitted(y, P, method, **options):
    """Fit without the words about small data sets."""
    with warnings.catch_warnings():
        for words in ("[0-9]+ rows for [0-9]+ parameters", "the probabilities carry no or inverted information"):
            warnings.filterwarnings("ignore", words)
        return recalibrate(y, P, method=method, **options)


def simulated(n, K, *, seed=0, slope=0.6, spread=1.5):
    """Return outcomes and stated probabilities P of rows whose true probabilities are proportional to P^slope."""
    rng = np.random.default_rng(seed)
    z = spread * rng.normal(size=(n, K))
    P = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    truth = P**slope / (P**slope).sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1)[:, :-1] < rng.uniform(size=(n, 1))).sum(axis=1)
    return y, P


class TestByHand:
    def test_temperature_of_one_kind_of_row(self):
        """Rows (4/7, 2/7, 1/7) whose classes occur 4 - 3a, ..: with z = (2, 1, 0) ln 2 the mean of 2 - k must be E z.

        Outcomes 0, 0, 1, 2 have the mean 5/4, and x = 2^s solves (2x² + x)/(x² + x + 1) = 5/4: 3x² - x - 5 = 0.
        """
        found = fitted([0, 0, 1, 2], [[4 / 7, 2 / 7, 1 / 7]] * 4, "temperature")
        x = (1 + math.sqrt(61)) / 6
        assert found.parameters["slope"] == pytest.approx(math.log2(x), rel=1e-12)
        np.testing.assert_allclose(found.apply([[4 / 7, 2 / 7, 1 / 7]])[0], np.array([x * x, x, 1]) / (x * x + x + 1))

    def test_zeros_stay_and_drop_out(self):
        """Two possible classes (2/3, 1/3): outcomes 0, 0, 0, 1 give 2^s = 3 whatever impossible classes there are."""
        found = fitted([0, 0, 0, 2], [[2 / 3, 0, 1 / 3]] * 4, "temperature")
        assert found.parameters["slope"] == pytest.approx(math.log2(3), rel=1e-12)
        np.testing.assert_allclose(found.apply([[2 / 3, 0, 1 / 3], [1, 0, 0]]), [[0.75, 0, 0.25], [1, 0, 0]])

    def test_inverted_probabilities_become_equal(self):
        with pytest.warns(UserWarning, match="no or inverted information"):
            found = recalibrate([2, 2, 0, 1], [[0.6, 0.3, 0.1], [0.5, 0.5, 0]] * 2, method="temperature", clip=0.01)
        assert dict(found.parameters) == {"slope": 0.0, "temperature": math.inf}
        assert (found.boundary, found.gradient) == (("slope",), 0.0)
        assert found.objective == pytest.approx(math.log(3))
        np.testing.assert_allclose(found.apply([[0.6, 0.3, 0.1]]), 1 / 3)

    def test_equal_probabilities_keep_zeros(self):
        with pytest.warns(UserWarning, match="equally probable"):
            found = recalibrate([1, 1, 1, 0], [[0.9, 0.1, 0]] * 4, method="temperature")
        np.testing.assert_allclose(found.apply([[0.9, 0.1, 0], [0, 0, 1]]), [[0.5, 0.5, 0], [0, 0, 1]])
        assert found.objective == pytest.approx(math.log(2))

    def test_clip_mixes(self):
        """(1 - 2c)P + c with c = 0.1 makes (0.9, 0.1) of (1, 0): 9^s = 3 for three outcomes of four."""
        found = fitted([0, 0, 0, 1], [[1, 0]] * 4, "temperature", clip=0.1)
        assert found.parameters["slope"] == pytest.approx(0.5, rel=1e-12)
        np.testing.assert_allclose(found.apply([[1, 0]]), [[0.75, 0.25]])

    def test_vector_of_two_classes_is_logistic_where_shapes_agree(self):
        """Of two classes the vector map is a beta map without bounds: three frequencies are met exactly."""
        p = np.array([0.2] * 4 + [0.5] * 2 + [0.8] * 5)
        y = [1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0]
        found = fitted(y, np.column_stack([1 - p, p]), "vector")
        np.testing.assert_allclose(found.apply([[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]])[:, 1], [0.25, 0.5, 0.8])

    def test_one_vs_rest_divides_by_the_sum(self):
        """Isotonic-free check with the identity inside: the columns come back, divided by their sum."""
        found = fitted([0, 1, 2, 0], [[0.5, 0.25, 0.25]] * 4, "one-vs-rest", inner="identity")
        np.testing.assert_allclose(found.apply([[0.5, 0.3, 0.2]]), [[0.5, 0.3, 0.2]])

    def test_rows_that_every_map_sends_to_0_become_uniform(self):
        found = fitted([0, 1, 2, 0], [[0.5, 0.25, 0.25]] * 4, "one-vs-rest", inner="identity")
        zero = {"maps": tuple(_zero() for _ in range(3))}
        with pytest.warns(UserWarning, match="1 of 1 rows has probability 0 in every class"):
            q = found.rule.apply(zero, np.array([[0.5, 0.25, 0.25]]), found.options)
        np.testing.assert_allclose(q, 1 / 3)


def _zero():
    """Return a binary map that sends 1/4 and 1/2 to 0: expit rounds to 0 at -800."""
    return Recalibration("binary", "logistic", {"intercept": -800.0, "slope": 1.0}, 4)


class TestProperties:
    @pytest.mark.parametrize("method", [*SOFTMAX, "one-vs-rest"])
    def test_rows_sum_to_1(self, method):
        y, P = simulated(300, 4)
        found = fitted(y, P, method)
        q = found.apply(P)
        np.testing.assert_allclose(q.sum(axis=1), 1, rtol=1e-14)
        assert q.shape == P.shape

    @pytest.mark.parametrize("method", SOFTMAX)
    @pytest.mark.parametrize("slope", [0.3, 1.0, 2.5])
    def test_the_mean_log_score_of_the_rows_never_rises(self, method, slope):
        y, P = simulated(200, 3, seed=3, slope=slope)
        assert log_score(y, fitted(y, P, method).apply(P)) <= log_score(y, P) + 1e-12

    @given(seed=st.integers(0, 10_000), K=st.integers(2, 6), slope=st.floats(0.2, 3))
    def test_temperature_of_its_own_output_is_1_and_keeps_the_order(self, seed, K, slope):
        y, P = simulated(60, K, seed=seed, slope=slope)
        found = fitted(y, P, "temperature")
        if found.boundary:
            return
        q = found.apply(P)
        assert fitted(y, q, "temperature").parameters["slope"] == pytest.approx(1, rel=1e-8)
        np.testing.assert_array_equal(q.argmax(axis=1), P.argmax(axis=1))
        assert found.gradient <= 1e-10

    def test_two_classes_have_the_temperature_of_one_probability(self):
        y, P = simulated(300, 2, seed=6)
        two = fitted(y, P, "temperature")
        one = fitted(y, P[:, 1], "temperature")
        assert two.parameters["slope"] == pytest.approx(one.parameters["slope"], rel=1e-9)

    @pytest.mark.parametrize("method", SOFTMAX)
    def test_blocks_and_samples_change_nothing(self, method, monkeypatch):
        y, P = simulated(900, 3, seed=7)
        w = np.random.default_rng(8).uniform(0.5, 2, 900)
        whole = fitted(y, P, method, weights=w)
        for module in (class_maps, softmax_maps):
            monkeypatch.setattr(module, "BLOCK", 64)
        monkeypatch.setattr(class_maps, "SAMPLE_ROWS", 100)
        parts = fitted(y, P, method, weights=w)
        for name, value in whole.parameters.items():
            np.testing.assert_allclose(parts.parameters[name], value, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(parts.apply(P), whole.apply(P), rtol=1e-9)

    @pytest.mark.parametrize("method", ["matrix", "dirichlet"])
    def test_many_classes_reach_the_same_optimum_by_gradients(self, method, monkeypatch):
        y, P = simulated(150, 4, seed=9)
        newton = fitted(y, P, method)
        monkeypatch.setattr(softmax_maps, "MAX_NEWTON_CLASSES", 1)
        found = fitted(y, P, method)
        assert found.gradient <= 1e-10
        for name, value in newton.parameters.items():
            np.testing.assert_allclose(found.parameters[name], value, rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize("method", SOFTMAX)
    def test_log_scores_come_from_the_logits(self, method):
        y, P = simulated(200, 3, seed=10)
        found = fitted(y, P, method)
        rows = read_probabilities(y, P)
        scores = found.rule.log_scores(found.parameters, rows, found.options)
        np.testing.assert_allclose(scores, per_row("log_score", y, found.apply(P)), rtol=1e-9)

    def test_log_scores_are_finite_where_probabilities_round_to_0(self):
        rows = read_probabilities([0, 1], [[1 - 1e-15, 1e-15]] * 2)
        rule = fitted([0, 1, 0], [[0.9, 0.1], [0.9, 0.1], [0.6, 0.4]], "temperature").rule
        steep = {"slope": 100.0, "temperature": 0.01}
        scores = rule.log_scores(steep, rows, class_maps.FitOptions())
        np.testing.assert_allclose(scores, [0, 1500 * math.log(10)], rtol=1e-12)
        np.testing.assert_array_equal(rule.apply(steep, rows.P, class_maps.FitOptions())[:, 1], 0)

    def test_matrix_takes_a_class_that_never_occurs(self):
        y, P = simulated(200, 4, seed=11)
        y = np.where(y == 3, 0, y)
        found = fitted(y, P, "matrix")
        assert found.gradient <= 1e-10
        assert found.apply(P)[:, 3].mean() < P[:, 3].mean()

    def test_ridges_of_dirichlet_are_named_by_a_pair(self):
        y, P = simulated(150, 3, seed=12)
        one, pair = fitted(y, P, "dirichlet", ridge=0.2), fitted(y, P, "dirichlet", ridge=(0.2, 0.2))
        np.testing.assert_array_equal(one.parameters["matrix"], pair.parameters["matrix"])
        free = fitted(y, P, "dirichlet", ridge=(0.2, 1e-4))
        assert np.abs(free.parameters["bias"]).max() > np.abs(one.parameters["bias"]).max()
        assert Recalibration.from_json(free.to_json()).options.ridge == (0.2, 1e-4)

    def test_temperature_is_recovered(self):
        y, P = simulated(40_000, 5, seed=5, slope=1 / 1.8)
        assert fitted(y, P, "temperature").parameters["temperature"] == pytest.approx(1.8, abs=0.05)


def three(n=60, seed=20):
    return simulated(n, 3, seed=seed)


class TestSeparated:
    def test_smoothing_inside_is_the_remedy(self):
        P = three()[1]
        remedy = fitted(P.argmax(axis=1), P, "one-vs-rest", inner="logistic", smoothing="platt")
        assert np.isfinite(remedy.apply(P)).all()

    def test_one_class_that_is_separated_from_the_others(self):
        """No map is right on every row, and yet none is the best: the first class can always be made surer."""
        y, P = three(200)
        y = np.where(y == 0, 1, y)
        y[P[:, 0] > 0.8] = 0
        with pytest.raises(InputError, match="separated"):
            fitted(y, P, "vector")
        assert fitted(y, P, "dirichlet").gradient <= 1e-10  # its ridge on the bias keeps the map finite


class TestWords:
    def test_few_rows_for_the_parameters_are_said(self):
        y, P = three(119)
        with pytest.warns(UserWarning, match="119 rows for 12 parameters"):
            recalibrate(y, P, method="matrix")
        recalibrate(*three(120), method="matrix")

    def test_parameter_counts(self):
        counts = {"identity": 0, "temperature": 1, "vector": 7, "matrix": 20, "dirichlet": 20, "one-vs-rest": 8}
        assert {name: rule.count(4) for name, rule in METHODS["classes"].items()} == counts

    def test_nested_maps_have_their_certificates(self):
        found = fitted(*three(), "one-vs-rest", inner="logistic")
        assert [one.gradient <= 1e-10 for one in found.parameters["maps"]] == [True] * 3


class TestPeers:
    Y, P = (np.array(BOOK["data"]["C1"][name]) for name in ("y", "P"))

    def test_temperature_of_scikit_learn(self, require):
        """scikit-learn 1.9.1 stops at a relative step of 1.5e-8."""
        calibration = require("sklearn.calibration")
        for weights in (None, np.random.default_rng(0).uniform(0.5, 2, len(self.Y))):
            peer = calibration._TemperatureScaling().fit(np.log(self.P), self.Y, sample_weight=weights)
            found = fitted(self.Y, self.P, "temperature", weights=weights)
            assert found.parameters["slope"] == pytest.approx(peer.beta_, abs=1e-8)

    def test_temperature_of_probmetrics(self):
        """probmetrics 1.3.0, temp-scaling, on C1: inverse temperature 0.5833877139913252."""
        found = fitted(self.Y, self.P, "temperature")
        assert found.parameters["slope"] == pytest.approx(0.5833877139913252, abs=1e-10)

    def test_structured_matrix_scaling_of_probmetrics(self):
        """probmetrics 1.3.0, sms, on C1, with its mixing of 1/(n + 1) of the uniform vector after temperature."""
        peer = [
            [0.983397, 0.08129925, 0.02257558, 0.0023208, -0.01133111],
            [-0.00897678, 0.9776734, -0.16713299, -0.01460062, 0.11959374],
            [0.12164941, -0.00905767, 1.1497988, -0.0372443, -0.15956065],
            [-0.10651349, -0.06432936, 0.09510089, 1.1477978, 0.05129808],
        ]
        y, P = self.Y, self.P
        n, K = P.shape
        after = fitted(y, P, "temperature").apply(P)
        logs = class_maps.LogRows(np.log((n * after + 1 / K) / (n + 1)), y, read_probabilities(y, P).w)
        penalty = np.where(np.eye(K, K + 1) + np.eye(K + 1)[K], 1, K - 1) * K / n
        mixed = softmax_maps._fit_square(logs, penalty, np.eye(K, K + 1)).point.reshape(K, K + 1)
        np.testing.assert_allclose(mixed, peer, atol=4.5e-4)
        unmixed = fitted(y, P, "matrix").parameters
        assert 0.005 < np.abs(np.column_stack([unmixed["matrix"], unmixed["bias"]]) - peer).max() < 0.02


def test_memory_grows_with_rows_times_classes():
    """No array of a fit has more entries than rows times classes, besides those of a block."""
    import tracemalloc

    y, P = simulated(40_000, 8)
    rows = Classes(y, P, read_probabilities(y, P).w)
    tracemalloc.start()
    class_maps.fit_temperature(rows, class_maps.FitOptions())
    softmax_maps.fit_vector(rows, class_maps.FitOptions())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * P.nbytes
