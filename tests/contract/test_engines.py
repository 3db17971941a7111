"""Every verb of the catalogue gives the same numbers on arrays, in 100 chunks and from Parquet files.

The same is asserted on Dask workers in tests/dask, and on a Spark cluster in tests/spark.
"""

import itertools

import numpy as np
import polars as pl
import pytest

import calibrant as cb
from calibrant.core.catalogue import entries
from calibrant.inputs.columns import NamedColumns

ENTRIES = entries()

CHUNKS = 100
CONSTANT = {
    "ece": [""],
    "mce": [""],
    "direction": ["over", "under", "bias"],
    "brier_score": [""],
    "log_score": [""],
    "decompose": ["score", "mcb", "dsc", "unc"],
    "spiegelhalter_test": ["statistic", "pvalue", "estimate"],
    "kolmogorov_smirnov_test": ["estimate"],
    "kuiper_test": ["estimate"],
    "reliability_curve": ["count", "mean_predicted", "mean_observed", "interval_low", "interval_high"],
}  # verbs of one probability whose summary does not grow, and the fields to compare


def test_chunks(contract):
    frame = pl.DataFrame(contract.table)
    columns = NamedColumns.read(contract.y, contract.prediction, groups=contract.groups)
    starts = np.linspace(0, len(frame), CHUNKS + 1).astype(int)
    batches = (columns.batch(frame[a:b]) for a, b in itertools.pairwise(starts))
    contract.check(cb.measure(contract.verbs, batches, exact=True))


def test_parquet(contract, tmp_path):
    frame = pl.DataFrame(contract.table)
    for k in range(7):
        frame[k * 75 : (k + 1) * 75].write_parquet(tmp_path / f"part-{k}.parquet", row_group_size=20)
    found = cb.scan(tmp_path, y=contract.y, prediction=contract.prediction, groups=contract.groups)
    contract.check(found.measure(contract.verbs, exact=True))


@pytest.mark.parametrize("verb", CONSTANT)
def test_in_constant_memory(verb):
    """Rows counted in cells tell the value up to a stated rounding."""
    rng = np.random.default_rng(7)
    p = rng.beta(0.5, 2.0, 3000)
    y = (rng.random(3000) < p**1.2).astype(int)
    ((value, rounding),) = cb.measure(verb, ((y[k::100], p[k::100]) for k in range(100))).values()
    bounds = rounding if isinstance(rounding, dict) else {"": rounding}
    whole = getattr(cb, verb)(y, p)
    for field in CONSTANT[verb]:
        ours, exact = (getattr(found, field) if field else found for found in (value, whole))
        np.testing.assert_allclose(ours, exact, rtol=1e-12, atol=bounds.get(field, bounds.get("", 0.0)), err_msg=field)


@pytest.mark.parametrize("verb", ["mmce", "skce", "skce_test", "cme_test"])
def test_what_needs_the_rows_says_so(verb):
    with pytest.raises(cb.errors.NotApplicableError, match="exact=True"):
        cb.measure(verb, [([0, 1, 1] * 10, [0.25, 0.5, 0.75] * 10)])


def test_every_verb_is_asked(asked):
    of_all, of_groups = asked
    # They have random streams, or need covariates.
    not_in_batches = {"conditional_map", "conditional_test", "rank_exchange_test", "rank_score_test"}
    assert of_all == set(ENTRIES) - not_in_batches
    assert of_groups == {name for name, entry in ENTRIES.items() if "groups" in entry.defaults}
