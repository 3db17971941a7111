"""Numbers look the same wherever an audit shows them: four significant digits, p-values with three decimals."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cb
from calibrant.core import words


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
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0123, "0.012"), (0.00099, "< 0.001"), (0.001, "0.001"), (0.5, "0.500"), (1.0, "> 0.999"), (None, "–")],
)
def test_p_values_have_three_decimals(value, text):
    assert words.pvalue(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.9, "0.9"), (0.975, "0.975"), (5 / 11, "0.4545"), (0.99999, "0.99999"), (1e-6, "1e-06")]
)
def test_levels_look_as_they_were_given(value, text):
    assert words.level(value) == text
    assert words.cell("nominal", value) == text


def test_cells_and_intervals():
    assert words.bounds_words((0.1, 12.5)) == "0.1000 to 12.50"
    assert words.cell("interval", (0.1, None)) == "0.1000 to –"
    assert words.cell("pvalue_adjusted", 0.0123) == words.cell("p-value", 0.0123) == "0.012"
    assert words.cell("n", np.int64(12345)) == "12,345"


def test_every_number_of_a_text_has_them(rng):
    std = rng.uniform(1, 3, 500)
    y = rng.normal(0, std)
    text = str(cb.audit(y, cb.Normal(np.zeros(500), std).interval([0.5, 0.9]), groups=np.arange(500) % 2, resamples=19))
    measured = text[text.index("measurement") :]
    tables = [line for line in measured.splitlines() if re.search(r"\d\.\d{2}", line)]
    numbers = [found for line in tables for found in re.findall(r"(?<![\d.])\d*\.\d+(?:e−\d+)?", line)]
    digits = {len(re.sub(r"e.*|\.", "", found).lstrip("0")) for found in numbers if found not in ("0.5", "0.9")}
    assert digits <= {1, 2, 3, 4}  # those of p-values have three decimals
    assert "p-value adjusted" in text
    assert "pvalue" not in text


shares = st.floats(0, 1, allow_subnormal=False)


def as_share(text):
    """Return a written percentage as a share: of one that is only bounded, such as "above 0", a number beside it."""
    if text in ("above 0", "below 0"):
        return 5e-324 if text == "above 0" else -5e-324
    return float(text.removeprefix("less than ").replace("−", "-")) / 100


SAME = 1e-9


class TestRounding:
    """What is written of limits is true, and an estimate contradicts neither its limits nor the tolerance."""

    @given(shares, shares, shares, st.sampled_from([0.01, 0.0123, 0.02, 0.05]))
    def test_errors(self, a, b, c, tolerance):
        low, estimate, high = sorted((a, b, c))
        down, up, middle = map(as_share, words.outward(low, high, estimate, tolerance))
        assert down <= low + SAME
        assert up >= high - SAME
        assert down <= middle <= up
        assert all(exact == 0 for exact, shown in ((low, down), (high, up), (estimate, middle)) if shown == 0)
        for exact, shown in ((low, down), (high, up), (estimate, middle)):
            if abs(exact - tolerance) > 1e-7:
                assert (shown > tolerance + SAME) == (exact > tolerance)

    @given(shares, shares, shares, st.sampled_from([0.5, 0.9, 0.975]))
    def test_shares_around_a_level(self, a, b, c, level):
        low, estimate, high = sorted((a, b, c))
        shown = map(as_share, words.outward(low, high, estimate, expected=level, digits=0))
        for exact, written in zip((low, high, estimate), shown, strict=True):
            if abs(exact - level) > 1e-7:
                assert np.sign(round(written - level, 9)) == np.sign(exact - level)

    @given(st.floats(-1e6, 1e6), st.integers(0, 6))
    def test_up_and_down(self, value, digits):
        assert words.round_down(value, digits) <= value + 1e-6 * 10.0**-digits
        assert words.round_up(value, digits) >= value - 1e-6 * 10.0**-digits
        assert words.round_up(value, digits) - words.round_down(value, digits) <= 1.01 * 10.0**-digits

    @given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
    def test_limits_of_any_size(self, a, b):
        low, high = sorted((a, b))
        down, up = (100 * as_share(text) for text in words.short_limits(low, high).split(" to "))
        slack = 1e-6 * max(abs(low), abs(high)) + 1e-290
        assert down <= low + slack
        assert up >= high - slack

    @given(st.floats(1e-6, 1))
    def test_points_rounded_upwards(self, value):
        assert float(words.points(value, up=True).split()[0]) / 100 >= value * (1 - 1e-9)
        assert float(words.tolerance_words(value).split()[0]) / 100 >= value * (1 - 1e-9)
