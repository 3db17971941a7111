"""Energy score of draws."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from calibrant import MvNormal, Samples
from calibrant.scores import energy_score as module
from calibrant.scores.crps import crps
from calibrant.scores.energy_score import energy_score


def definition(y, x, beta=1.0, fair=False):
    M = len(x)
    spread = (cdist(x, x) ** beta).sum() / (2 * M * (M - 1) if fair else 2 * M * M)
    return (cdist(x, [y]) ** beta).mean() - spread


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 3)), rng.normal(size=(12, 5, 3))


@pytest.mark.parametrize("fair", [False, True])
@pytest.mark.parametrize("beta", [0.5, 1, 1.0, 1.7])
def test_is_the_mean_of_distances(data, beta, fair):
    y, x = data
    expected = np.mean([definition(*row, beta, fair) for row in zip(y, x, strict=True)])
    assert energy_score(y, Samples(x), beta=beta, fair=fair) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("fair", [False, True])
def test_one_coordinate_is_the_crps(data, fair):
    y, x = data[0][:, 0], data[1][:, :, 0]
    expected = crps(y, Samples(x), fair=fair)
    assert energy_score(y, Samples(x), fair=fair) == pytest.approx(expected, rel=1e-13)
    assert energy_score(y[:, None], Samples(x[..., None]), fair=fair) == pytest.approx(expected, rel=1e-13)


def test_one_draw_is_the_distance():
    assert energy_score([[0.0, 0.0]], Samples([[[3.0, 4.0]]])) == 5.0


def test_coordinates_are_not_rescaled(data):
    y, x = data
    assert energy_score(10 * y, Samples(10 * x)) == pytest.approx(10 * energy_score(y, Samples(x)), rel=1e-13)


def test_sees_dependence_that_marginals_do_not(rng):
    n, cov = 3000, np.array([[1.0, 0.9], [0.9, 1.0]])
    y = rng.multivariate_normal([0, 0], cov, size=n)
    right = Samples(MvNormal(np.zeros((n, 2)), cov).sample(30, rng))
    wrong = Samples(MvNormal(np.zeros((n, 2)), np.eye(2)).sample(30, rng))
    assert energy_score(y, right) < energy_score(y, wrong)


def test_blocks(data, monkeypatch):
    y, x = data
    w = np.arange(1.0, 13.0)
    whole = energy_score(y, Samples(x), weights=w)
    monkeypatch.setattr(module, "MAX_NUMBERS_AT_ONCE", 30)
    assert energy_score(y, Samples(x), weights=w) == pytest.approx(whole, rel=1e-14)


class TestRefusals:
    def test_draws_first(self, refusal):
        message = refusal(energy_score, np.zeros((5, 2)), Samples(np.zeros((9, 5, 2))))
        assert "(n, M, D)" in message
        assert "swapaxes" in message

    def test_fair_of_one_draw(self, refusal):
        assert "at least 2 draws" in refusal(energy_score, [[0.0]], Samples([[[1.0]]]), fair=True)

    @pytest.mark.parametrize("beta", [0, 2, -1, True, "1", None, float("nan")])
    def test_powers(self, refusal, beta):
        message = refusal(energy_score, [[0.0]], Samples([[[1.0]]]), beta=beta)
        assert message == f"beta must lie strictly between 0 and 2; got {beta!r}"

    def test_distributions(self, refusal):
        message = refusal(energy_score, [[0.0, 0.0]], MvNormal([[0.0, 0.0]], np.eye(2)))
        assert "Samples(distribution.sample(1000, rng))" in message
