"""Draws: all pairs between rows, different draws within one."""

import numpy as np
import pytest

from calibrant.errors import NotApplicableError
from calibrant.inputs.laws import Normal, Samples
from calibrant.kernels import Exponential, Gaussian
from calibrant.kernels.expectations import target_means


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Exponential(0.5)])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_alone_leaves_out_a_draw_with_itself(kernel, shape):
    draws = np.random.default_rng(0).normal(size=(3, 5, *shape))
    means = target_means(Samples(draws), kernel)
    for i in range(3):
        gaps = [np.linalg.norm(np.atleast_1d(draws[i, a] - draws[i, b])) for a in range(5) for b in range(5)]
        values = kernel.of_distance(np.array(gaps)).reshape(5, 5)
        assert means.own[i] == pytest.approx(values.mean(), rel=1e-13)
        assert means.alone(np.array([i]))[0] == pytest.approx((values.sum() - 5) / 20, rel=1e-13)


def test_by_hand():
    means = target_means(Samples([[0.0, 1.0], [1.0, 1.0]]), Exponential(1.0))
    rows, e = np.arange(2), np.exp(-1)
    assert means.double(np.array(0), np.array(1)) == pytest.approx((1 + e) / 2)
    assert means.alone(rows) == pytest.approx([e, 1.0])
    assert means.single(rows, np.array([0.0, 0.0])) == pytest.approx([(1 + e) / 2, e])


def test_one_draw_has_no_pair(refusal):
    means = target_means(Samples([[0.0], [1.0]]), Gaussian(1.0))
    assert means.double(np.array(0), np.array(1)) == pytest.approx(np.exp(-0.5))
    message = refusal(means.alone, np.arange(2), error=NotApplicableError)
    assert "at least 2 draws" in message


def test_unbiased():
    law = Normal(np.zeros(4000), np.ones(4000))
    exact = target_means(law, Gaussian(1.0)).alone(np.array([0]))[0]
    drawn = target_means(Samples(law.sample(3, 7)), Gaussian(1.0)).alone(np.arange(4000))
    assert abs(drawn.mean() - exact) < 4 * drawn.std() / np.sqrt(4000)
