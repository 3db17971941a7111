"""Metrics of a user: their confidence limits, and their place in an audit."""

from dataclasses import dataclass

import numpy as np
import pytest

import calibrant as cb
from calibrant.core.catalogue import ENTRIES, NoOptions, public
from calibrant.core.means import enter_mean

Y = np.arange(400) % 4 == 0
P = np.where(np.arange(400) % 8 < 3, 0.6, 0.2)


@dataclass(frozen=True)
class SurpriseOptions:
    below: float


@pytest.fixture
def mine():
    """Enter the share of surprises, and the mean size of the residual, as a user would."""

    @public
    def surprise_share(y, prediction=None, *, below=0.5, weights=None, classes=None, pos_label=None):
        """Share of rows whose outcome was given a probability of less than `below`."""
        given = {"weights": weights, "classes": classes, "pos_label": pos_label}
        return share(y, prediction, SurpriseOptions(below), **given)

    @public
    def mean_residual(y, prediction=None, *, weights=None, classes=None, pos_label=None):
        """Mean of |y - p|."""
        return residual(y, prediction, NoOptions(), weights=weights, classes=classes, pos_label=pos_label)

    def surprised(rows, options):
        return np.where(rows.y == 1, rows.p, 1 - rows.p) < options.below

    share = enter_mean(surprise_share, SurpriseOptions, surprised, predictions=("binary",), range=(0.0, 1.0))
    residual = enter_mean(mean_residual, NoOptions, lambda rows, _: np.abs(rows.y - rows.p), predictions=("binary",))
    yield surprise_share, mean_residual
    for name in ("surprise_share", "mean_residual"):
        del ENTRIES[name]


def test_limits_of_a_share_are_exact_and_those_of_a_mean_are_students(mine):
    """150 of 400 rows say 0.6, 50 of them happened, and 50 others: 100 + 50 surprises. Limits are those of coverage."""
    surprise_share, _ = mine
    found = cb.interval(surprise_share, Y, P)
    missed = np.where(Y, P, 1 - P) < 0.5
    same = cb.interval(cb.coverage, missed * 1.0, cb.Intervals(np.full(400, 0.5), np.full(400, 2.0), 0.9))
    assert (found.low, found.estimate, found.high) == pytest.approx((same.low, missed.mean(), same.high))
    assert found.method == "exact (Clopper-Pearson)"
    assert "Wilson" in cb.interval(surprise_share, Y, P, method="wilson", below=0.3).method
    size = np.abs(Y - P)
    half = 1.965927 * size.std(ddof=1) / 20  # Student's t with 399 degrees of freedom
    found = cb.interval("mean_residual", Y, P)
    assert (found.low, found.high) == pytest.approx((size.mean() - half, size.mean() + half), rel=1e-6)


def test_what_has_no_limits(mine, refusal):
    surprise_share, mean_residual = mine
    assert "same score" in refusal(cb.interval, mean_residual, Y, np.full(400, 0.5), error=cb.errors.NotApplicableError)
    assert "needs 100 rows" in refusal(cb.interval, mean_residual, Y[:60], P[:60], error=cb.errors.NotApplicableError)
    total = cb.summarize(surprise_share, Y, P)
    assert "needs the rows" in refusal(cb.interval, surprise_share, total, error=cb.errors.SummaryError)
    assert "method must be one of" in refusal(cb.interval, mean_residual, Y, P, method="wilson")


def test_an_audit_shows_them(mine, refusal):
    given = {"resamples": 19, "metrics": [mine[0], "mean_residual", "mce"]}
    for more in ({}, {"clusters": np.arange(400) // 2}):
        found = cb.audit(Y, P, **given, **more).findings
        lines = {line.name: line for line in found.sections[-1].measurements}
        assert list(lines) == ["surprise_share", "mean_residual", "mce"]
        assert lines["surprise_share"].value == mine[0](Y, P)
        limits = lines["mean_residual"].interval
        alone = cb.interval("mean_residual", Y, P)
        assert limits == (None if more else (alone.low, alone.high))
    for wrong in ("ece", [], 3, np.array(["ece"]), {"ece"}):
        assert "metrics must be a list" in refusal(cb.audit, Y, P, metrics=wrong)
    assert "crps does not give one" in refusal(cb.audit, Y, P, metrics=["crps"])
    assert "reliability_curve does not give one" in refusal(cb.audit, Y, P, metrics=["reliability_curve"])
    assert "expected a verb" in refusal(cb.audit, Y, P, metrics=[len])
