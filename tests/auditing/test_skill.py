"""What audits claim on skill, and which rows decide it."""

import numpy as np
import pytest
from tests.auditing.found import notes

import calibrant as cb

N = 400
RNG = np.random.default_rng(3)
X = RNG.normal(size=N)
Y = RNG.normal(X, 1)
NOISE = RNG.normal(size=(N, 49))


def skills(audit):
    return [claim for claim in audit.verdict.claims if claim.quantity == "skill"]


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
        (line,) = [m for m in audit.findings.measurements if m.name == "skill"]
        assert line.interval == (claim.low, claim.high)

    @pytest.mark.parametrize("n", [400, 4000])
    def test_climatology(self, n):
        rng = np.random.default_rng(4)
        audit = cb.audit(rng.normal(size=n), cb.Samples(rng.normal(size=(n, 99))), resamples=19)
        (claim,) = skills(audit)
        assert claim.kind == ("no-better" if n == 4000 else claim.kind)
        assert claim.low <= 0

    def test_wrong_and_uninformative(self):
        rng = np.random.default_rng(5)
        little = 0.12 * rng.normal(size=4000)
        audit = cb.audit(rng.normal(little, 1.0), cb.Normal(little, 1.15), resamples=19)
        (claim,) = skills(audit)
        assert audit.verdict.status == "miscalibrated"
        assert claim.kind == "no-better"

    def test_worse(self):
        audit = cb.audit(Y, cb.Normal(-2 * X, 1.0), resamples=19)
        assert [claim.kind for claim in skills(audit)] == ["worse"]

    def test_few_rows_with_too_large_a_spread(self):
        """5 % of the rows state 20 times the spread: nobody is told that the others are useless."""
        sd = np.where(np.arange(N) % 20 == 0, 20.0, 1.0)
        audit = cb.audit(Y, cb.Samples(X[:, None] + sd[:, None] * NOISE), resamples=19)
        (claim,) = skills(audit)
        assert claim.kind == "limits"
        heavy = notes(audit)["heavy loss"]
        assert heavy["rows"] == 0.05
        assert heavy["share"] > 0.25
        assert heavy["others"] > 0.2

    def test_one_row_that_decides_is_named(self):
        y = Y.copy()
        y[17] = 1e7
        audit = cb.audit(y, cb.Normal(X, 1.0), resamples=19)
        (claim,) = skills(audit)
        assert claim.level is None
        assert notes(audit)["few rows decide skill"]["rows"][0] == "17"

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
    table = next(table for section in audit.findings.sections for table in section.tables)
    assert len(table.columns["skill"]) == 3
