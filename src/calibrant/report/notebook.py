"""What a notebook shows of results: HTML without other files, in colours for light and dark themes."""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any
from zlib import crc32

import numpy as np

from calibrant.core import words
from calibrant.core.claims import Claim
from calibrant.core.findings import Findings, Table, Verdict
from calibrant.core.plot_style import MAX_COLOURED_LINES, flattened
from calibrant.core.results import Curve
from calibrant.core.tabular import Tabular
from calibrant.errors import MissingExtraError
from calibrant.judging.voice import HEADINGS, rows_of
from calibrant.report.page import MARKS, Detail, marked, parts, style_sheet, tone_of
from calibrant.report.pictures import picture
from calibrant.report.text import measurement_rows

MAX_ROWS = 20  # of a table
MAX_CLAIMS = 12
MAX_WORDS = 60  # characters of a text in a column of the usual width
NUMBER, LONG = "n", "long"  # kinds of columns
DETAIL = Detail(points=400, places=60)
NO_PICTURE = "<p>For a picture: <code>pip install 'calibrant[plot]'</code></p>"


def record(value: Tabular) -> str:
    """Return names and values of what is the same in all rows, and the first rows of what is not."""
    columns, kind = value._columns(), html.escape(type(value).__name__)
    different = {name: column for name, column in columns.items() if any(cell != column[0] for cell in column[1:])}
    same = [(words.heading(n), _cell(n, column[0])) for n, column in columns.items() if n not in different]
    given = [(name, text) for name, text in same if text not in ("", words.MISSING)]
    shown = _table((), given, caption=f"<caption>{kind}</caption>")
    return _framed(shown + (_grid(different) if different else ""))


def table(value: Table) -> str:
    return _framed(f"<p>{_sentence(value.title)}</p>{_grid(value.columns)}{_note(value.note)}")


def curve(value: Curve) -> str:
    columns = flattened(value.columns, value.details, MAX_COLOURED_LINES)
    length = len(next(iter(columns.values())))
    return _framed(_drawn(value, f"{value.kind} curve") + _folded(f"Data ({length:,} points)", _grid(columns)))


def claims(values: Sequence[Claim]) -> str:
    return _framed(_claims(values))


def verdict(value: Verdict) -> str:
    return _framed(_headline(value) + _claims(value.claims) + _lines(value))


def audit(findings: Findings) -> str:
    """Return headline, first picture and claims; everything else is folded."""
    figure = next((figure for section in findings.sections for figure in section.figures), None)
    answer, tables = findings.verdict, [table for section in findings.sections for table in section.tables]
    tables += [findings.groups] if findings.groups else []
    caveats = "".join(f"<li>{_sentence(caveat)}</li>" for caveat in findings.caveats)
    folded = [
        ("Measurements", _measurements(findings) if findings.measurements else ""),
        *((table.title, _grid(table.columns, marked(table, answer.claims)) + _note(table.note)) for table in tables),
        ("Keep in mind", f"<ul>{caveats}</ul>" if caveats else ""),
    ]
    return _framed(
        _headline(answer, tone_of(findings.kind, answer)[0])
        + (_drawn(figure.curve, figure.title) if figure else "")
        + _claims(answer.claims)
        + _lines(answer)
        + "".join(_folded(title, content) for title, content in folded if content)
    )


@cache
def _style() -> str:
    """Return the style of a result; it is nested, so nothing else in the notebook takes it on."""
    return f"<style>.calibrant {{\n{style_sheet('notebook.css', 'pictures.css')}}}</style>"


def _framed(content: str) -> str:
    return f'{_style()}<div class="calibrant">{words.without_direction(content)}</div>'


def _headline(value: Verdict, tone: str = "") -> str:
    mark = f'<span class="{tone}">{MARKS[tone]}</span> ' if tone else ""
    return f'<p class="headline">{mark}{_sentence(value.headline)}</p>'


def _claims(values: Sequence[Claim]) -> str:
    """Return the table of claims; a single claim stands in the headline."""
    rows = rows_of(values)
    columns = [k for k, name in enumerate(HEADINGS) if not name or any(row[k] for row in rows)]
    shown = [[words.sentence(str(row[k])) for k in columns] for row in rows[:MAX_CLAIMS]]
    if not rows:
        return ""
    kinds = [NUMBER if 0 < k < len(HEADINGS) - 1 else "" for k in columns]
    return _table([HEADINGS[k] or "meaning" for k in columns], shown, kinds) + _more(len(rows) - MAX_CLAIMS, "claims")


def _lines(value: Verdict) -> str:
    return "".join(f"<p><small>{_sentence(label)}</small> {_sentence(text)}</p>" for label, text in value.lines)


def _measurements(findings: Findings) -> str:
    shown = [measurement for _, part in parts(findings.measurements, findings) for measurement in part]
    headings, *rows = measurement_rows(shown, findings)
    methods = "".join(
        f"<li>{_sentence(how)}: {html.escape(', '.join(m.name for m in shown if m.method == how))}</li>"
        for how in dict.fromkeys(m.method for m in shown if m.method)
    )
    kinds = ["", *[NUMBER] * (len(headings) - 1)]
    return _table(headings, rows, kinds, bold=[k for k, m in enumerate(shown) if m.decides]) + (
        f"<ul>{methods}</ul>" if methods else ""
    )


def _drawn(value: Curve, title: str) -> str:
    identity = crc32(repr([value.kind, *(column.tolist() for column in value.columns.values())]).encode())
    try:
        return picture(value, f"c{identity:08x}", title, points=DETAIL.points, places=DETAIL.places)
    except MissingExtraError:
        return NO_PICTURE


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{_sentence(words.label(title))}</summary>{content}</details>"


def _note(text: str) -> str:
    return f"<p><small>{_sentence(text)}</small></p>" if text else ""


def _more(rows: int, things: str = "rows") -> str:
    return f"<p><small>{rows:,} more {things}: <code>.to_frame()</code></small></p>" if rows > 0 else ""


def _grid(columns: Mapping[str, Sequence[Any]], tones: Sequence[str] = ()) -> str:
    total = len(next(iter(columns.values()), ()))
    first = {name: np.asarray(column[:MAX_ROWS], dtype=object).tolist() for name, column in columns.items()}
    rows = list(zip(*([_cell(name, value) for value in column] for name, column in first.items()), strict=True))
    marks = [f"{MARKS[tone]} " if tone else "" for tone in tones[:MAX_ROWS]]
    marked_rows = [(mark + row[0], *row[1:]) for mark, row in zip_longest(marks, rows, fillvalue="")]
    kinds = [
        NUMBER if words.is_numeric(column) else LONG if max(map(len, texts)) > MAX_WORDS else ""
        for column, texts in zip(first.values(), zip(*rows, strict=True), strict=True)
    ]
    return _table([words.heading(name) for name in columns], marked_rows, kinds) + _more(total - MAX_ROWS)


def _cell(name: str, value: Any) -> str:
    return words.sentence(value) if isinstance(value, str) else words.cell(name, value)


def _sentence(text: str) -> str:
    return html.escape(words.sentence(text))


def _table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    kinds: Sequence[str] = ("", ""),
    *,
    bold: Collection[int] = (),
    caption: str = "",
) -> str:
    """Return a table of texts, which are escaped. The first cell of a row is its heading; columns have a kind."""

    def cells(row: Sequence[str], *tags: str) -> str:
        each = zip_longest(row, kinds, tags, fillvalue=tags[-1])
        return "".join(f'<{tag} class="{kind}">{html.escape(text)}</{tag}>' for text, kind, tag in each)

    body = "".join(
        f'<tr class="{"decides" if k in bold else ""}">{cells(row, "th", "td")}</tr>' for k, row in enumerate(rows)
    )
    head = f"<thead><tr>{cells(headings, 'th')}</tr></thead>" if headings else ""
    return f'<div class="scroll"><table>{caption}{head}<tbody>{body}</tbody></table></div>'.replace(' class=""', "")
