"""Pairs of partitions add up to all pairs of rows."""

import numpy as np
import pytest

import calibrant
from calibrant import Intervals, Laplace, Normal, Samples, from_columns
from calibrant.errors import NotApplicableError
from calibrant.kernels import Exponential, Gaussian, Matern32

N = 311
CUTS = {"one partition": (), "seven": (1, 50, 100, 150, 151, 300), "empty ones": (0, 0, 150, 311)}


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(4)
    mean, std = rng.normal(size=N), rng.uniform(0.5, 2, N)
    return {
        "label": rng.integers(0, 4, N),
        "animal": np.array(["ant", "bee", "cow", "doe"])[rng.integers(0, 4, N)],
        "P": rng.dirichlet(np.ones(4), N),
        "y": rng.normal(mean, std),
        "mean": mean,
        "std": std,
        "draws": rng.normal(mean[:, None], std[:, None], (N, 6)),
        "w": rng.exponential(size=N),
    }


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kernel", [None, Exponential(0.3), Gaussian(0.5, "euclidean")], ids=str)
@pytest.mark.parametrize("places", CUTS.values(), ids=CUTS)
def test_class_probabilities(places, kernel, unbiased, columns, cut, threads):
    from calibrant.dask import skce

    given = {"kernel": kernel, "unbiased": unbiased}
    found = skce(cut(columns["label"], *places), cut(columns["P"], *places), **given)
    assert found == pytest.approx(calibrant.skce(columns["label"], columns["P"], **given), rel=1e-12, abs=1e-13)
    y, P, w = cut(columns["animal"], *places), cut(columns["P"], 200).rechunk({1: 3}), cut(columns["w"], 100)
    labels = {"classes": ["ant", "bee", "cow", "doe"]}
    found = skce(y, P, weights=w, **labels, **given)
    whole = calibrant.skce(columns["animal"], columns["P"], weights=columns["w"], **labels, **given)
    assert found == pytest.approx(whole, rel=1e-12, abs=1e-13)


OTHERS = {
    "normal": (from_columns(Normal, "mean", "std"), lambda c: Normal(c["mean"], c["std"]), None),
    "laplace": (from_columns(Laplace, "mean", "std"), lambda c: Laplace(c["mean"], c["std"]), Exponential(1.0)),
    "samples": (from_columns(Samples, "draws"), lambda c: Samples(c["draws"]), Exponential(1.0) * Gaussian(1.0)),
    "intervals": (
        from_columns(Intervals, "mean", "upper", level=0.5),
        lambda c: Intervals(c["mean"], c["mean"] + c["std"], level=0.5),
        None,
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_distributions_and_intervals(kind, columns, cut, scheduler):
    from calibrant.dask import skce

    prediction, whole, kernel = OTHERS[kind]
    frame = {name: cut(values, 0, 100, 250) for name, values in columns.items()}
    frame["upper"] = frame["mean"] + frame["std"]
    for unbiased in (True, False):
        given = {"kernel": kernel, "unbiased": unbiased}
        found = skce("y", prediction, frame=frame, weights="w", **given)
        expected = calibrant.skce(columns["y"], whole(columns), weights=columns["w"], **given)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-13)


def test_the_median_of_many_rows_is_that_of_rows_drawn_with_rng(cut, threads):
    from calibrant.dask import skce

    rng = np.random.default_rng(0)
    y, P = rng.integers(0, 3, 4500), rng.dirichlet(np.ones(3), 4500)
    cuts = range(900, 4500, 900)
    found = [skce(cut(y, *cuts), cut(P, *cuts), rng=seed) for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]
    assert found[0] == pytest.approx(calibrant.skce(y, P), rel=0.02)


def test_refusals(columns, cut, threads, refusal):
    from calibrant.dask import skce

    y, p = cut([0, 1, 1], 1), cut([0.2, 0.7, 0.4], 1)
    message = refusal(skce, y, p, error=NotApplicableError)
    assert ": pairs of partitions are for class probabilities and predictive distributions" in message
    assert 'measure("skce", ..., exact=True)' in message
    P = cut(np.eye(3), 1)
    assert "kernel must be a kernel" in refusal(skce, y, P, kernel=0.3)
    assert "at least 2 rows" in refusal(skce, cut([0]), cut(np.eye(3)[:1]), kernel=Exponential(1.0))
    message = refusal(skce, y, P, weights=cut([1.0, 1e-20, 1e-20]), kernel=Exponential(1.0), error=NotApplicableError)
    assert message.startswith("one row carries all the weight")
    assert refusal(skce, cut([0, 1, 7], 2), P).startswith("partition 1: y must contain column numbers 0..2")
    frame = {name: cut(columns[name], 100) for name in ("y", "mean", "std")}
    distribution = from_columns(Normal, "mean", "std")
    message = refusal(
        skce, "y", distribution, frame=frame, kernel=Exponential() * Matern32(1.0), error=NotApplicableError
    )
    assert "Normal with the target kernel Matern32" in message
    assert "nothing is drawn from distributions in partitions" in message
    many = cut(np.zeros(501, int), *range(1, 501)), cut(np.tile([1.0, 0.0, 0.0], (501, 1)), *range(1, 501))
    assert refusal(skce, *many).startswith("501 partitions are 125,751 pairs of partitions")
