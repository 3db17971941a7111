"""What a pass over files refuses is said with its place in them."""

import pytest

from calibrant.errors import NotApplicableError
from calibrant.files.scan import scan


def test_a_bad_value(three, refusal, measure):
    def change(rows):
        rows["p"][70] = 1.5

    message = refusal(measure, three(change))
    assert message.startswith("f/1.parquet, rows 64 to 127: ")
    assert "row 70 is 1.5" in message


def test_no_rows_at_all(three, refusal, tmp_path, measure):
    folder = three(lambda rows: None)
    expected = "the 3 files, from f/0.parquet on, have nothing to measure: where='age > 1000' keeps none of the rows"
    assert refusal(measure, folder, where="age > 1000") == expected
    (tmp_path / "none.csv").write_text("y,p\n")
    assert refusal(measure, "none.csv") == "none.csv has nothing to measure: there are no rows"


@pytest.mark.parametrize(("verb", "rounded"), [("mmce", False), ("mmce", True), ("brier_score", False)])
def test_more_different_scores_than_memory(tmp_path, columns, write, monkeypatch, refusal, verb, rounded):
    """Few different scores fit, however many rows there are."""
    p = columns["p"].round(1) if rounded else columns["p"]
    rows = scan(write(tmp_path / "a.parquet", {**columns, "p": p}), y="y", prediction="p")
    right = rows.measure(verb, exact=True)
    monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}.get)
    if verb == "mmce" and not rounded:
        message = refusal(rows.measure, verb, exact=True, error=NotApplicableError)
        assert "about 1,000 rows need 0.0 GB of memory" in message
    else:
        assert rows.measure(verb, exact=True) == right
