"""Different sizes in order: pooled, merged, and their medians."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Summary, SummaryError
from calibrant.inputs.weights import unit_weights
from calibrant.summaries.size_weights import SizeWeights

SIZES = st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.5, np.inf]), st.integers(1, 3)), min_size=1, max_size=10)


def of(sizes, weights=None):
    sizes = np.asarray(sizes, dtype=float)
    return SizeWeights.of({"s": sizes}, unit_weights(sizes.size) if weights is None else np.asarray(weights, float))


def test_by_hand():
    found = of([3.0, 1.0, 3.0, 2.0])
    assert found.size.tolist() == [1.0, 2.0, 3.0]
    assert found.weight.tolist() == [1.0, 1.0, 2.0]
    assert (found.n, found.median_of("s")) == (4, 2.5)


def test_several_columns():
    found = SizeWeights.of({"a": np.array([1.0, 1.0]), "b": np.array([4.0, 2.0])}, unit_weights(2))
    assert found.ends.tolist() == [1, 3]
    assert (found.median_of("a"), found.median_of("b")) == (1.0, 3.0)


@given(SIZES, SIZES)
def test_merging(first, second):
    parts = [np.array(part).T for part in (first, second)]
    whole = of(*np.concatenate(parts, axis=1))
    merged = of(*parts[0]) + of(*parts[1])
    assert merged == whole
    assert Summary.from_bytes(merged.to_bytes()) == merged
    assert merged + SizeWeights.zero() == SizeWeights.zero() + merged == merged


@given(SIZES)
def test_whole_weights_are_repeated_rows(drawn):
    sizes, w = np.array(drawn).T
    assert of(sizes, w).median_of("s") == of(np.repeat(sizes, w.astype(int))).median_of("s")


class TestRefused:
    def test_names(self, refusal):
        other = SizeWeights.of({"t": np.ones(1)}, unit_weights(1))
        message = refusal(lambda: of([1.0]) + other, error=SummaryError)
        assert message == "sizes of ('s',) do not merge with sizes of ('t',)"
        assert "not of t" in refusal(of([1.0]).median_of, "t", error=SummaryError)
        assert "nothing" in refusal(SizeWeights.zero().median_of, "t", error=SummaryError)

    def test_columns_that_do_not_fit(self):
        with pytest.raises(SummaryError, match="must end where"):
            SizeWeights(("s",), 1, np.ones(2), np.ones(2), np.array([1]))
