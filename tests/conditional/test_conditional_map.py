"""`conditional_map`: cells, limits, their units, and what is drawn."""

import numpy as np
import pytest

from calibrant import Samples, conditional_map, ranks
from calibrant.core import pictures as plots
from calibrant.errors import NotApplicableError
from calibrant.ranking.counting import legendre, shrinkage
from calibrant.ranking.effects import SHIFT

N, M = 800, 99
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
P = RNG.uniform(0.2, 0.8, N)
EVENTS = (RNG.random(N) < P + 0.18 * np.sign(X[:, 1])).astype(int)
TABLE = {"age": X[:, 0], "bmi": X[:, 1], "city": RNG.choice(["Rome", "Oslo"], N)}
MAP = conditional_map(EVENTS, P, covariates=TABLE, resamples=199)


def test_clearest_first():
    assert MAP.covariates[0] == MAP.covariate[0] == "bmi"
    assert set(MAP.covariates) == {"age", "bmi", "city", "prediction"}
    assert MAP.regions[0].names == ("bmi",)


def test_values_are_means_of_cells_within_their_limits():
    for i in np.flatnonzero(MAP.covariate == "age"):
        inside = (TABLE["age"] >= MAP.left[i]) & (TABLE["age"] <= MAP.right[i])
        assert inside.sum() == MAP.rows[i] == 50
        assert MAP.observed[i] == pytest.approx(EVENTS[inside].mean())
        assert MAP.predicted[i] == pytest.approx(P[inside].mean())
    assert (MAP.low < MAP.difference).all()
    assert (MAP.difference < MAP.high).all()
    length = MAP.high - MAP.low
    assert length[MAP.covariate == "city"].max() < length[MAP.covariate == "age"].min()
    off = (MAP.low > 0) | (MAP.high < 0)
    assert set(MAP.covariate[off]) == {"bmi"}
    assert MAP.cell[MAP.covariate == "city"].tolist() == ["Oslo", "Rome"]
    assert np.isnan(MAP.left[MAP.covariate == "city"]).all()


def test_draws_are_in_predictive_standard_deviations():
    y, draws = RNG.normal(size=N) + 0.6 * np.sign(X[:, 1]), Samples(RNG.normal(size=(N, M)))
    found = conditional_map(y, draws, covariates=X, resamples=99)
    phi = legendre(M)[0, ranks(y, draws)]
    assert set(found.column) == {"shift", "spread"}
    for i in np.flatnonzero((found.covariate == "x0") & (found.column == "shift")):
        inside = (X[:, 0] >= found.left[i]) & (X[:, 0] <= found.right[i])
        assert found.difference[i] == pytest.approx(SHIFT / shrinkage(M)[0] * phi[inside].mean())
    two = conditional_map(np.column_stack([y, y]), Samples(RNG.normal(size=(N, 9, 2))), covariates=X, resamples=99)
    assert set(two.column) == {f"{what} of {c}" for what in ("shift", "spread") for c in (0, 1)}


class TestPicture:
    def test_small_multiples_in_words(self, plt):
        ax = MAP.plot()
        assert [panel.get_title() for panel in ax.child_axes] == list(MAP.covariates)
        assert len({panel.get_ylim() for panel in ax.child_axes}) == 1
        assert ax.get_ylabel() == "events: observed less predicted, percentage points"
        assert [patch for patch in ax.child_axes[0].patches if patch.get_width() > 0]
        assert "First region: for bmi " in plots.describe(MAP.kind, MAP.columns, MAP.details)
        marks = plots.marks(MAP.kind, MAP.columns, MAP.details)
        assert all(mark.text.startswith(f"{MAP.covariates[mark.panel]} ") for mark in marks)
        first = [mark.y for mark in marks if mark.panel == 0]
        np.testing.assert_allclose(first, 100 * MAP.difference[MAP.covariate == "bmi"])


def test_refused():
    with pytest.raises(NotApplicableError, match="no cell of a covariate has enough rows"):
        conditional_map(EVENTS[:30], P[:30], covariates=X[:30])
