"""The summary that GitHub shows on the page of a build: Markdown, with everything from the user escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from calibrant.cli.conditions import Outcome
from calibrant.cli.messages import printable

MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+.!|~-])")


def step_summary(outcomes: Sequence[Outcome], source: str, headline: str) -> str:
    """Return a heading, the verdict and a table of the conditions."""
    rows = [
        f"| {'❌ failed' if outcome.failed else '✅ passed'} | {_escaped(outcome.condition.name)} "
        f"| {_escaped(outcome.value_text)} | {_escaped(outcome.condition.op)} {_escaped(outcome.limit_text)} |"
        for outcome in outcomes
    ]
    head = ["| | measurement | value | fails if |", "|---|---|---:|---|"]
    return "\n".join([f"### Calibration of {_escaped(source)}", "", _escaped(headline), "", *head, *rows, "", ""])


def _escaped(text: str) -> str:
    """Return the text as Markdown that shows it as it is."""
    line = printable(text).replace("\n", " ")
    return MARKDOWN.sub(r"\\\1", html.escape(line, quote=False))
