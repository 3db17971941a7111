"""The page on validity shows the results that are committed."""

import pytest
from benchmarks.validity.page import PAGE, PICTURE, filled, kind_of, tables


def test_the_tables_of_the_page_are_those_of_the_results() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text, tables()) == text, "run: python -m benchmarks.validity.page"


def test_the_picture_is_committed() -> None:
    assert PICTURE.read_text(encoding="utf-8").startswith("<?xml")


def test_a_table_without_a_place_is_an_error() -> None:
    with pytest.raises(ValueError, match="no place for the table 'new'"):
        filled("<!-- begin new -->", {"new": "| a |"})


def test_designs_are_sorted_by_their_kind_of_prediction() -> None:
    kinds = {design: kind_of(design) for design in ("quantiles of counts", "3 classes, 4 groups, calibrated", "wave")}
    assert list(kinds.values()) == ["quantiles", "classes", "one probability per row"]
