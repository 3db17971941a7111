"""The page for users of MAPIE: its cells run, and what it calls the same number is the same number."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "from_mapie.md"
CELL = re.compile(r"^```\{code-cell\} python\n(?P<options>(?::[^\n]*\n)*)(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)

MEASUREMENTS = {
    # every function of mapie.metrics 1.6.0 that measures, but for excess_risk_target_coverage
    *("regression_coverage_score", "regression_mean_width_score", "regression_ssc", "regression_ssc_score", "hsic"),
    *("coverage_width_based", "regression_mwi_score"),
    *("classification_coverage_score", "classification_mean_width_score"),
    *("classification_ssc", "classification_ssc_score"),
    *("coverage_gap", "worst_slab_coverage"),
    *("expected_calibration_error", "top_label_ece", "cumulative_differences", "length_scale"),
    *("kolmogorov_smirnov_statistic", "kolmogorov_smirnov_p_value", "kuiper_statistic", "kuiper_p_value"),
    *("spiegelhalter_statistic", "spiegelhalter_p_value"),
}


@pytest.fixture(scope="module")
def page():
    """Run the cells of the page, which compare the recorded values with ours, and return their names."""
    display = ModuleType("IPython.display")
    display.Markdown = str
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "IPython.display", display)
        names = {}
        for cell in CELL.finditer(PAGE.read_text("utf-8")):
            exec(compile(cell["code"], str(PAGE), "exec"), names)
    return names


def test_every_comparison_of_the_page_holds(page):
    assert len(page["checked"]) >= len(MEASUREMENTS)


def test_every_measurement_is_on_the_page(page):
    assert {call.split("(")[0] for call, _, _ in page["checked"]} == MEASUREMENTS


def test_a_wrong_number_would_be_noticed(page):
    assert not page["check"](0.75, 0.7500001, page["SAME"])
    assert not page["check"](0.75, 0.751, page["NOISE"])
    assert not page["check"](0.75, 0.75, page["OTHER"])
    assert not page["check"]("ValueError", 0.75, page["SAME"])
