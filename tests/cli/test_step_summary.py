"""The summary of a build step shows text as it is."""

from calibrant.cli.conditions import Condition, Outcome
from calibrant.cli.step_summary import step_summary


def test_nothing_is_markup():
    outcome = Outcome(Condition("a|b > 1", "a|b", ">", 1.0), 2.0)
    text = step_summary([outcome], "<img src=x>[a](b)|`c`", "**bold**\n# heading & <b>")
    assert text == (
        "### Calibration of &lt;img src=x&gt;\\[a\\]\\(b\\)\\|\\`c\\`\n"
        "\n"
        "\\*\\*bold\\*\\* \\# heading &amp; &lt;b&gt;\n"
        "\n"
        "| | measurement | value | fails if |\n"
        "|---|---|---:|---|\n"
        "| ❌ failed | a\\|b | 2 | &gt; 1 |\n"
        "\n"
    )
