"""Maps on partitions: `apply` is a pure function of the row, so a line of Dask's own code is all it takes."""

import numpy as np
import pandas as pd
import pytest

import calibrant as cb
from calibrant.recalibrating.methods import METHODS


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    score = rng.uniform(0.02, 0.98, 500)
    mean = rng.normal(size=500)
    return pd.DataFrame(
        {"left": rng.uniform(size=500) < score**2, "score": score, "price": mean * 2, "low": mean - 1, "high": mean + 1}
    )


@pytest.mark.parametrize("method", ["temperature", "beta", "venn-abers"])
def test_probabilities(rows, method, scheduler, require):
    dd = require("dask.dataframe")
    remedy = cb.recalibrate(rows.left, rows.score, method=method)
    lazy = dd.from_pandas(rows, npartitions=4)
    better = lazy.map_partitions(lambda part: part.assign(better=remedy.apply(part["score"])))
    found = better.compute()
    pd.testing.assert_frame_equal(found.drop(columns="better"), rows)
    np.testing.assert_array_equal(found["better"], remedy.apply(rows.score))


def test_partitions_without_rows(rows, scheduler, require):
    dd = require("dask.dataframe")
    remedy = cb.recalibrate(rows.left, rows.score, method="logistic")
    kept = dd.from_pandas(rows, npartitions=4).loc[lambda part: part["score"] > 0.9]
    lazy = kept.repartition(npartitions=3).map_partitions(lambda part: part.assign(better=remedy.apply(part["score"])))
    assert lazy.loc[lambda part: part["score"] > 1].compute().empty
    few = dd.from_pandas(rows.head(0), npartitions=1)
    assert few.map_partitions(lambda part: part.assign(better=remedy.apply(part["score"]))).compute().empty
    np.testing.assert_array_equal(lazy.compute()["better"], remedy.apply(rows.score[rows.score > 0.9]))


def test_intervals(rows, scheduler, require):
    dd = require("dask.dataframe")
    remedy = cb.recalibrate(rows.price, cb.Intervals(rows.low, rows.high, 0.9), method="scale")

    def wider(part):
        after = remedy.apply(cb.Intervals(part["low"], part["high"], 0.9))
        return part.assign(low=after.lower[:, 0], high=after.upper[:, 0])

    found = dd.from_pandas(rows, npartitions=3).map_partitions(wider).compute()
    expected = remedy.apply(cb.Intervals(rows.low, rows.high, 0.9))
    np.testing.assert_array_equal(found["low"], expected.lower[:, 0])
    np.testing.assert_array_equal(found["high"], expected.upper[:, 0])


@pytest.mark.parametrize(("kind", "method"), [(kind, m) for kind in ("binary", "classes") for m in METHODS[kind]])
def test_no_rows(rows, kind, method):
    p = rows.score if kind == "binary" else np.column_stack([1 - rows.score, rows.score])
    assert cb.recalibrate(rows.left.astype(int), p, method=method).apply(p[:0]).shape == (0, *p.shape[1:])
