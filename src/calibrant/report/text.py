"""Findings as text for a terminal."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence

from calibrant.core.claims import Claim
from calibrant.core.findings import Findings, Measurement, Table
from calibrant.core.words import (
    LONGEST_SENTENCE,
    MISSING,
    bounds_words,
    cell,
    confidence_words,
    expected_words,
    heading,
    number,
    pvalue,
)
from calibrant.core.words import text as plain
from calibrant.judging.voice import HEADINGS, Row, rows_of
from calibrant.report.page import MARKS, frame_of, marked, parts, tone_of

WIDTH = 88  # characters of a line
MIN_WIDTH, MAX_SENTENCE_WIDTH = 40, 100  # however narrow or wide a terminal is
MAX_TABLE_ROWS = 12
ROUNDING = "off by at most"
# Columns that a table can do without where lines would be too wide; the JSON has them.
OMITTED = ["statistic", "weight", "pvalue", "sharpness", "crps", "coverage_0.5", "predicted", "bias_low,bias_high"]
MIN_NAME_WIDTH = 28  # of the first column


def as_text(findings: Findings, width: int = WIDTH) -> str:
    """Return the verdict, the tables and the caveats, in lines of `width` characters where columns leave room."""
    width, verdict = max(width, MIN_WIDTH), findings.verdict
    blocks = [verdict_lines(findings, width)]
    for section in findings.sections:
        title = _wrapped(f"{section.title}: {section.intro}".rstrip(": "), "", "", width)
        code = [f"    {line}".rstrip() for line in section.code.splitlines()]  # as it is, to copy
        blocks.append([*title, *_measurements(section.measurements, findings, width), *code])
        blocks += [[plain(table.title), *_table(table, verdict.claims, width)] for table in section.tables]
    if findings.groups:
        blocks.append([plain(findings.groups.title), *_table(findings.groups, verdict.claims, width)])
    if findings.caveats:
        caveats = (line for caveat in findings.caveats for line in _wrapped(caveat, "- ", "  ", width))
        blocks.append(["Keep in mind", *caveats])
    return "\n\n".join("\n".join(block) for block in blocks).replace("\xa0", " ")  # which some terminals cannot show


MAX_CLAIMS = 8  # rows of the table of claims in a terminal
MAX_LABEL = 12
MIN_CELL = 14  # characters that a cell of the table of claims keeps


def verdict_lines(findings: Findings, width: int = WIDTH) -> list[str]:
    """Return the headline with its mark, the table of claims, and what else helps."""
    verdict, lines = findings.verdict, headline_lines(findings, width)
    rows = rows_of(verdict.claims)
    if len(rows) > 1:
        lines += ["", *claim_lines(rows, width)]
    if verdict.lines:
        lines.append("")
    for label, text in verdict.lines:
        first = f"  {label:<{MAX_LABEL}}" if label else "  "
        lines += _wrapped(text, first, " " * len(first), width)
    return lines


def headline_lines(findings: Findings, width: int = WIDTH) -> list[str]:
    tone, _ = tone_of(findings.kind, findings.verdict)
    return _wrapped(findings.verdict.headline, f"{MARKS[tone]} ", "  ", width)


def claim_lines(rows: Sequence[Row], width: int, most: int = MAX_CLAIMS) -> list[str]:
    """Return the table of claims; what a value means stands below its row where lines would be too wide."""
    shown = [[plain(cell) for cell in row[:-1]] for row in rows[:most]]
    *columns, last = [k for k, name in enumerate(HEADINGS) if not name or any(row[k] for row in shown)]
    wide = {k: max(len(HEADINGS[k]), *(len(row[k]) for row in shown)) for k in columns}
    for k in (0, *sorted(columns[1:], key=lambda k: -wide[k])):  # where lines are too long, long cells take several
        wide[k] = max(min(wide[k], MIN_CELL), wide[k] - max(0, _needed(list(wide.values())) - width))
    is_below = _needed([*wide.values(), max(len(row[last]) for row in shown)]) > width

    def printed(row: Sequence[str]) -> list[str]:
        cells = [textwrap.wrap(row[k], wide[k], break_on_hyphens=False) for k in columns]
        texts = [
            "  ".join(
                [f"  {first:<{wide[0]}}", *(f"{cell:>{wide[k]}}" for k, cell in zip(columns[1:], others, strict=True))]
            )
            for first, *others in itertools.zip_longest(*cells, fillvalue="")
        ] or [""]
        if row[last] and not is_below:
            texts[0] += f"  {row[last]}"
        return [*texts, *([f"    {row[last]}"] if row[last] and is_below else [])]

    lines = [text for row in (HEADINGS, *shown) for text in printed(row)]
    if len(rows) > most:
        lines.append(f"  … {len(rows) - most:,} more: in the report, or in the JSON")
    return [text.rstrip() for text in lines]


def measurement_rows(measurements: Sequence[Measurement], findings: Findings) -> list[tuple[str, ...]]:
    """Return the headings and the cells; empty columns are left out, except that of the values."""
    columns = {
        "measurement": [plain(m.label) for m in measurements],
        "value": [number(m.value) for m in measurements],
        ROUNDING: [number(m.rounding) for m in measurements],
        f"{confidence_words(findings.level)} interval": [bounds_words(m.interval) for m in measurements],
        frame_of(findings.kind).expected: [expected_words(m.expected, m.at_least) for m in measurements],
        "p-value": [pvalue(m.pvalue) for m in measurements],
    }
    shown = {
        name: cells for name, cells in columns.items() if name == "value" or any(cell != MISSING for cell in cells)
    }
    return [tuple(shown), *zip(*shown.values(), strict=True)]


def _measurements(measurements: Sequence[Measurement], findings: Findings, width: int) -> list[str]:
    """Return the table, in parts with headings; roundings are on a line below, not in a column."""
    if not measurements:
        return []
    found = parts(measurements, findings)
    heading, *rows = measurement_rows([m for _, part in found for m in part], findings)
    kept = [k for k, name in enumerate(heading) if name != ROUNDING]
    head, *lines = _aligned([tuple(row[k] for k in kept) for row in (heading, *rows)], width)
    table = [head]
    for title, part in found:
        table += [f"  {title}"] if title else []
        table += [lines.pop(0) for _ in part]
    rounded = ", ".join(f"{m.name} {number(m.rounding)}" for m in measurements if m.rounding is not None)
    return [*table, *(_wrapped(f"Counted in cells, {ROUNDING}: {rounded}.", "  ", "  ", width) if rounded else [])]


def _table(table: Table, claims: Sequence[Claim], width: int) -> list[str]:
    shown = min(table.length, MAX_TABLE_ROWS)
    columns = {
        name: [heading(name), *(cell(name, value) for value in column[:shown])]
        for name, column in table.columns.items()
    }
    head, *lines = _aligned(list(zip(*_that_fit(columns, width).values(), strict=True)), width)
    tones = marked(table, claims)
    lines = [f"{MARKS[tone]}{line[1:]}" if tone else line for tone, line in zip(tones, lines, strict=False)]
    if table.length > shown:
        lines.append(f"  ... and {table.length - shown:,} more")
    return [head, *lines, *_wrapped(table.note, "  ", "  ", width)]


def _that_fit(columns: Mapping[str, Sequence[str]], width: int) -> dict[str, Sequence[str]]:
    """Return the columns of a table without those that can be missed, where a line would be too wide."""
    kept = dict(columns)
    for names in OMITTED:
        widths = [max(map(len, column)) for column in kept.values()]
        if min(widths[0], MIN_NAME_WIDTH) + _needed(widths[1:]) > width and len(kept) > 2:
            kept = {name: column for name, column in kept.items() if name not in names.split(",")}
    return kept


def _aligned(rows: list[tuple[str, ...]], width: int) -> list[str]:
    """Return rows with aligned columns; long names in the first column take two lines, and are then cut."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    room = width - _needed(widths[1:])
    widths[0] = min(widths[0], max(room, MIN_NAME_WIDTH))
    lines = []
    for first, *others in rows:
        name, *rest = textwrap.wrap(first, widths[0], max_lines=2, placeholder="…", subsequent_indent="  ") or [""]
        cells = (f"{text:>{other}}" for text, other in zip(others, widths[1:], strict=True))
        line = "  ".join([f"  {name:<{widths[0]}}", *cells]).rstrip()
        lines.append("\n".join([line, *(f"  {more}" for more in rest)]))
    return lines


def _needed(widths: Sequence[int]) -> int:
    """Return the characters that columns after the first one take, and the indentation."""
    return sum(width + 2 for width in widths) + 2


def _wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    """Wrap a sentence, keeping a number and its percent sign together."""
    words = plain(text, LONGEST_SENTENCE).replace(" %", "\xa0%")
    room = min(width, MAX_SENTENCE_WIDTH)
    lines = textwrap.wrap(words, room, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return [line.replace("\xa0%", " %") for line in lines]
