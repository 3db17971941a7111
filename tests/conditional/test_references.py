"""Every value of `where.json`: cells, statistics, p-values on given redraws, regions, limits, parts."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import CdfValues, Intervals, Quantiles, Sets
from calibrant.conditional.cells import Axis, RegionSearch, Rule
from calibrant.conditional.parts import learned_signs, of_blocks, parts
from calibrant.conditional.regions import Limits, Look, RegionMean, described, named
from calibrant.conditional.residuals import (
    class_residuals,
    components,
    flipped,
    of_classes,
    of_distributions,
    of_events,
    of_intervals,
    of_quantiles,
    of_ranks,
    of_sets,
)
from calibrant.conditional.statistics import Searched, Statistics, critical, joint_pvalues
from calibrant.core.null import upper_counts
from calibrant.inputs.covariates import read_covariate_table
from calibrant.inputs.kinds import read
from calibrant.summaries import Ranks

BOOK = json.loads((Path(__file__).parents[1] / "references" / "where.json").read_text())
VALUES = {case["id"]: case["value"] for case in BOOK["cases"]}
RTOL = {case["id"]: case["rtol"] for case in BOOK["cases"]}
BINARY = BOOK["data"]["binary"]
P, N = np.array(BINARY["p"]), len(BINARY["p"])
X = {name: BINARY[name] for name in ("x0", "x1", "x2")}
W, ONES = np.array(BINARY["w"]), np.ones(N)
SIGNS, CLUSTERS = np.array(BINARY["signs"]).T, np.array(BINARY["clusters"])
SEEN = set()


def value(name):
    SEEN.add(name)
    return VALUES[name]


def same(name):
    return pytest.approx(value(name), rel=RTOL[name])


def digits(rows):
    """Return redraws, texts of digits, as an array (n, sets)."""
    return np.array([[int(digit) for digit in row] for row in rows]).T


def events(y="y", w=ONES):
    return of_events(read("test", ("binary",), np.array(BINARY[y]), P, weights=w))


EVENTS = events()
REDRAWN = (digits(BINARY["redrawn_y"]) - P[:, None])[:, :, None]


def table(x):
    return read_covariate_table(x, len(next(iter(x.values()))), None)


def run(residuals, redrawn, x=X, w=ONES, alternative="two-sided"):
    """Return the statistics and their values in the data and in given redraws."""
    tests = Statistics(Searched(residuals, table(x), w), alternative=alternative)
    return tests, tests.of(np.concatenate([residuals.F[:, None], redrawn], axis=1))


def test_cells():
    for name, x in (("x0", X["x0"]), ("x1", X["x1"]), ("prediction", P)):
        for g in (16, 8):
            if f"edges {g} {name}" in VALUES:
                assert Axis(np.array(x, float), 0, g).edges.tolist() == same(f"edges {g} {name}")
    covariates = table(X)
    for j, name in enumerate(X):
        code = Axis(covariates.x[:, j], len(covariates.labels[j]), 16).code
        sums = [np.bincount(code, values) for values in (ONES, EVENTS.F[:, 0], EVENTS.v[:, 0])]
        np.testing.assert_allclose(np.transpose(sums), value(f"cells {name}"), rtol=1e-9)
    scan = RegionSearch(covariates, None, Rule(ONES, EVENTS.v))
    legal = [int((found.scale[side] > 0).sum()) for found in scan.intervals for side in (0, 1)]
    assert legal == value("legal intervals")
    boxes = {f"x{found.pair[0]} x{found.pair[1]}": int((found.scale > 0).sum()) for found in scan.boxes}
    assert boxes == value("legal boxes")


def test_events():
    tests, T = run(EVENTS, REDRAWN)
    assert abs(tests.scan.clearest(tests.scan.intervals, EVENTS.F).z) == same("largest interval")
    assert abs(tests.scan.clearest(tests.scan.boxes, EVENTS.F).z) == same("largest box")
    assert tests.scan.clearest_whole(EVENTS.F).z == same("whole")
    assert T[:, 0, 0].tolist() == [same("scan"), same("trend")]
    assert T[0, 1:, 0].tolist() == same("scan of redraws")
    assert T[1, 1:, 0].tolist() == same("trend of redraws")
    assert (upper_counts(T[:, :, 0])[:, 0] / 20).tolist() == [same("p scan"), same("p trend")]
    assert joint_pvalues(T)[0] == same("p joint")
    assert critical(T[0, 1:, 0], 0.9) == same("critical .9")
    for alternative in ("greater", "less"):
        assert run(EVENTS, REDRAWN, alternative=alternative)[1][0, 0, 0] == same(alternative)


def first_region(name, residuals, T, x=X, w=ONES):
    """Compare the first region with the value, whose bounds are None where there is none."""
    expected, limits = value(name), Limits(np.sort(T[0, 1:, 0]), critical(T[0, 1:, 0], 0.9), 0.9)
    searched = Searched(residuals, table(x), w)
    look = Look(searched, RegionSearch(searched.covariates, None, searched.rule), limits)
    found = named(look)
    region = described(look, found)
    for key in ("n", "z", "observed", "predicted", "difference", "low", "high"):
        assert getattr(region, key) == pytest.approx(expected[key], rel=1e-9), key
    assert list(region.names) == [bound["name"] for bound in expected["bounds"]]
    for bounds, known in zip(region.bounds, expected["bounds"], strict=True):
        assert found.place.outside == known["complement"]
        if known["complement"]:
            assert bounds == ((-np.inf, pytest.approx(known["low"])), (pytest.approx(known["high"]), np.inf))
        else:
            ends = [-np.inf if known["low"] is None else known["low"], known["high"] or np.inf]
            assert bounds == (pytest.approx(tuple(ends)),)


def test_regions():
    _, T = run(EVENTS, REDRAWN)
    first_region("region", EVENTS, T)
    assert value("largest charged region")["covariates"] == []
    first_region("region of y_strong", events("y_strong"), T)
    first_region("region of y_box", events("y_box"), T)
    x = {**X, "prediction": P}
    _, T = run(EVENTS, REDRAWN, x)
    assert T[0, 0, 0] == same("scan with prediction")
    assert upper_counts(T[:, :, 0])[0, 0] / 20 == same("p scan with prediction")
    first_region("region with prediction", EVENTS, T, x)


def test_weights():
    tests, T = run(EVENTS, REDRAWN, w=W)
    assert abs(tests.scan.clearest(tests.scan.intervals, EVENTS.F).z) == same("weights largest interval")
    assert abs(tests.scan.clearest(tests.scan.boxes, EVENTS.F).z) == same("weights largest box")
    assert T[:, 0, 0].tolist() == [same("weights scan"), same("weights trend")]
    assert joint_pvalues(T)[0] == same("weights p joint")
    first_region("weights region", EVENTS, T, w=W)


def test_clusters():
    law = flipped(EVENTS.F, CLUSTERS)
    signs = SimpleNamespace(choice=lambda values, shape: SIGNS)
    _, T = run(EVENTS, law(signs, np.arange(N), SIGNS.shape[1]))
    assert T[0, 1:, 0].tolist() == same("clusters scan of flips")
    assert joint_pvalues(T)[0] == same("clusters p joint")


@pytest.mark.parametrize(("name", "w"), [("parts", ONES), ("weights parts", W)])
def test_parts(name, w):
    found = {f"1/{round(1 / part.share)}": part.at_most for part in parts(Searched(EVENTS, table(X), w), 0.95)}
    expected = {key: np.nan if limit is None else limit for key, limit in value(name).items()}
    assert found == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_average_error():
    x = {"x0": BINARY["x0"], "x1": np.array(BINARY["x1"], float), "prediction": P}
    searched = Searched(events("y_strong"), table(x), ONES)
    blocks, rng = np.array(BINARY["blocks"]), np.random.default_rng(0)
    found = of_blocks(searched, blocks, 0.95, rng)
    expected = value("average error")
    assert (found.estimate, found.low) == pytest.approx((expected["estimate"], expected["low"]), rel=1e-9)
    signs = learned_signs(searched, blocks, rng)[np.argsort(blocks, kind="stable")][(blocks == 0).sum() :]
    assert signs.astype(int).tolist() == expected["signs"]


def test_map():
    axis, cells = Axis(np.array(X["x0"]), 0, 6), []
    for cell in range(axis.cells):
        rows = axis.code == cell
        seen = RegionMean.of(EVENTS.F[rows, 0], EVENTS.v[rows, 0], EVENTS.stated[rows, 0], ONES[rows])
        if seen.n >= 20 and seen.information >= 5:
            cells.append([seen.n, seen.stated + seen.mean, seen.stated, seen.mean, seen.se])
    np.testing.assert_allclose(cells, value("map x0"), rtol=1e-9)


def regions_of(name):
    data = BOOK["data"][name]
    x = {"z0": data["z0"], "z1": data["z1"]}
    return data, x, np.ones(len(data["z0"]))


def compare(name, residuals, redrawn, x, w, alternative="two-sided"):
    _, T = run(residuals, redrawn, x, w, alternative)
    assert T[0, 0, 0] == same(f"{name} scan")
    if alternative == "two-sided":
        assert T[1, 0, 0] == same(f"{name} trend")
    if f"{name} p joint" in VALUES:
        assert joint_pvalues(T)[0] == same(f"{name} p joint")


def test_intervals():
    data, x, w = regions_of("intervals")
    lower, upper, levels = np.transpose(data["lower"]), np.transpose(data["upper"]), np.array(data["levels"])
    redrawn = np.stack([digits(rows) for rows in data["redrawn_covered"]], axis=2) - levels
    found = of_intervals(read("test", ("intervals",), data["y"], Intervals(lower, upper, level=levels)))
    compare("intervals", found, redrawn, x, w)
    one = of_intervals(read("test", ("intervals",), data["y"], Intervals(lower[:, 1], upper[:, 1], level=0.9)))
    compare("intervals less", one, redrawn[:, :, 1:], x, w, "less")


def test_quantiles():
    data, x, w = regions_of("quantiles")
    levels = np.array(data["levels"])
    found = of_quantiles(read("test", ("quantiles",), data["y"], Quantiles(data["values"], levels)))
    compare("quantiles", found, (np.transpose(data["redrawn_u"])[:, :, None] <= levels) - levels, x, w)


def test_distributions_and_draws():
    data, x, w = regions_of("pit")
    found = of_distributions(read("test", ("cdf",), None, CdfValues(data["u"])), np.random.default_rng(0))
    compare("pit", found, components(np.transpose(data["redrawn_u"])), x, w)
    data, x, w = regions_of("ranks")
    found = of_ranks(Ranks.of(data["ranks"], data["M"]), np.array(data["ranks"])[:, None])
    compare("ranks", found, found.F[:, None], x, w)


def test_classes_and_sets():
    data, x, w = regions_of("classes")
    found = of_classes(read("test", ("classes",), data["y"], np.array(data["P"])))
    redrawn = class_residuals(np.array(data["P"]), digits(data["redrawn_y"]), np.arange(3))
    compare("classes", found, redrawn, x, w)
    data, x, w = regions_of("sets")
    sets = Sets(np.array(data["mask"], bool), level=data["level"])
    found = of_sets(read("test", ("sets",), data["y"], sets))
    redrawn = digits(data["redrawn_covered"])[:, :, None] - data["level"]
    compare("sets", found, redrawn, {**x, "size": found.searched["size"]}, w, "less")


def test_every_value_was_compared():
    assert set(VALUES) == SEEN
