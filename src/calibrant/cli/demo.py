"""`calibrant demo`: a table of what was measured on example predictions, and a sentence on what it means."""

from __future__ import annotations

from typing import Any, NamedTuple

import calibrant as cb

DEMOS = {
    "churn": "Will a customer leave? One probability for each of {n:,} customers, by an over-trained network.",
    "digits": "Which digit is it? Ten probabilities for each of {n:,} images, by a small network.",
}


class Line(NamedTuple):
    """One measurement: its value, the value expected of calibrated predictions, and how surprising it is."""

    what: str
    value: float
    expected: float | None = None
    pvalue: float | None = None


def show(kind: str) -> None:
    """Print the table of one example."""
    from rich.console import Console
    from rich.table import Table

    y, P = _data(kind)
    correct, confidence = (y, P) if P.ndim == 1 else cb.top_label(y, P)
    console = Console(highlight=False)
    console.print(f"\n[bold]{kind}[/bold]  {DEMOS[kind].format(n=len(y))}")
    table = Table("measurement", "value", "if calibrated", "p-value")
    for column in table.columns[1:]:
        column.justify = "right"
    for line in _lines(y, P, correct, confidence):
        table.add_row(line.what, _number(line.value), _number(line.expected), _pvalue(line.pvalue))
    console.print(table)
    console.print(_verdict(P, correct, confidence))


def _data(kind: str) -> tuple[Any, Any]:
    if kind == "churn":
        churn = cb.examples.churn()
        return churn.y, churn.p
    digits = cb.examples.digits()
    return digits.y, digits.P


def _lines(y: Any, P: Any, correct: Any, confidence: Any) -> list[Line]:
    error = cb.consistency_test(y, P, metric=cb.ece)
    parts = cb.decompose(correct, confidence)
    miscalibration = cb.consistency_test(correct, confidence, metric=cb.decompose)
    spiegelhalter, kuiper = cb.spiegelhalter_test(correct, confidence), cb.kuiper_test(correct, confidence)
    return [
        Line("expected calibration error, 15 bins", error.estimate, error.details["expected"], error.pvalue),
        Line(
            "miscalibration part of the Brier score",
            parts.mcb,
            miscalibration.details["expected"],
            miscalibration.pvalue,
        ),
        Line("discrimination part of the Brier score", parts.dsc),
        Line("Brier score less its expectation (Spiegelhalter)", spiegelhalter.estimate, 0.0, spiegelhalter.pvalue),
        Line("range of cumulative differences (Kuiper)", kuiper.estimate, None, kuiper.pvalue),
        Line("log score", cb.log_score(y, P)),
    ]


def _verdict(P: Any, correct: Any, confidence: Any) -> str:
    """Say where the predictions are off most, in the units a person thinks in."""
    curve = cb.reliability_curve(correct, confidence, bins=10, strategy="mass", simultaneous=True)
    outside = (curve.mean_observed < curve.consistency_low) | (curve.mean_observed > curve.consistency_high)
    if not outside.any():
        return "No tenth of the rows is off by more than chance would make it."
    gap = abs(curve.mean_observed - curve.mean_predicted) * outside
    b = int(gap.argmax())
    event = "it happens" if P.ndim == 1 else "it is right"
    return (
        f"When it says about {curve.mean_predicted[b]:.0%}, {event} {curve.mean_observed[b]:.0%} of the time "
        f"({curve.count[b]:,} rows; calibrated predictions would give {curve.consistency_low[b]:.0%} to "
        f"{curve.consistency_high[b]:.0%})."
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _pvalue(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if value >= 0.001 else "< 0.001" if value > 0 else "0"
