"""Findings as text for a terminal, and as an HTML fragment for a notebook."""

from __future__ import annotations

import html
import textwrap

from calibrant.core.findings import Findings, Measurement, Table
from calibrant.core.words import LONGEST_SENTENCE, MISSING, cell, heading, interval, level_percent, number, pvalue
from calibrant.core.words import text as plain
from calibrant.report.page import MARKS, frame_of, tone_of

WIDTH = 88  # characters of a line
MAX_TABLE_ROWS = 12
ROUNDING = "off by at most"
MIN_NAME_WIDTH = 32  # of the first column; shorter names could look alike


def as_text(findings: Findings) -> str:
    """Return the verdict, the tables and the caveats, in lines of at most 88 characters."""
    verdict = findings.verdict
    tone, _ = tone_of(findings.kind, verdict.status)
    lines = [f"{MARKS[tone]} {plain(verdict.headline, LONGEST_SENTENCE)}"]
    for sentence in verdict.sentences:
        lines += _wrapped(sentence, "  ", "  ")
    for section in findings.sections:
        lines += ["", f"{section.title}: {section.intro}", *_measurements(section.measurements, findings)]
        for table in section.tables:
            lines += ["", table.title, *_table(table)]
    if findings.groups:
        lines += ["", findings.groups.title, *_table(findings.groups)]
    lines += ["", "Keep in mind"] if findings.caveats else []
    for caveat in findings.caveats:
        lines += _wrapped(caveat, "- ", "  ")
    return "\n".join(lines)


def as_html_fragment(findings: Findings) -> str:
    """Return the verdict and the measurements as HTML for a notebook; all text is escaped."""
    heading, *lines = _rows(findings.measurements, findings)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
    headline, *sentences = (
        plain(text, LONGEST_SENTENCE) for text in (findings.verdict.headline, *findings.verdict.sentences)
    )
    head = "".join(f"<th>{name}</th>" for name in heading)
    return (
        f"<p><strong>{html.escape(headline)}</strong> {html.escape(' '.join(sentences))}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _rows(measurements: tuple[Measurement, ...], findings: Findings) -> list[tuple[str, ...]]:
    """Return the headings and the cells; empty columns are left out, except that of the values."""
    columns = {
        "measurement": [plain(m.label) for m in measurements],
        "value": [number(m.value) for m in measurements],
        ROUNDING: [number(m.rounding) for m in measurements],
        f"{level_percent(findings.level)} interval": [interval(m.interval) for m in measurements],
        frame_of(findings.kind).expected: [number(m.expected) for m in measurements],
        "p-value": [pvalue(m.pvalue) for m in measurements],
    }
    shown = {
        name: cells for name, cells in columns.items() if name == "value" or any(cell != MISSING for cell in cells)
    }
    return [tuple(shown), *zip(*shown.values(), strict=True)]


def _measurements(measurements: tuple[Measurement, ...], findings: Findings) -> list[str]:
    """Return the table for a narrow terminal: roundings are on a line below, not in a column."""
    if not measurements:
        return []
    heading, *lines = _rows(measurements, findings)
    kept = [k for k, name in enumerate(heading) if name != ROUNDING]
    table = _aligned([tuple(row[k] for k in kept) for row in (heading, *lines)])
    rounded = ", ".join(f"{m.name} {number(m.rounding)}" for m in measurements if m.rounding is not None)
    return [*table, *(_wrapped(f"Counted in cells, {ROUNDING}: {rounded}.", "  ", "  ") if rounded else [])]


def _table(table: Table) -> list[str]:
    names = list(table.columns)
    shown = min(table.length, MAX_TABLE_ROWS)
    rows = [
        tuple(map(heading, names)),
        *(tuple(cell(name, table.columns[name][i]) for name in names) for i in range(shown)),
    ]
    lines = _aligned(rows)
    if table.length > shown:
        lines.append(f"  ... and {table.length - shown:,} more")
    return [*lines, *_wrapped(table.note, "  ", "  ")]


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Return lines with aligned columns; the first column is shortened if lines would be too wide."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    room = WIDTH - sum(width + 2 for width in widths[1:]) - 2
    widths[0] = min(widths[0], max(room, MIN_NAME_WIDTH))
    lines = []
    for first, *others in rows:
        name = first if len(first) <= widths[0] else f"{first[: widths[0] - 1]}…"
        cells = (f"{text:>{width}}" for text, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join([f"  {name:<{widths[0]}}", *cells]).rstrip())
    return lines


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    """Wrap a sentence, keeping a number and its percent sign together."""
    words = plain(text, LONGEST_SENTENCE).replace(" %", "\xa0%")
    lines = textwrap.wrap(words, WIDTH, initial_indent=first, subsequent_indent=rest)
    return [line.replace("\xa0%", " %") for line in lines]
