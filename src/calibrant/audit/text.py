"""Findings as text for a terminal, and as a small table for a notebook."""

from __future__ import annotations

import html
import textwrap

from calibrant.report.wording import cell, number, pvalue
from calibrant.results import Findings, Measurement, Table

WIDTH = 88
MARKS = {"miscalibrated": "✗", "no evidence": "✓", "cannot tell": "?"}
MOST_ROWS = 12
WIDEST = 36


def as_text(findings: Findings) -> str:
    """Return the verdict, the tables and the caveats; sentences are at most 88 columns wide."""
    verdict = findings.verdict
    lines = [f"{MARKS.get(verdict.status, '')} {verdict.headline}"]
    for sentence in verdict.sentences:
        lines += _wrapped(sentence, "  ", "  ")
    for section in findings.sections:
        lines += ["", f"{section.title}: {section.intro}", *_measurements(section.measurements)]
        for table in section.tables:
            lines += ["", table.title, *_table(table)]
    if findings.groups:
        lines += ["", findings.groups.title, *_table(findings.groups)]
    lines += ["", "Keep in mind"]
    for caveat in findings.caveats:
        lines += _wrapped(caveat, "- ", "  ")
    return "\n".join(lines)


def as_html_fragment(findings: Findings) -> str:
    """Return the verdict and the measurements as HTML for a notebook; all text is escaped."""
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(m)) + "</tr>" for m in findings.measurements
    )
    sentences = " ".join(findings.verdict.sentences)
    head = "".join(f"<th>{name}</th>" for name in HEAD)
    return (
        f"<p><strong>{html.escape(findings.verdict.headline)}</strong> {html.escape(sentences)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


HEAD = ("measurement", "value", "if calibrated", "p-value")


def _cells(m: Measurement) -> tuple[str, str, str, str]:
    return m.label, number(m.value), number(m.expected), pvalue(m.pvalue)


def _measurements(measurements: tuple[Measurement, ...]) -> list[str]:
    rows = [HEAD, *(_cells(m) for m in measurements)]
    first = max(len(row[0]) for row in rows)
    return [f"  {a:<{first}}  {b:>9}  {c:>13}  {d:>8}".rstrip() for a, b, c, d in rows]


def _table(table: Table) -> list[str]:
    names = list(table.columns)
    shown = min(table.length, MOST_ROWS)
    rows = [names] + [[cell(name, table.columns[name][i])[:WIDEST] for name in names] for i in range(shown)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(names))]
    lines = []
    for first, *others in rows:
        cells = (f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join([f"  {first:<{widths[0]}}", *cells]))
    if table.length > shown:
        lines.append(f"  ... and {table.length - shown:,} more")
    return [*lines, *_wrapped(table.note, "  ", "  ")]


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    """Wrap a sentence, keeping a number and its percent sign together."""
    lines = textwrap.wrap(text.replace(" %", "\xa0%"), WIDTH, initial_indent=first, subsequent_indent=rest)
    return [line.replace("\xa0%", " %") for line in lines]
