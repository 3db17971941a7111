"""Audit of one probability per row."""

from __future__ import annotations

from calibrant.audit import words
from calibrant.audit.groups import kuiper_groups
from calibrant.audit.measurements import measure
from calibrant.audit.pairs import Pairs, RowPairs
from calibrant.audit.sections import Part, Setting, audits
from calibrant.catalogue import find
from calibrant.inputs import Binary
from calibrant.results import Curve, Figure, Section
from calibrant.summaries import Ordered

MOST_SCORES = 4_000
TESTS = ("kuiper_test", "spiegelhalter_test", "ece")


@audits(Binary, groups=kuiper_groups)
def audit_binary(rows: Binary, setting: Setting) -> Part:
    """Return what there is to say about probabilities of an event."""
    return audit_binary_pairs(RowPairs(rows), setting)


def audit_binary_pairs(pairs: Pairs, setting: Setting) -> Part:
    """Audit the probability of an event."""
    return audit_pairs(
        pairs,
        setting,
        name="probabilities",
        title="Probabilities",
        intro="Does the event happen as often as predicted?",
        happens="it happens",
    )


def audit_pairs(pairs: Pairs, setting: Setting, *, name: str, title: str, intro: str, happens: str) -> Part:
    """Audit one probability per row, from one sort."""
    summary = pairs.ordered
    measurements, missing = measure(pairs, setting)
    tenths = _reliability(summary, setting, bins=10, strategy="mass", simultaneous=True)
    verdict = words.verdict(measurements, tenths, summary, tests=TESTS, happens=happens, setting=setting)
    section = Section(name, title, intro, measurements, _figures(summary, setting))
    caveats = words.caveats(summary, setting.level, measurements, pooled=pairs.pooled)
    return Part((section,), verdict, (*caveats, *missing))


def _reliability(summary: Ordered, setting: Setting, **options: object) -> Curve:
    entry = find("reliability_curve")
    given = {"level": setting.level, "resamples": setting.resamples, "rng": setting.rng, **options}
    curve: Curve = entry.finish(summary, **entry.completed(given))
    return curve


def _figures(summary: Ordered, setting: Setting) -> tuple[Figure, ...]:
    cells = summary.at_most(MOST_SCORES)  # more cannot be told apart in a picture, and the results stay small
    return (
        Figure(
            "reliability",
            "Predicted against observed",
            "Each dot is a bin of predictions. On the diagonal what was predicted happened as often as predicted; "
            "below it predictions are too high, above it too low. A dot outside its grey box is off by more than "
            "chance.",
            _reliability(summary, setting),
        ),
        Figure(
            "isotonic",
            "Recalibrated",
            "The line shows what each prediction should have been, judged by these rows. Where it leaves the grey "
            "region, chance does not explain the difference.",
            _reliability(cells, setting, strategy="isotonic"),
        ),
        Figure(
            "cumulative",
            "Cumulative differences",
            "Rows are added in the order of their predictions. Where the line rises predictions are too low, where it "
            "falls too high, and the steeper the more. No bins are needed.",
            find("cumulative_differences").finish(cells),
        ),
    )
