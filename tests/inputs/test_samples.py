"""Draws that stand for a distribution."""

import numpy as np
import pytest

from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.samples import Samples
from calibrant.integrations.draws import from_arviz

DRAWS = np.array([[4.0, 1.0, 3.0, 2.0], [5.0, 0.0, 0.0, 5.0]])


class TestMade:
    def test_real_and_vectors(self):
        assert (Samples(DRAWS).n, Samples(DRAWS).M, Samples(DRAWS).shape) == (2, 4, ())
        distribution = Samples(np.zeros((2, 3, 5)))
        assert (distribution.n, distribution.M, distribution.shape) == (2, 3, (5,))

    def test_is_no_copy_and_nobody_writes_through_it(self):
        given = DRAWS.copy()
        distribution = Samples(given)
        assert np.shares_memory(distribution.draws, given)
        for array in (distribution.draws, distribution.held):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        given[0] = 7  # whose own array stays writeable

    def test_half_precision_is_held_as_it_came_and_computed_with_as_double(self):
        distribution = Samples(DRAWS.astype(np.float16))
        assert (distribution.held.dtype, distribution.draws.dtype) == (np.float16, np.float64)
        assert np.array_equal(distribution.draws, DRAWS)

    def test_infinite_draws_have_an_order_and_nothing_else(self):
        distribution = Samples([[1.0, np.inf, 3.0], [-np.inf, 0.0, 0.0]])
        assert distribution.cdf(1.0).tolist() == [1 / 3, 1.0]
        assert distribution.ppf(0.9).tolist() == [np.inf, 0.0]
        with pytest.raises(InputError, match=r"must be finite for.*row 0, draw 1 is inf"):
            _ = distribution.draws
        assert distribution.take([1]).finite is False
        assert Samples([[1.0], [np.inf]]).take([0]).draws.tolist() == [[1.0]]

    def test_a_frame_of_draws(self, require):
        for library in ("pandas", "polars"):
            frame = require(library).DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
            assert np.array_equal(Samples(frame).draws, [[1, 3], [2, 4]])

    def test_log_densities_travel_with_their_rows(self):
        distribution = Samples(DRAWS, log_density=[[0, -1, -2, -np.inf], [-3, -4, -5, -6]])
        assert distribution.log_densities.tolist()[0] == [0, -1, -2, -np.inf]
        assert distribution.take([1]).log_densities.tolist() == [[-3, -4, -5, -6]]
        assert Samples(DRAWS).take([1]).log_densities is None


class TestAsked:
    def test_cdf_counts_draws(self):
        distribution = Samples(DRAWS)
        x = np.array([[0.5, 1.0, 2.5, 9.0]])
        assert distribution.cdf(x).tolist() == [[0, 0.25, 0.5, 1], [0.5, 0.5, 0.5, 1]]
        assert distribution.sf(x).tolist() == [[1, 0.75, 0.5, 0], [0.5, 0.5, 0.5, 0]]
        assert distribution.cdf([3.0, -1.0]).tolist() == [0.75, 0.0]
        assert distribution.sf(0.0).tolist() == [1.0, 0.5]

    def test_quantiles_are_draws(self):
        distribution = Samples(DRAWS)
        q = np.array([[0.0, 0.1, 0.25, 0.26, 0.5, 0.75, 0.76, 1.0]])
        assert distribution.ppf(q).tolist() == [[1, 1, 1, 2, 2, 3, 4, 4], [0, 0, 0, 0, 0, 5, 5, 5]]
        assert distribution.isf(1 - q).tolist() == [[1, 1, 1, 2, 2, 3, 4, 4], [0, 0, 0, 0, 0, 5, 5, 5]]
        assert distribution.ppf(0.5).tolist() == [2.0, 0.0]

    @pytest.mark.parametrize("M", [1, 2, 7, 49, 100, 1000])
    def test_quantiles_invert_the_shares_exactly(self, M):
        draws = np.arange(1.0, M + 1)[None]
        distribution = Samples(draws)
        assert np.array_equal(distribution.ppf(distribution.cdf(draws)), draws)
        assert np.array_equal(distribution.isf(distribution.sf(draws)), draws)
        between = (np.arange(M) + 0.5)[None] / M
        assert np.array_equal(distribution.ppf(between), draws)

    def test_has_no_density(self, refusal):
        message = refusal(Samples(DRAWS).log_density, 0.0, error=NotApplicableError)
        assert "draws do not determine a density" in message
        assert "log_densities" in message

    def test_sample_takes_draws_of_its_row(self):
        m = 20_000
        drawn = Samples(DRAWS).sample(m, 0)
        for i in range(2):
            assert set(drawn[i]) == set(DRAWS[i])
        assert abs((drawn[0] == 4.0).mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / m)

    def test_sample_takes_whole_vectors(self):
        draws = np.stack([np.arange(6.0), -np.arange(6.0)], axis=1)[None]
        drawn = Samples(draws).sample(50, 0)
        assert drawn.shape == (1, 50, 2)
        assert np.array_equal(drawn[..., 0], -drawn[..., 1])
        assert len(set(drawn[0, :, 0])) == 6


REFUSED = {
    "1-D": (([1, 2, 3],), ["(n, M)", "(n, M, D)", "got shape (3,)", "draws[:, None]", "draws[None, :]"]),
    "4-D": ((np.zeros((1, 2, 3, 4)),), ["got shape (1, 2, 3, 4)", "Reshape"]),
    "no rows": ((np.zeros((0, 3)),), ["draws is empty", "(0, 3)"]),
    "no draws": ((np.zeros((3, 0)),), ["draws is empty", "(3, 0)"]),
    "missing": (([[1, 2], [3, np.nan]],), ["draws must not be missing", "row 1, draw 1 is nan"]),
    "missing in a vector": (
        (np.where(np.arange(8).reshape(2, 2, 2) == 5, np.nan, 0.0),),
        ["draws must not be missing", "row 1, draw 0, coordinate 1 is nan"],
    ),
    "text": (([["a"], ["b"]],), ["draws must be real numbers", "row 0 is 'a'"]),
    "text further down": (([[1, 2], [3, "b"]],), ["draws must be real numbers", "row 1 is 'b'"]),
    "bool": (([[True], [False]],), ["draws must be real numbers", "bool"]),
    "complex": (([[1j]],), ["draws must be real numbers", "complex"]),
    "density of rows": ((DRAWS, [1.0, 2.0]), ["one value per draw", "(n, M) = (2, 4)", "got shape (2,)"]),
    "density of coordinates": ((np.zeros((2, 4, 3)), np.zeros((2, 4, 3))), ["(2, 4)", "joint density"]),
    "density missing": ((DRAWS, np.where(DRAWS == 3, np.nan, 0)), ["log_density must be", "row 0, draw 2 is nan"]),
    "density infinite": ((DRAWS, np.where(DRAWS == 3, np.inf, 0)), ["below infinity", "row 0, draw 2 is inf"]),
}


def test_refused(refuses):
    refuses(lambda given: Samples(*given), REFUSED)


@pytest.mark.parametrize("dims", [("chain", "draw", "obs"), ("obs", "chain", "draw"), ("sample", "obs")])
def test_axes_named_as_arviz_does_are_not_taken_for_rows(dims, refusal):
    """A posterior predictive (chain, draw, obs) of 4 chains was read as 4 rows of vectors."""
    xarray = pytest.importorskip("xarray")
    drawn = xarray.DataArray(np.zeros((4, 5, 6)[: len(dims)]), dims=dims)
    with pytest.raises(InputError, match=r"outcomes along the first dimension.*from_arviz"):
        Samples(drawn)
    assert "from_arviz" in refusal(Samples, drawn.to_dataset(name="y"))


def test_axes_of_members_and_without_a_name(refusal):
    xarray = pytest.importorskip("xarray")
    drawn = xarray.DataArray(np.arange(6.0).reshape(2, 3), dims=("member", "day"))
    message = refusal(Samples, drawn)
    assert message.endswith("(member, day). Turn it: Samples(draws.transpose('day', 'member'))")
    assert Samples(drawn.transpose("day", "member")).draws.tolist() == drawn.values.T.tolist()
    message = refusal(Samples, drawn.rename(member="draw"))
    assert "found = calibrant.integrations.draws.from_arviz(draws, y, case='day')" in message
    found = from_arviz(drawn.rename(member="draw"), [1.0, 2.0, 3.0], case="day")
    assert found.prediction.draws.tolist() == drawn.values.T.tolist()


def test_axes_named_in_the_right_order_are_taken(refusal):
    xarray = pytest.importorskip("xarray")
    drawn = xarray.DataArray(np.arange(24.0).reshape(2, 3, 4), dims=("obs", "chain", "draw"))
    assert Samples.from_chains(drawn).held.tolist() == drawn.values.reshape(2, 12).tolist()
    assert Samples(drawn[:, 0]).M == 4
    assert "from_arviz" in refusal(Samples.from_chains, drawn.transpose("chain", "draw", "obs"))
