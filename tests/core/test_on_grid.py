"""What verbs read from a grid, against what they find of the rows: equal, or within the stated rounding."""

import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from calibrant import cumulative_differences
from calibrant.core.catalogue import entries, find
from calibrant.errors import NotApplicableError
from calibrant.inputs.probabilities import read_binary
from calibrant.results import Curve
from calibrant.summaries import Grid

CASES = [
    *[("ece", {"bins": bins, "norm": norm}) for bins, norm in ((1, "l1"), (15, "l2"), (15, "max"), (100, "l1"))],
    ("ece", {"bins": 2, "norm": "l2-squared", "debias": True}),
    ("mce", {"bins": 10}),
    ("cutoff_error", {}),
    ("direction", {"bins": 10}),
    ("brier_score", {}),
    *[("spiegelhalter_test", {"null": "asymptotic", "alternative": side}) for side in ("two-sided", "less")],
    ("spiegelhalter_test", {"resamples": 19}),
    *[(f"{name}_test", {"null": "asymptotic"}) for name in ("kolmogorov_smirnov", "kuiper")],
    *[(f"{name}_test", {"resamples": 19}) for name in ("kolmogorov_smirnov", "kuiper")],
    *[("reliability_curve", {"bins": bins, "resamples": 19}) for bins in (1, 15, 100)],
    ("reliability_curve", {"bins": 3, "method": "wilson", "level": 0.5, "resamples": 19, "simultaneous": True}),
    ("decompose", {}),
    *[("decompose", {"method": "bins", "bins": bins}) for bins in (1, 15, 100)],
]
NAMES = [f"{name}({', '.join(f'{key}={value}' for key, value in options.items())})" for name, options in CASES]

SHARE_A_CELL = [0.001, 0.00101, 0.00102, 0.335, 0.336, 0.4955, 0.497, 0.498, 0.502, 0.503, 0.504, 0.9989, 0.999]
ON_EDGES = [0.0, 2.0**-30, 0.01, 0.1, 0.25, 1 / 3, 0.5, 0.9, 1.0]

scores = st.one_of(
    st.sampled_from(SHARE_A_CELL),
    st.sampled_from(ON_EDGES),
    # Next to 0.5 the Brier score hardly varies, and Spiegelhalter's statistic is the quotient of two roundings.
    st.floats(0, 1).filter(lambda p: p == 0.5 or abs(p - 0.5) > 1e-3),
)


@st.composite
def data(draw):
    drawn = draw(st.lists(st.tuples(st.integers(0, 1), scores, st.floats(0.1, 10)), min_size=1, max_size=40))
    y, p, w = (np.array(column) for column in zip(*drawn, strict=True))
    weights = draw(st.sampled_from([np.ones_like(w), np.full_like(w, 0.3), w]))
    return y, p.astype(draw(st.sampled_from(["float16", "float32", "float64"]))), weights


def grid_of(y, p, w):
    return Grid.of(read_binary(y, p, verb="a test", weights=w))


def numbers(result):
    """Return what a verb found, number by number."""
    if isinstance(result, Curve):
        return dict(result.columns)
    if hasattr(result, "pvalue"):
        return {"statistic": result.statistic, "pvalue": result.pvalue, "estimate": result.estimate}
    if is_dataclass(result):
        return {name: value for name, value in asdict(result).items() if isinstance(value, float)}
    return {"": result}


def assert_within(found, expected, bound, message):
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite], err_msg=message)
    slack = bound + 1e-12 + 1e-9 * np.abs(expected[finite])
    assert (np.abs(found[finite] - expected[finite]) <= slack).all(), f"{message}: {found}, {expected}, {bound}"


@pytest.mark.parametrize(("name", "options"), CASES, ids=NAMES)
@settings(max_examples=40)
@example(rows=(np.array([0]), np.array([5e-324]), np.array([1.0])))
@given(rows=data())
def test_the_stated_rounding_is_kept(name, options, rows):
    y, p, w = rows
    entry = find(name)
    completed = entry.parse(options)
    assert entry.on_grid(completed)
    try:
        expected = numbers(entry.verb(y, p, weights=w, **options))
    except (NotApplicableError, ValueError):
        assume(False)
    grid = grid_of(y, p, w)
    found, rounding = numbers(entry.of_summary(grid, completed)), entry.rounding(grid, completed)
    bounds = rounding if isinstance(rounding, Mapping) else dict.fromkeys(expected, rounding)
    assert set(bounds) <= set(expected)
    assert all(0 <= bound < math.inf for bound in bounds.values())
    for field, bound in bounds.items():
        assert_within(found[field], expected[field], bound, f"{field} of {name}")


@given(rows=data())
def test_cumulative_differences_leave_the_line_by_the_stated_rounding_at_most(rows):
    y, p, w = rows
    grid = grid_of(y, p, w)
    curve, exact = cumulative_differences(grid), cumulative_differences(y, p, weights=w)
    line = np.interp(exact.abscissa, curve.abscissa, curve.difference)
    bound = (cumulative := find("cumulative_differences")).rounding(grid, cumulative.usual)["difference"]
    assert np.abs(line - exact.difference).max() <= bound + 1e-12
    # The ends of cells are points of both.
    np.testing.assert_allclose(np.interp(curve.abscissa, exact.abscissa, exact.difference), curve.difference, atol=1e-9)
    assert curve.scale == pytest.approx(exact.scale, abs=1e-12)
    assert curve.method.endswith("at ends of cells")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ece", {"strategy": "mass"}),
        ("ece", {"bins": "sweep"}),
        ("ece", {"bins": 101}),
        ("ece", {"notion": "canonical"}),
        ("mce", {"notion": "classwise"}),
        ("direction", {"bins": "cube-root"}),
        ("reliability_curve", {"strategy": "isotonic"}),
        ("decompose", {"score": "log"}),
        ("decompose", {"method": "bins", "strategy": "mass"}),
        ("log_score", {}),
        ("skce", {}),
    ],
)
def test_what_a_grid_does_not_tell(name, options):
    entry = find(name)
    assert not entry.on_grid(entry.parse(options))


def test_every_verb_that_a_grid_serves_is_here():
    tried = {*(name for name, _ in CASES), "cumulative_differences"}
    assert {name for name, entry in entries().items() if entry.on_grid(entry.parse({}))} == tried
    assert {name for name, entry in entries().items() if Grid in entry.reads} == tried
