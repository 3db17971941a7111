"""Every reference value of the verbs that exist, to 1e-12 or the tolerance stated beside it."""

import re

import numpy as np
import pytest
from tests.references.books import arrays, book

import calibrant as cb
from calibrant.core.pvalues import brownian_max_sf, brownian_range_sf

BOOK, ARRAYS = book("probabilities"), arrays("probabilities")

D1 = (ARRAYS["D1_y"], ARRAYS["D1_p"])
D2 = (ARRAYS["D2_y"], ARRAYS["D2_P"])
M = (ARRAYS["M_y"], ARRAYS["M_p"])
DATA = {
    "D1": (*D1, {}),
    "D1 weighted": (*D1, {"weights": ARRAYS["D1_w"]}),
    "D1 two columns (1-p, p)": (D1[0], np.stack([1 - D1[1], D1[1]], axis=1), {}),
    "D2": (*D2, {}),
    "D2 confidence": (*cb.top_label(*D2), {}),
    "M": (*M, {}),
}
DATA.update({f"D1 group {g}": (D1[0][ARRAYS["D1_g"] == g], D1[1][ARRAYS["D1_g"] == g], {}) for g in range(4)})


def _ece(y, p, given, words):
    options = dict(re.findall(r"(bins|strategy|norm|notion|average)=(\S+)", words))
    options.setdefault("strategy", "width")
    bins = options.pop("bins")
    options["bins"] = int(bins) if bins.isdigit() else bins
    if "debias squared" in words:
        options |= {"norm": "l2-squared", "debias": True}
    return cb.ece(y, p, **options, **given)


def _per_label(y, P, words):
    bins = int(re.search(r"bins=(\d+)", words)[1])
    if "classwise" in words:
        return [cb.ece(*cb.one_vs_rest(y, P, k), bins=bins) for k in range(P.shape[1])]
    correct, confidence = cb.top_label(y, P)
    return [cb.ece(correct[P.argmax(1) == k], confidence[P.argmax(1) == k], bins=bins) for k in range(P.shape[1])]


def _decompose(y, p, given, words):
    options = dict(re.findall(r"(method|bins|strategy|score)=(\w+)", words))
    if "bins" in options:
        options["bins"] = int(options["bins"])
    parts = cb.decompose(y, p, **options, **given)
    if words.endswith("within"):
        return [parts.mcb, parts.dsc, parts.unc, parts.within]
    return getattr(parts, words.split()[-1])


def _test(y, p, given, words):
    verb = getattr(cb, words.split()[0])
    result = verb(y, p, null="asymptotic", **given)
    fields = [name for name in ("estimate", "statistic", "pvalue") if name in words]
    values = [getattr(result, name) for name in fields]
    return values if len(values) > 1 else values[0]


def _exact_null(y, p, given, words):
    verb = next(
        v for v in (cb.kolmogorov_smirnov_test, cb.kuiper_test, cb.spiegelhalter_test) if v.__name__[:-5] in words
    )
    options = {"alternative": "greater"} if "greater" in words else {}
    return verb(y, p, null="monte-carlo", **options, **given).pvalue


def _group(y, p, given, words):
    result = cb.kuiper_test(y, p, null="asymptotic", **given)
    return [result.n, result.estimate, result.statistic, result.pvalue, result.details["scale"]]


def _smooth(y, p, given, words):
    name, _, sigma = words.partition(" sigma=")
    return getattr(cb, name)(y, p, **given, **({"sigma": float(sigma)} if sigma else {}))


def computed(dataset, words):
    """Return our value of a quantity, or None if no verb for it exists yet."""
    if dataset not in DATA:
        return None
    y, p, given = DATA[dataset]
    if "per label" in words or "per class" in words:
        return _per_label(y, p, words)
    if words.startswith("ece "):
        return _ece(y, p, given, words)
    if words.startswith("decompose "):
        return _decompose(y, p, given, words)
    if words.startswith(("kolmogorov", "kuiper", "spiegelhalter")):
        return _test(y, p, given, words)
    if words.startswith("exact null"):
        return _exact_null(y, p, given, words)
    if words.startswith("n, kuiper"):
        return _group(y, p, given, words)
    if words.startswith(("smooth_ece", "smce")):
        return _smooth(y, p, given, words)
    if words.startswith("brier_score"):
        return cb.brier_score(y, p, half="half" in words, **given)
    simple = {
        "log_score": lambda: cb.log_score(y, p, **given),
        "over part, bins=15 width l1": lambda: cb.direction(y, p, **given).over,
        "under part, bins=15 width l1": lambda: cb.direction(y, p, **given).under,
        "bias C_n": lambda: cb.direction(y, p, **given).bias,
        "cumulative scale sigma": lambda: cb.cumulative_differences(y, p, **given).scale,
        "cumulative differences C_1..C_n": lambda: cb.cumulative_differences(y, p, **given).difference[1:],
        "sweep bins": lambda: len(cb.reliability_curve(y, p, bins="sweep", **given).count),
    }
    return simple[words]() if words in simple else None


LATER = (
    *("cox", "hosmer", "ici", "compare", "equivalence", "interval", "net_benefit", "one-sided"),
    "audit",  # tests/inference/test_group_test.py
    "debiased squared l2, outcome",  # another estimator, kept for comparison
)
OURS = [value for value in BOOK["values"] if not value["quantity"].startswith(LATER)]


@pytest.mark.parametrize("value", OURS, ids=lambda v: f"{v['dataset']}: {v['quantity']}")
def test_value(value):
    ours = computed(value["dataset"], value["quantity"])
    assert ours is not None, "no verb computes this quantity"
    if "atol" in value:
        np.testing.assert_allclose(ours, value["value"], rtol=0, atol=value["atol"])
    else:
        # Our smooth ECE and the reference each find roots and integrals to about 1e-10.
        rtol = 1e-9 if value["quantity"].startswith("smooth_ece") else 1e-12
        np.testing.assert_allclose(ours, value["value"], rtol=rtol, atol=1e-15)


def test_all_values_of_the_field_are_checked():
    assert len(OURS) == 202


@pytest.mark.parametrize("row", BOOK["brownian_tail"]["table"], ids=lambda row: f"x={row['x']}")
def test_brownian_tails(row):
    assert brownian_max_sf(row["x"]) == pytest.approx(row["ks_sf"], rel=1e-12, abs=0)
    assert brownian_range_sf(row["x"]) == pytest.approx(row["kuiper_sf"], rel=1e-12, abs=0)


@pytest.mark.parametrize("row", BOOK["brownian_tail"]["quantiles"], ids=lambda row: f"sf={row['sf']}")
def test_brownian_quantiles(row):
    assert brownian_max_sf(row["ks"]) == pytest.approx(row["sf"], rel=1e-11)
    assert brownian_range_sf(row["kuiper"]) == pytest.approx(row["sf"], rel=1e-11)


@pytest.mark.parametrize("strategy", ["width", "mass"])
def test_reliability_tables(strategy):
    def column(name):
        return ARRAYS[f"D1_table_{strategy}10_{name}"]

    curve = cb.reliability_curve(*D1, bins=10, strategy=strategy)
    np.testing.assert_allclose(np.append(curve.lower, curve.upper[-1]), column("edges"), rtol=1e-15)
    np.testing.assert_array_equal(curve.count, column("count"))
    for name in ("mean_predicted", "mean_observed"):
        np.testing.assert_allclose(curve.columns[name], column(name), rtol=1e-12)
    np.testing.assert_allclose([curve.interval_low, curve.interval_high], column("clopper_pearson").T, rtol=1e-12)
    np.testing.assert_allclose([curve.consistency_low, curve.consistency_high], column("consistency").T, rtol=1e-12)
    wilson = cb.reliability_curve(*D1, bins=10, strategy=strategy, method="wilson")
    np.testing.assert_allclose([wilson.interval_low, wilson.interval_high], column("wilson").T, rtol=1e-12)


@pytest.mark.parametrize(("name", "data"), [("D1", D1), ("M", M)])
def test_cumulative_curves(name, data):
    curve = cb.cumulative_differences(*data)
    np.testing.assert_allclose(curve.abscissa, ARRAYS[f"{name}_cumulative_abscissa"], rtol=1e-12)
    np.testing.assert_allclose(curve.difference, ARRAYS[f"{name}_cumulative_difference"], rtol=1e-12, atol=1e-15)


def test_isotonic_curve():
    curve = cb.reliability_curve(*D1, strategy="isotonic", resamples=19)
    np.testing.assert_array_equal(curve.p, ARRAYS["D1_isotonic_p"])
    np.testing.assert_allclose(curve.fitted, ARRAYS["D1_isotonic_fit"], rtol=1e-12)
