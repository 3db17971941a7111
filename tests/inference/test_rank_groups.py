"""The band test in every group, against the reference values."""

import json
from pathlib import Path

import numpy as np
import pytest

from calibrant import NotApplicableError, Ranks
from calibrant.inference.rank_band import band_test
from calibrant.inference.rank_groups import grouped
from calibrant.summaries import GroupedRanks

REFERENCES = Path(__file__).parents[1] / "references"
BOOK = [
    value
    for value in json.loads((REFERENCES / "samples.json").read_text())["values"]
    if value["id"].startswith("groups/")
]


def drawn(sizes, C=2, M=9, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return GroupedRanks.of(rng.integers(0, M + 1, (labels.size, C)), M, labels)


@pytest.mark.parametrize("value", BOOK, ids=lambda value: value["id"])
def test_reference(value):
    ranks, groups = value["inputs"]
    with np.load(REFERENCES / "samples.npz") as arrays:
        M = arrays[ranks.replace("ranks", "samples")].shape[1]
        found = grouped(GroupedRanks.of(arrays[ranks], M, arrays[groups]), "holm")
    raw = found.details["pvalue_each"].reshape(len(value["value"]), -1)
    for g, expected in enumerate(value["value"]):
        assert found.details["groups"][g] == expected["group"]
        assert found.details["rows"][g] == expected["n"]
        np.testing.assert_allclose(raw[g], expected["pvalue"], rtol=value["rtol"])


def test_holm_counts_all_cells():
    found = grouped(drawn([40, 30, 50]), "holm")
    raw, adjusted = found.details["pvalue_each"], found.pvalue
    assert raw.shape == adjusted.shape == found.statistic.shape == (3, 2)
    assert adjusted.min() == pytest.approx(min(1, 6 * raw.min()))
    assert (adjusted >= raw).all()
    np.testing.assert_allclose(grouped(drawn([40, 30, 50]), "bonferroni").pvalue, np.minimum(1, 6 * raw))
    np.testing.assert_array_equal(grouped(drawn([40, 30, 50]), "none").pvalue, raw)


def test_small_groups_are_listed_and_not_tested():
    found = grouped(drawn([40, 19, 20]), "bonferroni")
    assert found.details["rows"].tolist() == [40, 19, 20]
    assert np.isnan(found.pvalue).tolist() == [[False] * 2, [True] * 2, [False] * 2]
    assert np.isnan(found.statistic[1]).all()
    assert np.isfinite(np.stack(found.estimate)).all()
    np.testing.assert_allclose(found.pvalue[0], np.minimum(1, 4 * found.details["pvalue_each"][0]))
    assert "1 of them too small" in found.method
    assert "4 p-values" in found.method
    assert found.n == 79


def test_one_column_without_an_axis():
    rank, labels = np.arange(60) % 10, np.arange(60) % 2
    found = grouped(GroupedRanks.of(rank, 9, labels), "holm")
    assert found.pvalue.shape == found.estimate[0].shape == (2,)
    assert found.details["pvalue_each"][1] == pytest.approx(band_test(Ranks.of(rank[1::2], 9)).pvalue[0])
    assert found.details["tied"] == 0


def test_no_group_is_large_enough(refusal):
    message = refusal(grouped, drawn([19, 12]), "holm", error=NotApplicableError)
    assert "20 rows" in message
    assert "has 19" in message


def test_errors_that_cancel_are_seen():
    rng = np.random.default_rng(0)
    high = rng.random(400) < 0.5
    rank = np.where(high, rng.integers(3, 10, 400), rng.integers(0, 7, 400))
    assert grouped(GroupedRanks.of(rank, 9, high), "holm").pvalue.max() < 1e-6
