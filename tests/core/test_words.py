"""Numbers look the same wherever an audit shows them: four significant digits, p-values with three decimals."""

import re

import numpy as np
import pytest

import calibrant as cb
from calibrant.core.words import cell, interval, level, number, pvalue


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1.000"),
        (0.9, "0.9000"),
        (0.99996, "1.000"),
        (0.08421, "0.08421"),
        (0.0001234567, "0.0001235"),
        (0.0000123456, "1.235e−05"),
        (-5.21574, "−5.216"),
        (12.3456, "12.35"),
        (999.96, "1,000"),
        (1234.5678, "1,235"),
        (9999.6, "10,000"),
        (12345.678, "12,346"),
        (1e20, "1.000e+20"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
        (float("nan"), "–"),
        (None, "–"),
    ],
)
def test_values_have_four_digits(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0123, "0.012"), (0.00099, "< 0.001"), (0.001, "0.001"), (0.5, "0.500"), (1.0, "> 0.999"), (None, "–")],
)
def test_p_values_have_three_decimals(value, text):
    assert pvalue(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.9, "0.9"), (0.975, "0.975"), (5 / 11, "0.4545"), (0.99999, "0.99999"), (1e-6, "1e-06")]
)
def test_levels_look_as_they_were_given(value, text):
    assert level(value) == text
    assert cell("nominal", value) == text


def test_cells_and_intervals():
    assert interval((0.1, 12.5)) == "0.1000 to 12.50"
    assert cell("interval", (0.1, None)) == "0.1000 to –"
    assert cell("pvalue_adjusted", 0.0123) == cell("p-value", 0.0123) == "0.012"
    assert cell("n", np.int64(12345)) == "12,345"


def test_every_number_of_a_text_has_them():
    rng = np.random.default_rng(0)
    std = rng.uniform(1, 3, 500)
    y = rng.normal(0, std)
    text = str(cb.audit(y, cb.Normal(np.zeros(500), std).interval([0.5, 0.9]), groups=np.arange(500) % 2, resamples=19))
    tables = [line for line in text.splitlines() if re.search(r"\d\.\d{2}", line) and "%:" not in line]
    numbers = [found for line in tables for found in re.findall(r"(?<![\d.])\d*\.\d+(?:e−\d+)?", line)]
    digits = {len(re.sub(r"e.*|\.", "", found).lstrip("0")) for found in numbers if found not in ("0.5", "0.9")}
    assert digits <= {1, 2, 3, 4}  # those of p-values have three decimals
    assert "p-value adjusted" in text
    assert "pvalue" not in text
