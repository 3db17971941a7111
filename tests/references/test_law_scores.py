"""The reference values of laws, draws and quantiles, to the tolerance stated beside them."""

import numpy as np
import pytest
from tests.references.books import book

from calibrant import CdfValues, Laplace, Mixture, Normal, Quantiles, Samples, decompose, reliability_curve
from calibrant.inputs.kinds import KINDS
from calibrant.ranking.counting import pit_bounds
from calibrant.ranking.pit import pit, pit_histogram
from calibrant.ranking.spread import sharpness
from calibrant.scores.crps import crps, distribution_crps
from calibrant.scores.energy_score import energy_score

BOOK = book("intervals")
DATA = BOOK["data"]
CASES = {case["id"]: case for case in BOOK["cases"]}
DISTRIBUTION6, ENS10, ENS6X2, QUANT12 = (DATA[name] for name in ("law6", "ens10", "ens6x2", "quant12"))
FORECAST = Quantiles(QUANT12["values"], QUANT12["levels"])


def near(name, found):
    case = CASES[name]
    expected = case["expected"]
    pairs = [(found[key], expected[key]) for key in expected] if isinstance(expected, dict) else [(found, expected)]
    return all(ours == pytest.approx(theirs, rel=case["rtol"], abs=1e-12) for ours, theirs in pairs)


def distributions():
    mean, std = np.array(DISTRIBUTION6["mean"]), np.array(DISTRIBUTION6["std"])
    return {
        "normal": Normal(mean, std),
        "laplace": Laplace(mean, DISTRIBUTION6["laplace_scale"]),
        "mixture": Mixture([Normal(mean - 1, 0.5 * std), Normal(mean + 0.5, std)], [0.3, 0.7]),
    }


def bounds(y, prediction):
    low, high = pit_bounds(KINDS[prediction.prediction_kind].read(y, prediction))
    return {"lower": low.tolist(), "upper": high.tolist()}


def each_row(y, x, verb, **options):
    return [verb([y[i]], Samples([x[i]]), **options) for i in range(len(y))]


def means(data, verb):
    y, x = data["y"], data["draws"]
    return {
        "mean": verb(y, Samples(x)),
        "fair_mean": verb(y, Samples(x), fair=True),
        "per_row": each_row(y, x, verb),
        "fair_per_row": each_row(y, x, verb, fair=True),
    }


def test_crps_of_draws():
    found, expected = means(ENS10, crps), CASES["crps-ens10"]["expected"]
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-10)


def test_energy_score():
    found, expected = means(ENS6X2, energy_score), CASES["energy-ens6x2"]["expected"]
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("family", ["normal", "laplace", "mixture"])
def test_distributions(family):
    y, distribution = np.array(DISTRIBUTION6["y"]), distributions()[family]
    assert distribution_crps(distribution, y).tolist() == pytest.approx(
        CASES["crps-law6"]["expected"][family], rel=1e-10
    )
    assert pit(y, distribution).tolist() == pytest.approx(CASES["pit-law6"]["expected"][family], rel=1e-10)


def test_mixtures():
    ones = np.ones(3)
    laplace = Mixture([Laplace(-ones, 0.5), Laplace(2 * ones, 1.5)], [0.3, 0.7])
    assert near("crps-mixture-laplace", distribution_crps(laplace, np.array([-2.0, 0.4, 3.1])).tolist())
    mixed = Mixture([Normal(0 * ones, 1.2), Laplace(ones, 0.5)], [0.4, 0.6])
    assert near("edge-crps-mixed-families", distribution_crps(mixed, np.array([-1.0, 0.5, 3.0])).tolist())


def test_pit_bounds():
    assert near("pit-ens10", bounds(ENS10["y"], Samples(ENS10["draws"])))
    assert near("pit-quant12", bounds(QUANT12["y"], FORECAST))
    tied = [[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 2], [2, 2, 2]]
    assert near("edge-pit-quantile-ties", bounds([0.5, 3.5, 2, 2.5, 2, 2], Quantiles(tied, [0.1, 0.5, 0.9])))


def test_pit_histogram():
    distribution = CdfValues([0.2, 0.55, 0.55, 0.9, 1], below=[0, 0.2, 0.2, 0.55, 0.9])
    assert near("pit-histogram-discrete", pit_histogram(None, distribution).share.tolist())


def test_sharpness():
    found = {
        "normal": sharpness(distributions()["normal"]),
        "normal_rms": sharpness(distributions()["normal"], statistic="rms"),
        "samples": sharpness(Samples(ENS10["draws"])),
        "laplace": sharpness(distributions()["laplace"]),
    }
    assert near("sharpness", found)


def test_decompositions_of_draws():
    distribution = Samples(ENS10["draws"])
    isotonic, hersbach = (decompose(ENS10["y"], distribution, method=method) for method in ("isotonic", "hersbach"))
    assert near("decompose-ens10", {name: getattr(isotonic, name) for name in ("score", "mcb", "dsc", "unc")})
    names = ("reliability", "potential", "uncertainty", "resolution")
    assert near("decompose-hersbach-ens10", {name: getattr(hersbach, name) for name in names})


def test_decomposition_of_quantiles():
    found, expected = decompose(QUANT12["y"], FORECAST), CASES["decompose-quant12"]["expected"]
    for k, level in enumerate(expected["levels"]):
        assert found.level[k] == level["level"]
        for name in ("score", "mcb", "dsc", "unc"):
            assert getattr(found, name)[k] == pytest.approx(level[name], rel=1e-10)
    for name, value in expected["wis"].items():
        assert getattr(found.wis, name) == pytest.approx(value, rel=1e-10)


def test_reliability_of_quantiles():
    curve = reliability_curve(QUANT12["y"], FORECAST)
    median = curve.level == 0.5
    names = ("forecast", "recalibrated_low")
    assert near("reliability-curve-quant12", {name: curve.columns[name][median].tolist() for name in names})


def test_edges():
    assert near("edge-crps-one-draw", crps([1, 5], Samples([[3], [5]])))
    y = [0.0, 1.0, 2.0, 5.0]
    edges = [
        decompose(y, Quantiles([1.0] * 4, 0.5)),
        decompose(y, Quantiles(y, 0.5)),
        decompose([3.0] * 4, Quantiles([1.0, 2.0, 3.0, 4.0], 0.9)),
        decompose([2.0], Quantiles([5.0], 0.9)),
    ]
    for found, expected in zip(edges, CASES["edge-decompose-edge"]["expected"], strict=True):
        for name, value in expected.items():
            assert getattr(found, name) == pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("edge-pit-needs-rng", lambda: pit([2, 0, 5], Samples([[1, 2, 2, 3], [1, 1, 1, 1], [1, 2, 3, 4]]))),
        ("edge-crps-fair-one-draw", lambda: crps([1, 5], Samples([[3], [5]]), fair=True)),
        ("edge-crps-zero-std", lambda: crps([1.0], Normal([1.0], [0.0]))),
        ("edge-energy-layout", lambda: energy_score(np.zeros((5, 2)), Samples(np.zeros((9, 5, 2))))),
    ],
)
def test_refusals(refusal, name, call):
    message = refusal(call)
    for word in CASES[name]["expected"]["message_mentions"]:
        assert word in message
