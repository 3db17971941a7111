"""One aggregation gives the moments that the rows give, and leaves the rest to the rows."""

from functools import partial

import numpy as np
import polars as pl
import pytest

import calibrant as cb
from calibrant import Intervals, Quantiles
from calibrant.engines.measuring import Measuring
from calibrant.engines.pushed_down import SCORES, pushed_down
from calibrant.inputs.columns import NamedColumns, from_columns

ONE = from_columns(Intervals, upper="high", lower="low", level=0.9)
TWO = from_columns(Intervals, ["low", "low2"], ["high", "high2"], level=[0.5, 0.9])
QUANTILES = from_columns(Quantiles, ["low", "high"], levels=[0.1, 0.9])
OF_INTERVALS = [
    "coverage",
    "width",
    *(partial(cb.interval_score, part=p) for p in ("total", "below", "above", "width")),
]
CASES = [
    ("brier_score", "y", "p"),
    ("brier_score", "event", "p32"),
    ("brier_score", "y", "y"),
    (OF_INTERVALS, "z", ONE),
    (OF_INTERVALS, "z", TWO),
    (partial(cb.width, statistic="finite_mean"), None, ONE),
    (["coverage", "quantile_score"], "z", QUANTILES),
    (["coverage", "quantile_score"], "z32", from_columns(Quantiles, "low", levels=0.3)),
]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    p, low = rng.random(500), rng.normal(size=500)
    y, z, high = (rng.random(500) < p).astype(int), low + rng.normal(size=500), low + rng.random(500)
    return pl.DataFrame(
        {
            "y": y,
            "event": y == 1,
            "p": p,
            "p32": p.astype(np.float32),
            "z": z + 1e6,  # far from 0: spreads must not be differences of large sums
            "z32": (z + 1e6).astype(np.float32),
            "low": low + 1e6,
            "high": high + 1e6,
            "low2": low + 1e6 - 1,
            "high2": high + 1e6 + 1,
            "text": np.where(y == 1, "yes", "no"),
            "w": rng.random(500),
        }
    )


def asked(frame, verbs, y, prediction, weights=None, **labels):
    job, columns = Measuring.of(verbs, exact=True, **labels), NamedColumns.read(y, prediction, weights)
    return pushed_down(job, columns, frame.lazy()), job, columns


@pytest.mark.parametrize(("verbs", "y", "prediction"), CASES)
def test_same_moments(frame, verbs, y, prediction):
    found, job, columns = asked(frame, verbs, y, prediction)
    expected = job.part(columns.batch(frame))
    assert found.names == expected.names
    for one, other in zip(found.parts, expected.parts, strict=True):
        assert one.names == other.names
        for field in ("rows", "w", "w2", "weight_max", "mean", "mean2", "infinite"):
            np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=1e-12)
        np.testing.assert_allclose(one.spread2, other.spread2, rtol=1e-12, atol=1e-12)
    assert set(job.finish(found)) == set(job.finish(expected))


def test_every_score_is_tried():
    asked_for = {name for verbs, *_ in CASES for name in (verbs if isinstance(verbs, list) else [verbs])}
    names = {verb.func.__name__ if isinstance(verb, partial) else verb for verb in asked_for}
    assert {verb for verb, _ in SCORES} == names


@pytest.mark.parametrize(
    ("verbs", "y", "prediction", "options"),
    [
        (["brier_score", "log_score"], "y", "p", {}),
        ("brier_score", "y", "p", {"weights": "w"}),
        ("brier_score", "text", "p", {"pos_label": "yes"}),
        ("brier_score", "text", "p", {}),
        ("brier_score", "y", "event", {}),
        ("brier_score", "y", ["p", "p32"], {}),
        (partial(cb.brier_score, half=True), "y", "p", {}),
        ("coverage", None, ONE, {}),
        ("coverage", "event", ONE, {}),
        (partial(cb.width, statistic="median"), None, ONE, {}),
        ("coverage", "z", from_columns(Intervals, "low", "high", level=0.9, crossed="swap"), {}),
        ("coverage", "z", from_columns(Intervals, ["low"], ["high", "high2"], level=0.9), {}),
        ("brier_score", "z", "p", {}),
        ("brier_score", "y", "z", {}),
        ("coverage", "z", from_columns(Intervals, "high", "low", level=0.9), {}),
        ("coverage", "z", from_columns(Quantiles, ["high", "low"], levels=[0.1, 0.9]), {}),
    ],
)
def test_what_is_left_to_the_rows(frame, verbs, y, prediction, options):
    assert asked(frame, verbs, y, prediction, **options)[0] is None


@pytest.mark.parametrize("bad", [None, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("verb", "y", "prediction", "column"),
    [
        ("brier_score", "y", "p", "p"),
        ("brier_score", "p", "y", "p"),
        ("coverage", "z", ONE, "z"),
        ("width", None, ONE, "low"),
        ("interval_score", "z", ONE, "high"),
        ("quantile_score", "z", QUANTILES, "high"),
    ],
)
def test_rows_that_are_refused_or_infinite(frame, verb, y, prediction, column, bad):
    spoilt = frame.with_columns(pl.when(pl.int_range(pl.len()) == 77).then(pl.lit(bad)).otherwise(column).alias(column))
    assert asked(spoilt, verb, y, prediction)[0] is None


def test_whole_numbers_that_would_be_rounded(frame):
    large = frame.with_columns(z=pl.lit(2**53 + 1))
    assert asked(large, "coverage", "z", ONE)[0] is None


def test_no_rows(frame):
    assert asked(frame.clear(), "brier_score", "y", "p")[0] is None
