"""Every reference value of the kernel field, to 1e-12 or the tolerance stated beside it."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import fdtrc, ndtr, ndtri, stdtr
from tests.references.books import book

import calibrant as cb
from calibrant.inputs.probabilities import read_probabilities
from calibrant.kernel_errors.blocks import outcome_variance
from calibrant.kernel_errors.fitted import Randomness, form_of, wasserstein
from calibrant.kernel_errors.mean_embedding import Locations, location_scores, statistic
from calibrant.kernel_errors.skce_null import biased_pvalue, bootstrapped, largest_h, replicates_of, unbiased_pvalue
from calibrant.kernel_errors.sums import kernel_sum
from calibrant.kernels.composed import distance_of_points
from calibrant.kernels.median import median_lengthscale

BOOK = book("kernel")
SHAPES = {
    "exponential": cb.kernels.Exponential,
    "gaussian": cb.kernels.Gaussian,
    "matern32": cb.kernels.Matern32,
    "matern52": cb.kernels.Matern52,
}

ELSEWHERE = {
    "laplace-expectation": "kernels/test_expected_line.py",
    "laplace-double-expectation": "kernels/test_expected_line.py",
    "normal-exponential": "kernels/test_expected_line.py",
    "laplace-gaussian": "kernels/test_expected_line.py",
    "target-part-mixture": "kernels/test_expectations.py",
    "target-part-mvnormal": "kernels/test_expectations.py",
    "ece-canonical": "probabilities/test_canonical.py",
    "binned-binary": "probabilities/test_canonical.py",
    "binned-multiclass": "probabilities/test_canonical.py",
    "median-variance-bins": "probabilities/test_canonical.py",
    "uniform-cells": "probabilities/test_canonical.py",
    "bin-index": "probabilities/test_canonical.py",
}
"""Kinds of vectors whose tests stand beside the function that answers them; those of "ace" are below."""

CLAIMED = set()


def vectors(*kinds, where=lambda vector: True):
    """Return a mark that gives a test every vector of these kinds."""
    found = [vector for vector in BOOK["vectors"] if vector["kind"] in kinds and where(vector)]
    assert found
    CLAIMED.update(vector["id"] for vector in found)
    return pytest.mark.parametrize("vector", found, ids=lambda vector: vector["id"])


def prediction_of(given):
    if not isinstance(given, dict):
        return np.array(given)
    return getattr(cb, given["law"])(**{name: value for name, value in given.items() if name != "law"})


def rows_of(vector):
    given = vector["inputs"]
    if "data" not in given:
        return np.array(given["y"]), prediction_of(given["prediction"])
    data = BOOK["data"][given["data"]]
    if "mean" in data:
        return np.array(data["y"]), cb.Normal(data["mean"], data["std"])
    return np.array(data["y"]), np.array(data["prediction"])


def kernel_of(vector):
    given = vector["call"]["kernel"]
    prediction = SHAPES[given["prediction"]](given["lengthscale"], given["distance"])
    if given["target"] == "delta":
        return prediction * cb.kernels.Delta()
    if given["target"] == "gaussian on the label number":
        return prediction * cb.kernels.Gaussian(given["target_lengthscale"], "labels")
    return prediction * SHAPES[given["target"]](given["target_lengthscale"])


def close(vector, expected=None):
    """Return what a value is compared with."""
    expected = vector["expected"] if expected is None else expected
    relative = vector.get("relative_tolerance", 1e-12)
    return pytest.approx(expected, rel=relative, abs=vector.get("tolerance", relative))


def rows_and_form(vector):
    y, p = rows_of(vector)
    rows = read_probabilities(y, p)
    return rows, form_of(rows, kernel_of(vector), Randomness(None, np.random.default_rng(0)))


@vectors(
    *("skce-binary", "skce-categorical", "skce-blocks", "skce-normal", "skce-laplace", "skce-mvnormal"),
    *("skce-samples", "skce-target-kernel", "weights"),
)
def test_skce(vector):
    y, prediction = rows_of(vector)
    call = vector["call"]
    found = cb.skce(
        y,
        prediction,
        kernel=kernel_of(vector),
        unbiased=call["unbiased"],
        blocksize=call["blocksize"],
        weights=vector["inputs"].get("weights"),
    )
    assert found == close(vector)


@vectors("mmce", "mmce-balanced")
def test_mmce(vector):
    y, prediction = rows_of(vector)
    call = vector["call"]
    assert cb.mmce(y, prediction, bandwidth=call["bandwidth"], balanced=call.get("balanced", False)) == close(vector)


@vectors("ucme", "ucme-normal")
def test_ucme(vector):
    y, prediction = rows_of(vector)
    places = vector["inputs"]["locations"]
    locations = (prediction_of(places["prediction"]), places["y"])
    assert cb.kernel_errors.ucme(y, prediction, locations=locations, kernel=kernel_of(vector)) == close(vector)


@vectors("ucme-mixture")
def test_ucme_of_a_mixture(vector):
    given = vector["inputs"]
    distribution = cb.Mixture(
        [cb.Normal([m], [s]) for m, s in zip(given["mean"], given["std"], strict=True)], given["weights"]
    )
    kernel = cb.kernels.Exponential(1.0) * cb.kernels.Gaussian(vector["call"]["kernel"]["target_lengthscale"])
    # The location has the prediction of the row, so that the kernel of both is 1 and the value a square.
    found = cb.kernel_errors.ucme([given["y"]], distribution, locations=(distribution, [given["t"]]), kernel=kernel)
    assert math.sqrt(found) == close(vector)


@vectors("block-test")
def test_blocks(vector):
    y, prediction = rows_of(vector)
    m, expected = vector["call"]["blocksize"], vector["expected"]
    blocks = cb.summarize("skce", y, prediction, kernel=kernel_of(vector), blocksize=m)
    unit = m * (m - 1)
    mean, se = blocks.mean / unit, blocks.standard_error / unit
    assert blocks.blocks == expected["nblocks"]
    assert blocks.estimate == close(vector, expected["estimate"])
    assert mean == close(vector, expected["estimate"])
    assert se == close(vector, expected["stderr"])
    assert mean / se == pytest.approx(expected["z"], rel=1e-12)
    assert ndtr(-mean / se) == close(vector, expected["pvalue"])
    assert max(0, mean - ndtri(0.95) * se) == close(vector, expected["lower_bound_95"])
    # The reference adds up all rows; the summary those of full blocks.
    variance = blocks.variance + sum(outcome_variance(part.rows).sum() for part in blocks.left)
    assert variance == close(vector, vector["expected_variance"])


@vectors("block-test", where=lambda vector: vector["id"] == "block-test-01")
def test_the_block_test_itself_answers_when_there_are_enough_blocks(vector):
    y, prediction = rows_of(vector)
    times = 5  # 30 blocks, V = 9.1: the same mean, a spread with 29 instead of 5 degrees of freedom
    result = cb.skce_test(np.tile(y, times), np.tile(prediction, times), method="block", kernel=kernel_of(vector))
    expected = vector["expected"]
    se = expected["stderr"] * math.sqrt(6 * 5 / (30 * 29) * times)
    assert result.estimate == close(vector, expected["estimate"])
    assert result.details["standard_error"] == close(vector, se)
    assert result.statistic == close(vector, expected["estimate"] / se)
    assert result.pvalue == close(vector, float(stdtr(29, -expected["estimate"] / se)))  # Student's t, not the limit


@vectors("distribution-free", where=lambda vector: "test" in vector["call"])
def test_bound(vector):
    y, prediction = rows_of(vector)
    call = vector["call"]
    options = {"kernel": kernel_of(vector), "unbiased": call["unbiased"], "blocksize": call.get("blocksize")}
    given = cb.skce_test(y, prediction, method="bound", bound=call["bound"], **options)
    assert given.pvalue == close(vector)
    assert cb.skce_test(y, prediction, method="bound", **options).pvalue == given.pvalue  # 2 is the default too


@vectors("distribution-free", where=lambda vector: "quantity" in vector["call"])
def test_bound_of_an_estimate(vector):
    call, t, n = vector["call"], vector["inputs"]["estimate"], vector["inputs"]["n"]
    if "unbiased" in call["quantity"]:
        found = unbiased_pvalue(t, n=n, m=call["blocksize"] or n, bound=call["bound"])
    else:
        found = biased_pvalue(t, n=n, bound=call["bound"])
    assert found == close(vector)


@vectors("kernel-bound")
def test_largest_h(vector):
    class OnPredictions(cb.kernels.Exponential):
        supremum = vector["inputs"]["sup_prediction_kernel"]

    class OnTargets(cb.kernels.Gaussian):
        supremum = vector["inputs"]["sup_target_kernel"]

    assert largest_h(OnPredictions(1.0) * OnTargets(1.0)) == close(vector)


@vectors("bootstrap-statistic")
def test_bootstrap_statistic(vector):
    y, prediction = rows_of(vector)
    kernel, n = kernel_of(vector), len(y)
    T, _ = bootstrapped(cb.summarize("skce", y, prediction), kernel, 1, Randomness(None, np.random.default_rng(0)))
    assert close(vector, vector["expected"][0]) == T
    biased = cb.skce(y, prediction, kernel=kernel, unbiased=False)
    assert T / (n - 1) - biased == close(vector, vector["expected"][1])


@vectors("bootstrap-replicates")
def test_bootstrap_replicates(vector):
    rows, form = rows_and_form(vector)
    i = np.arange(rows.n)
    H = form.h(i[:, None], i[None, :])
    np.fill_diagonal(H, form.diagonal())
    C = np.array(vector["inputs"]["counts"])
    found = replicates_of(C, ((C @ H) * C).sum(axis=1), H.sum(axis=1), form.diagonal())
    assert found.tolist() == close(vector)


@vectors("exact-resampling")
def test_resampling(vector):
    y, prediction = rows_of(vector)
    B, exact = 9999, vector["expected"]
    result = cb.skce_test(y, prediction, kernel=kernel_of(vector), resamples=B)
    assert result.pvalue == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / B) + 1 / B)


@vectors("median-lengthscale")
def test_median(vector):
    given = vector["inputs"]
    points = np.array(BOOK["data"][given["data"]]["prediction"] if "data" in given else given["prediction"])
    distance = distance_of_points(points, vector["call"]["distance"])
    assert median_lengthscale(distance, np.arange(len(points))) == close(vector)


@vectors("one-dimensional-sum")
def test_sum_on_a_line(vector):
    y, p = rows_of(vector)
    order = np.argsort(p)
    kernel = SHAPES[vector["call"]["kernel"]](vector["call"]["lengthscale"], "euclidean")
    assert float(kernel_sum(p[order], (y - p)[order], kernel)) == close(vector)


@vectors("wasserstein")
def test_wasserstein(vector):
    first, second = vector["inputs"]["first"], vector["inputs"]["second"]
    distribution = getattr(cb, vector["call"]["law"])(**{name: [first[name], second[name]] for name in first})
    found = wasserstein(distribution)(np.array([0]), np.array([1]))
    assert float(found[0]) == close(vector)


@vectors("cme-statistic")
def test_cme(vector):
    y, prediction = rows_of(vector)
    places = vector["inputs"]["locations"]
    result = cb.kernel_errors.cme_test(
        y, prediction, locations=(places["prediction"], places["y"]), kernel=kernel_of(vector), resamples=19
    )
    expected, n = vector["expected"], len(y)
    assert result.estimate == close(vector, expected["ucme"])
    assert result.statistic == close(vector, expected["statistic"])
    rows, at = read_probabilities(y, prediction), read_probabilities(places["y"], places["prediction"])
    Z = location_scores(rows, Locations(at), kernel_of(vector), Randomness(None, np.random.default_rng(0))).of(rows.y)
    Q, r = statistic(Z)
    assert (Q, r) == (close(vector, expected["statistic"]), 2)
    assert fdtrc(r, n - r, (n - r) / (r * (n - 1)) * Q) == close(vector, expected["pvalue_F"])


@vectors("binned-binary", "binned-multiclass", where=lambda vector: vector["call"]["metric"] == "ace")
def test_average_over_bins(vector):
    # No verb: the plain mean over non-empty bins that other packages print, from the curve that calibrant draws.
    y, prediction = rows_of(vector)
    if prediction.ndim == 1:
        reductions = [(y, prediction)]
    elif vector["call"]["notion"] == "confidence":
        reductions = [cb.top_label(y, prediction)]
    else:
        reductions = [cb.one_vs_rest(y, prediction, k) for k in range(prediction.shape[1])]
    gaps = []
    for events, p in reductions:
        curve = cb.reliability_curve(events, p, bins=vector["call"]["bins"], strategy="width", resamples=19)
        full = curve.count > 0
        gaps.append(np.abs(curve.mean_predicted - curve.mean_observed)[full].mean())
    assert np.mean(gaps) == close(vector)


def test_every_vector_is_claimed():
    others = [vector for vector in BOOK["vectors"] if vector["id"] not in CLAIMED]
    forgotten = [vector["id"] for vector in others if vector["kind"] not in ELSEWHERE]
    assert not forgotten
    assert (len(CLAIMED), len(others)) == (136, 70)
    for kind, where in ELSEWHERE.items():
        assert any(vector["kind"] == kind for vector in others)
        assert f'"{kind}"' in (Path(__file__).parents[1] / where).read_text()
