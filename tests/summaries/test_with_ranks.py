"""What summaries share that hold counts of ranks."""

from calibrant import Ranks, SummaryError
from calibrant.summaries import GroupedRanks, KeptRanks, RankCovariates
from calibrant.summaries.with_ranks import WithRanks


def test_ranks_and_rows_are_those_of_all_parts():
    parts = (Ranks.of([0, 1], 3), Ranks.of([3], 3))
    found = WithRanks(parts)
    assert found.n == 3
    assert found.ranks == Ranks.of([0, 1, 3], 3)
    assert WithRanks(()).n == 0
    assert WithRanks(()).ranks == Ranks.zero()


def test_only_ranks_are_parts(refusal):
    assert "must be Ranks" in refusal(WithRanks, (3,), error=SummaryError)


def test_bytes_with_parts_of_another_kind_are_refused(refusal):
    inner = GroupedRanks.of([0], 3, ["a"])
    foreign = KeptRanks.of([0], 3, [1.0])
    data = inner.to_bytes().replace(b"GroupedRanks", b"KeptRanks")
    assert refusal(RankCovariates.from_bytes, foreign.to_bytes(), error=SummaryError)
    assert refusal(GroupedRanks.from_bytes, data, error=SummaryError)
