"""What a test of a metric holds: numbers worked by hand, relations to other verbs, the properties, refusals.

Inside calibrant the import below becomes ``from calibrant import mean_absolute_residual``, and the test of the
properties goes: the contract tests run them on the whole catalogue. Run it here with ``cd docs/skeletons && python -m
pytest .``
"""

import numpy as np
import pytest
from metric import mean_absolute_residual
from numpy.typing import ArrayLike

import calibrant
from calibrant.testing import check_verb


@pytest.mark.parametrize(
    ("y", "prediction", "expected"),
    [
        ([0, 1], [0.25, 0.5], 0.375),  # (0.25 + 0.5) / 2
        ([0, 1, 1], [0.0, 1.0, 1.0], 0.0),  # certain and right
        ([2, 0], [[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]], 0.375),  # (0.75 + 0) / 2
    ],
)
def test_by_hand(y: list[int], prediction: ArrayLike, expected: float) -> None:
    assert mean_absolute_residual(y, prediction) == expected


def test_weights_are_shares_of_the_mean() -> None:
    assert mean_absolute_residual([0, 1], [0.25, 0.5], weights=[3, 1]) == (3 * 0.25 + 0.5) / 4


def test_two_columns_are_their_second_one() -> None:
    churn = calibrant.examples.churn()
    columns = np.stack([1 - churn.p, churn.p], axis=1)
    expected = mean_absolute_residual(churn.y, churn.p)
    assert mean_absolute_residual(churn.y, columns) == pytest.approx(expected, rel=1e-12)


def test_properties() -> None:
    check_verb(mean_absolute_residual)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(calibrant.errors.InputError, match="mean_absolute_residual has no option bins"):
        mean_absolute_residual([0, 1], [0.25, 0.5], bins=3)  # type: ignore[call-arg]
