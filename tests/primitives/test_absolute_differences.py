"""Expected absolute differences in closed form, against numerical integration."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from calibrant import Laplace, Normal, NotApplicableError, Samples
from calibrant.primitives.absolute_differences import between, from_point, normal_mean

LAWS = {
    "normal": lambda m, s: Normal([m], s),
    "laplace": lambda m, s: Laplace([m], s),
}


def integral(f, *points):
    """Integrate over the line, cut where f has a kink."""
    cuts = [-60.0, *sorted(points), 60.0]
    return sum(quad(f, a, b, epsabs=1e-13, epsrel=1e-12, limit=400)[0] for a, b in pairwise(cuts))


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("y", [-3.0, 0.5, 0.7, 4.0])
def test_from_a_point(name, y):
    law = LAWS[name](0.5, 1.3)
    expected = quad(lambda x: law.cdf(x)[0], -60, y, limit=400, points=[0.5] if y > 0.5 else None)[0]
    expected += quad(lambda x: law.sf(x)[0], y, 60, limit=400, points=[0.5] if y < 0.5 else None)[0]
    assert from_point(law, np.array([y]))[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("second", LAWS)
@pytest.mark.parametrize("first", LAWS)
@pytest.mark.parametrize(("m", "s", "t"), [(0.0, 1.0, 2.0), (1.5, 0.4, 1.1), (-3.0, 2.0, 0.3), (0.7, 1.0, 1.0)])
def test_between_two_laws(first, second, m, s, t):
    one, other = LAWS[first](m, s), LAWS[second](0.0, t)
    # E|X - X'| = ∫ F(1 - G) + G(1 - F)
    expected = integral(lambda x: (one.cdf(x) * other.sf(x) + other.cdf(x) * one.sf(x))[0], min(m, 0.0), max(m, 0.0))
    assert between(one, other)[0] == pytest.approx(expected, rel=1e-9)
    assert between(other, one)[0] == pytest.approx(between(one, other)[0], rel=1e-13)


def test_equal_laplace_scales():
    m = np.linspace(0, 5, 11)
    np.testing.assert_allclose(between(Laplace(m, 1.0), Laplace(0 * m, 1.0)), m + np.exp(-m) * (3 + m) / 2, rtol=1e-15)


@pytest.mark.parametrize("ratio", [1 + 1.9e-5, 1 + 2.1e-5, 1 + 1e-3])
def test_nearly_equal_laplace_scales(ratio):
    m, b, c = np.linspace(0, 5, 11), np.longdouble(1.0), np.longdouble(ratio)
    exact = m + (b**3 * np.exp(-m / b) - c**3 * np.exp(-m / c)) / (b * b - c * c)
    np.testing.assert_allclose(between(Laplace(m, 1.0), Laplace(0 * m, ratio)), exact.astype(float), rtol=1e-10)


def test_scales_far_apart():
    # A law that is nearly a point: the distance of the other from that point.
    point = np.array([0.7])
    for tiny in (1e-30, 1e-200):
        near = (Normal([0.7], tiny), Laplace([0.7], tiny))
        for law in (Normal([0.0], 1.0), Laplace([0.0], 1.0)):
            for other in near:
                assert between(law, other)[0] == pytest.approx(from_point(law, point)[0], rel=1e-14)


@pytest.mark.parametrize("scale", [1e-150, 1e150, 1e300])
def test_no_number_leaves_the_range(scale):
    for first in (Normal, Laplace):
        for second in (Normal, Laplace):
            unit = between(first([1.0], 0.5), second([0.0], 2.0))[0]
            assert between(first([scale], 0.5 * scale), second([0.0], 2 * scale))[0] == pytest.approx(unit * scale)


def test_far_from_zero():
    assert normal_mean(np.array([1e300, -1e300]), np.array([1e-300, 1.0])).tolist() == [1e300, 1e300]


def test_other_laws_are_refused():
    with pytest.raises(NotApplicableError, match="Samples"):
        from_point(Samples([[1.0]]), np.zeros(1))
    with pytest.raises(NotApplicableError, match="Samples"):
        between(Normal([0.0], 1.0), Samples([[1.0]]))
