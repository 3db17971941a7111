"""Summaries of Dask collections are those of arrays."""

import numpy as np
import pytest

import calibrant
from calibrant import Samples, from_columns
from calibrant.dask import summarize


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    p = rng.random(900)
    return (rng.random(900) < p).astype(int), p


@pytest.mark.parametrize("verb", ["ece", calibrant.brier_score, "kuiper_test"])
def test_the_summary_is_that_of_the_rows(verb, rows, cut, scheduler):
    y, p = rows
    found = summarize(verb, (cut(y, 100, 500), cut(p, 300)))
    whole = calibrant.summarize(verb, y, p)
    assert type(found) is type(whole)
    assert found.n == whole.n
    measured = getattr(calibrant, verb) if isinstance(verb, str) else verb
    one, other = measured(found), measured(whole)
    np.testing.assert_allclose(getattr(one, "statistic", one), getattr(other, "statistic", other), rtol=1e-12)


def test_options_are_those_of_the_verb(rows, cut, threads, refusal):
    y, p = (cut(values, 450) for values in rows)
    assert calibrant.ece(summarize("ece", (y, p), bins=7), bins=7) == pytest.approx(calibrant.ece(*rows, bins=7))
    assert "ece has no option n_bins. Did you mean bins=7?" in refusal(summarize, "ece", (y, p), n_bins=7)
    assert "expected a verb" in refusal(summarize, "accuracy", (y, p))


def test_ties_are_broken_differently_in_each_partition(cut, threads):
    n = 2000
    y, draws = np.zeros(n), np.zeros((n, 9))  # everything is tied, so that chance alone decides the ranks
    frame = {"y": cut(y, *range(1, n)[:199]), "draws": cut(draws, *range(1, n)[:199])}
    frame = {name: array.rechunk({0: 10}) for name, array in frame.items()}
    counts = summarize("ranks", frame, y="y", prediction=from_columns(Samples, "draws"), rng=0).counts.ravel()
    assert counts.sum() == n
    expected = n / 10
    chi2 = ((counts - expected) ** 2 / expected).sum()
    assert chi2 < 30  # 10 ranks; had all 200 partitions one stream, counts would be multiples of 200


def test_the_label_of_the_event_is_missed_in_all_partitions_not_in_one(cut, threads, refusal):
    y, p = np.array(["no", "no", "yes", "no"]), np.array([0.1, 0.4, 0.6, 0.3])
    found = summarize("brier_score", (cut(y, 2), cut(p, 2)), pos_label="yes")
    assert calibrant.brier_score(found) == pytest.approx(calibrant.brier_score(y, p, pos_label="yes"), rel=1e-14)
    message = refusal(summarize, "brier_score", (cut(y, 2), cut(p, 2)), pos_label="maybe")
    assert message.startswith("pos_label 'maybe' is not among the labels of y, which has 'no', 'yes'")
