"""`conditional_map`: cells, limits, their units, and what is drawn."""

import numpy as np
import pytest

from calibrant import Normal, Samples, conditional_map, ranks
from calibrant.core import pictures as plots
from calibrant.errors import InputError, NotApplicableError
from calibrant.ranking.counting import legendre, shrinkage
from calibrant.ranking.effects import SHIFT

N, M = 800, 99
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
CITY = RNG.choice(["Rome", "Oslo"], N)
Y = RNG.normal(size=N) - np.where(X[:, 1] > 0, 0.6, -0.6)
DRAWS = Samples(RNG.normal(size=(N, M)))
TABLE = {"age": X[:, 0], "bmi": X[:, 1], "city": CITY}
MAP = conditional_map(Y, DRAWS, covariates=TABLE, resamples=199)


def test_clearest_first():
    assert MAP.covariates[0] == "bmi"
    assert MAP.covariate[0] == "bmi"
    assert MAP.pvalues[0] == 1 / 200
    assert list(MAP.pvalues) == sorted(MAP.pvalues)


def test_of_covariates_that_are_equally_clear_the_one_of_the_region_comes_first(plt):
    """Draws that are too narrow everywhere, and too high where the last covariate is positive."""
    draws = Samples(0.5 * DRAWS.held + 0.8 * (X[:, [1]] > 0))
    found = conditional_map(RNG.normal(size=N), draws, covariates={"a": X[:, 0], "$x_2$": X[:, 1]}, resamples=99)
    assert found.pvalues.tolist() == [0.01, 0.01]
    assert found.covariates == ("$x_2$", "a")
    assert found.plot(mathtext=True).child_axes[0].get_title() == "$x_2$\nshift, p at most 0.01"


def test_the_picture_is_of_the_coordinate_of_the_first_region(plt):
    y = np.column_stack([RNG.normal(size=N) - 0.6 * (X[:, 1] > 0), Y])
    found = conditional_map(y, Samples(RNG.normal(size=(N, 49, 2))), covariates=X, resamples=99)
    assert found.pvalue_each.tolist() == [0.01, 0.01]
    assert found.regions[0].column == "1"
    assert found.plot().get_ylabel().startswith("shift of column 1, sd")


def test_values_are_means_of_cells_within_their_limits():
    phi = legendre(M)[0, ranks(Y, DRAWS)]
    for name, left, right, rows, shift in zip(MAP.covariate, MAP.left, MAP.right, MAP.rows, MAP.shift, strict=True):
        if name == "city":
            continue
        inside = (TABLE[name] >= left) & (TABLE[name] <= right)
        assert inside.sum() == rows == 50
        assert shift == pytest.approx(-SHIFT / shrinkage(M)[0] * phi[inside].mean())
    assert (MAP.shift_low < MAP.shift).all()
    assert (MAP.shift < MAP.shift_high).all()
    assert (MAP.spread_low < MAP.spread).all()
    length = MAP.shift_high - MAP.shift_low
    assert length[MAP.covariate == "city"].max() < length[MAP.covariate == "age"].min()
    off = MAP.shift_low > 0
    assert set(MAP.covariate[off]) == {"bmi"}
    assert off[MAP.covariate == "bmi"].sum() >= 3


def test_categories_and_coordinates():
    assert MAP.cell[MAP.covariate == "city"].tolist() == ["Oslo", "Rome"]
    assert np.isnan(MAP.left[MAP.covariate == "city"]).all()
    y = np.column_stack([Y, RNG.normal(size=N)])
    found = conditional_map(y, Samples(RNG.normal(size=(N, 19, 2))), covariates=X, resamples=99)
    assert found.shift.shape == (len(found.rows), 2)
    assert len(found.pvalue_each) == 2


class TestPicture:
    def test_small_multiples_in_words(self, plt):
        ax = MAP.plot()
        titles = [small.get_title().split(", p")[0].split("\n") for small in ax.child_axes]
        assert [name for name, quantity in titles if quantity == "shift"] == list(MAP.covariates)
        for name in MAP.covariates:  # the spread is drawn where its limits leave out 1
            rows = MAP.covariate == name
            off = ((MAP.spread_low > 1) | (MAP.spread_high < 1))[rows].any()
            assert ([name, "spread"] in titles) == off
        for quantity in ("shift", "spread"):
            same = [small for small, (_, shown) in zip(ax.child_axes, titles, strict=True) if shown == quantity]
            assert len({small.get_ylim() for small in same}) == 1
        assert "for all cells of this map together" in ax.get_xlabel()
        shaded = [patch for patch in ax.child_axes[0].patches if patch.get_width() > 0]
        assert shaded
        assert "First region: for bmi " in plots.describe(MAP.kind, MAP.columns, MAP.details)
        marks = plots.marks(MAP.kind, MAP.columns, MAP.details)
        titles = [small.get_title().split("\n")[0] for small in MAP.plot().child_axes]
        assert all(mark.text.startswith(f"{titles[mark.panel]} ") for mark in marks)
        assert {mark.panel for mark in marks} == set(range(len(titles)))
        first = [mark for mark in marks if mark.panel == 0]
        np.testing.assert_array_equal([mark.y for mark in first], MAP.shift[MAP.covariate == titles[0]])

    def test_a_pair_is_a_table(self, plt):
        rng = np.random.default_rng(1)
        y = rng.normal(size=N) - 0.6 * np.sign(X[:, 0] * X[:, 1])
        found = conditional_map(y, Normal(np.zeros(N), 1.0), covariates=X, resamples=99)
        assert found.pair == ("x0", "x1")
        assert found.pair_shift.shape == (8, 8)
        assert found.pair_rows.sum() == N
        table = found.plot().child_axes[-1]
        assert (table.get_xlabel(), table.get_ylabel()) == found.pair
        assert len(table.patches) == 64


def test_refused():
    with pytest.raises(InputError, match="unequal weights"):
        conditional_map(Y, DRAWS, covariates=X, weights=np.arange(1, N + 1))
    with pytest.raises(NotApplicableError, match="has 20 rows"):
        conditional_map(Y[:30], DRAWS.take(slice(30)), covariates=X[:30])
