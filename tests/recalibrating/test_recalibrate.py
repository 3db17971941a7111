"""The verb: what it takes, what it refuses, and maps from summaries."""

import numpy as np
import pandas as pd
import pytest

import calibrant as cb
from calibrant.errors import InputError
from calibrant.recalibrating.methods import METHODS

Y, P = [0, 1, 0, 1, 0, 1, 1, 0], [0.1, 0.1, 0.3, 0.3, 0.6, 0.6, 0.9, 0.9]


@pytest.mark.parametrize(
    ("method", "option", "words"),
    [
        ("temperature", {"smoothing": "platt"}, "does not use smoothing=; it belongs to logistic"),
        ("beta", {"ridge": 1.0}, "does not use ridge=; no method for .* does"),
        ("logistic", {"inner": "beta"}, "does not use inner="),
        ("temperature", {"groups": [0, 1] * 4}, "does not use groups="),
        ("identity", {"clip": 0.01}, "does not use clip=; it belongs to temperature, "),
        ("logistic", {"clusters": [0, 1] * 4}, "clusters= deals rows to the folds"),
        ("logistic", {"time": range(8)}, "time= deals rows to the folds"),
        ("logistic", {"clip": 0.5}, "clip must be a number above 0 and at most 0.1"),
        ("logistic", {"score": "crps"}, "score must be one of"),
        ("logistic", {"inner": np.array(["beta", "logistic"])}, "inner must be the name of a binary method"),
        ("auto", {"inner": 1.0}, "inner must be the name of a binary method"),
        ("temperature", {"folds": np.nan}, "folds must be a whole number"),
        ("temperature", {"rng": "anything"}, "rng must be a numpy Generator"),
        ("temperature", {"pos_label": pd.NA}, "pos_label must be one label"),
    ],
)
def test_options_that_a_method_does_not_use_are_refused(method, option, words):
    with pytest.raises(InputError, match=words) as refused:
        cb.recalibrate(Y, P, method=method, **option)
    assert refused.value.option in (next(iter(option)), None)


def test_another_kind_and_another_number_of_classes_are_refused():
    found = cb.recalibrate(Y, P, method="isotonic")
    with pytest.raises(InputError, match=r"fitted on .*; got .*class"):
        found.apply([[0.2, 0.8]])
    with pytest.raises(InputError, match=r"fitted on one probability per row .*; got Intervals"):
        found.apply(cb.Intervals([0.0], [1.0], 0.5))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("plat", "by identity, temperature, .*, venn-abers or auto; got 'plat'"),
        ("sigmoid", "method='logistic', smoothing='platt'"),
        ("Platt scaling", "method='logistic', smoothing='platt'"),
        ("beta-calibration", "It is called beta here"),
        ("ts", "It is called temperature here"),
        ("temperature_scaling", "It is called temperature here"),
        ("centered-isotonic", "It is called centred-isotonic here"),
        ("izotonic", "Did you mean 'isotonic'"),
        ("dirichlet", "got 'dirichlet'$"),
        (None, "got None$"),
    ],
)
def test_names_of_other_tools_are_known(name, words):
    with pytest.raises(InputError, match=words):
        cb.recalibrate(Y, P, method=name)


@pytest.mark.parametrize("prediction", [np.array([0.2, 0.4, 0.9]), np.array([[0.2, 0.8], [0.5, 0.5], [0.1, 0.9]])])
def test_predictions_that_stay_as_they_are_come_back_as_another_array(prediction):
    """What a caller does to the result must not change the data, whatever `auto` chose."""
    found = cb.recalibrate([0, 1, 1], prediction, method="identity").apply(prediction)
    np.testing.assert_array_equal(found, prediction)
    assert not np.shares_memory(found, prediction)


def test_warnings_point_to_the_caller():
    with pytest.warns(UserWarning, match="inverted") as said:
        cb.recalibrate([1, 0, 1, 0, 0], [0.2, 0.3, 0.4, 0.6, 0.9], method="logistic")
    assert said[0].filename == __file__


class TestSummaries:
    """Rows whose scores lie in cells of their own lose nothing by being counted."""

    RNG = np.random.default_rng(1)
    P = RNG.choice([0.05, 0.2, 0.35, 0.5, 0.75, 0.9], 500)
    Y = (RNG.random(500) < P**1.3).astype(int)
    GRID = cb.summarize(cb.ece, Y, P)

    @pytest.mark.parametrize("method", [*(method for method in METHODS["binary"] if method != "venn-abers"), "platt"])
    def test_a_grid_gives_the_map_of_its_rows(self, method):
        options = {"method": "logistic", "smoothing": "platt"} if method == "platt" else {"method": method}
        found, expected = cb.recalibrate(self.GRID, **options), cb.recalibrate(self.Y, self.P, **options)
        grid = np.linspace(0.01, 0.99, 50)
        np.testing.assert_allclose(found.apply(grid), expected.apply(grid), rtol=1e-7)
        assert found.n == 500

    def test_what_belongs_to_rows_is_refused(self):
        for rows, options, words in (
            ((self.GRID, self.P), {"method": "beta"}, "a Grid has its rows already counted; leave prediction= out"),
            ((self.GRID,), {}, "method='auto' compares methods out of sample"),
            ((self.GRID,), {"method": "venn-abers"}, "venn-abers counts rows"),
        ):
            with pytest.raises(InputError, match=words):
                cb.recalibrate(*rows, **options)
