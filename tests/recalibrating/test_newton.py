"""Newton's method: the optimum of hand-worked objectives, and refusals where there is none."""

import numpy as np
import pytest

from calibrant.recalibrating.newton import MAX_GRADIENT, Local, NoOptimumError, minimise


def quartic(x):
    """Return (x₀ - 1)⁴ + (x₀ - 1)² + 2 (x₁ + 3)², whose minimum is 0 at (1, -3)."""
    u, v = x[0] - 1, x[1] + 3
    return Local(u**4 + u**2 + 2 * v**2, np.array([4 * u**3 + 2 * u, 4 * v]), np.diag([12 * u**2 + 2, 4.0]))


def test_optimum():
    found = minimise(quartic, np.array([30.0, 40.0]))
    np.testing.assert_allclose(found.point, [1, -3], rtol=1e-9)
    assert found.value == pytest.approx(0, abs=1e-18)
    assert found.gradient <= MAX_GRADIENT


def test_a_start_at_the_optimum_costs_one_evaluation():
    assert minimise(quartic, np.array([1.0, -3.0])).evaluations == 1


def test_steps_that_are_too_long_are_halved():
    """Newton's method on √(1 + x²) diverges from |x| > 1 without damping: the next point is -x³."""

    def objective(x):
        root = np.sqrt(1 + x[0] ** 2)
        return Local(root, x / root, np.array([[root**-3]]))

    assert minimise(objective, np.array([4.0])).point[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("factor", [1.0, 1e-12])
def test_a_gradient_that_vanishes_at_infinity_is_not_an_optimum(factor):
    """Every step on exp(-x) is 1: the gradient passes 1e-10, and the steps do not shrink."""
    objective = lambda x: Local(factor * np.exp(-x[0]), -factor * np.exp(-x), factor * np.exp(-x)[None])  # noqa: E731
    with pytest.raises(NoOptimumError, match="did not converge: after 40 steps"):
        minimise(objective, np.zeros(1), steps=40)


def test_a_gradient_that_is_wrong_is_refused():
    with pytest.raises(NoOptimumError, match="no step lowers"):
        minimise(lambda x: Local(float(x @ x), -2 * x, 2 * np.eye(1)), np.ones(1))


def test_a_singular_hessian():
    """(x₀ + x₁ - 2)² has a line of minima; one of them is returned."""

    def objective(x):
        gap = x.sum() - 2
        return Local(gap**2, np.full(2, 2 * gap), np.full((2, 2), 2.0))

    assert minimise(objective, np.array([5.0, 1.0])).point.sum() == pytest.approx(2, abs=1e-9)
