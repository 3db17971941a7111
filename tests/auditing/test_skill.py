"""What audits say on skill: the claims, and that sentences are made from them."""

import numpy as np
import pytest

import calibrant as cb

N = 400
RNG = np.random.default_rng(3)
X = RNG.normal(size=N)
Y = RNG.normal(X, 1)
NOISE = RNG.normal(size=(N, 49))


def skills(audit):
    return [claim for claim in audit.verdict.claims if claim.quantity == "skill"]


def said(audit, start):
    return [sentence for sentence in audit.verdict.sentences if sentence.startswith(start)]


class TestOneCoordinate:
    @pytest.mark.parametrize("prediction", [cb.Samples(X[:, None] + NOISE), cb.Normal(X, 1.0)])
    def test_informative(self, prediction):
        audit = cb.audit(Y, prediction, resamples=19)
        (claim,) = skills(audit)
        found = cb.skill_test(Y, prediction, level=0.999)
        assert (claim.kind, claim.level) == ("informative", pytest.approx(0.999))
        assert (claim.estimate, claim.low, claim.high) == pytest.approx(
            (found.estimate, found.details["low"], found.details["high"])
        )
        (sentence,) = said(audit, "Informative")
        assert f"{100 * claim.estimate:.1f} % lower" in sentence
        (line,) = [m for m in audit.findings.measurements if m.name == "skill"]
        assert line.interval == (claim.low, claim.high)

    @pytest.mark.parametrize("n", [400, 4000])
    def test_climatology(self, n):
        rng = np.random.default_rng(4)
        audit = cb.audit(rng.normal(size=n), cb.Samples(rng.normal(size=(n, 99))), resamples=19)
        (claim,) = skills(audit)
        assert claim.kind == ("no-better" if n == 4000 else claim.kind)
        assert claim.low <= 0
        assert not said(audit, "Informative")

    def test_wrong_and_uninformative(self):
        rng = np.random.default_rng(5)
        little = 0.12 * rng.normal(size=4000)
        audit = cb.audit(rng.normal(little, 1.0), cb.Normal(little, 1.15), resamples=19)
        (claim,) = skills(audit)
        assert audit.verdict.status == "miscalibrated"
        assert claim.kind == "no-better"
        assert said(audit, "Not informative either")
        assert not any("Calibrated, but" in sentence for sentence in audit.verdict.sentences)

    def test_worse(self):
        audit = cb.audit(Y, cb.Normal(-2 * X, 1.0), resamples=19)
        assert [claim.kind for claim in skills(audit)] == ["worse"]
        assert said(audit, "Worse")

    def test_few_rows_with_too_large_a_spread(self):
        """5 % of the rows state 20 times the spread: nobody is told that the others are useless."""
        sd = np.where(np.arange(N) % 20 == 0, 20.0, 1.0)
        audit = cb.audit(Y, cb.Samples(X[:, None] + sd[:, None] * NOISE), resamples=19)
        (claim,) = skills(audit)
        assert claim.kind == "limits"
        (sentence,) = said(audit, "Cannot tell whether predictions are informative")
        assert "5 % of the rows have" in sentence

    def test_one_row_that_decides_is_named(self):
        y = Y.copy()
        y[17] = 1e7
        audit = cb.audit(y, cb.Normal(X, 1.0), resamples=19)
        (claim,) = skills(audit)
        assert claim.level is None
        assert "rows 17," in said(audit, "Cannot tell whether predictions are informative")[0]

    def test_few_rows_are_not_tested(self):
        audit = cb.audit(Y[:15], cb.Normal(X[:15], 1.0), resamples=19)
        assert not skills(audit)
        assert any("at least 20 rows" in caveat for caveat in audit.findings.caveats)


def test_coordinates_by_their_names():
    rng = np.random.default_rng(6)
    mean = rng.normal(size=(N, 3))
    y = mean + rng.normal(size=(N, 3))
    draws = mean[:, None] + rng.normal(size=(N, 49, 3))
    draws[:, :, 1] = rng.normal(size=(N, 49)) * np.sqrt(2)
    audit = cb.audit(y, cb.Samples(draws), columns=["a", "b", "c"], resamples=19)
    kinds = {claim.subject.name: claim.kind for claim in skills(audit)}
    assert kinds["a"] == kinds["c"] == "informative"
    assert kinds["b"] != "informative"
    (sentence,) = said(audit, "Informative")
    assert "2 coordinates, a (skill" in sentence
    table = next(table for section in audit.findings.sections for table in section.tables)
    assert len(table.columns["skill"]) == 3


def test_one_named_coordinate_is_said_like_one_without_a_name():
    named = cb.audit(Y[:, None], cb.Samples((X[:, None] + NOISE)[:, :, None]), columns=["mu"], resamples=19)
    (sentence,) = said(named, "Informative")
    assert sentence.startswith("Informative: the CRPS is ")
    assert "coordinate" not in sentence
    assert said(named, "Limits of skill") == []
