"""Labels that mean the same have one form."""

from decimal import Decimal

import numpy as np
import pytest

from calibrant.inputs.label_forms import moment_texts, plain_decimal


@pytest.mark.parametrize("unit", ["h", "m", "s", "ms", "us", "ns"])
def test_a_moment_in_any_unit(unit):
    moments = np.array(["2024-02-29T06:00:00", "NaT"], dtype=f"M8[{unit}]")
    assert moment_texts(moments) == ["2024-02-29T06:00:00", "NaT"]


def test_parts_of_a_second_stay():
    assert moment_texts(np.array(["2024-02-29T06:00:00.250"], dtype="M8[ns]")) == ["2024-02-29T06:00:00.25"]


def test_days_stay_days():
    assert moment_texts(np.array(["2024-02-20"], dtype="M8[D]")) == ["2024-02-20"]


def test_spans_in_any_unit():
    texts = [moment_texts(np.array([k, "NaT"], dtype=f"m8[{unit}]")) for k, unit in ((90, "s"), (90_000, "ms"))]
    assert texts == [["90000000000 nanoseconds", "NaT"]] * 2


def test_spans_of_centuries_keep_their_unit():
    assert moment_texts(np.array([200_000], dtype="m8[D]")) == ["200000 days"]


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (Decimal("1.0"), 1),
        (Decimal("1E+2"), 100),
        (Decimal("-0.50"), Decimal("-0.5")),
        (Decimal("12345678901234567890"), 12345678901234567890),
        ("1.0", "1.0"),
        (1.0, 1.0),
        (None, None),
    ],
)
def test_decimals(value, form):
    found = plain_decimal(value)
    assert (found, type(found)) == (form, type(form))


def test_a_decimal_that_is_no_number_stays():
    assert plain_decimal(Decimal("NaN")).is_nan()
