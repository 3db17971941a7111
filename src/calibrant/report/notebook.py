"""What a notebook shows of results: HTML without other files, in colours for light and dark themes."""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np

from calibrant.core import words
from calibrant.core.claims import Claim
from calibrant.core.findings import Findings, Verdict
from calibrant.core.plot_style import MAX_COLOURED_LINES, flattened
from calibrant.core.results import Curve
from calibrant.core.tabular import Tabular
from calibrant.errors import MissingExtraError
from calibrant.judging.voice import HEADINGS, rows_of
from calibrant.report.page import MARKS, marked, parts, style_sheet, tone_of
from calibrant.report.pictures import picture
from calibrant.report.text import measurement_rows

Texts: TypeAlias = Sequence[str]
Places: TypeAlias = Collection[int]
MAX_ROWS, MAX_CLAIMS, MAX_SAME = 20, 12, 30
POINTS, PLACES = 400, 60  # that are drawn, and that show values on hovering
NO_PICTURE = "<p>For a picture: <code>pip install 'calibrant[plot]'</code></p>"


def record(value: Tabular) -> str:
    """Return names and values of what is the same in all rows, and the first rows of what is not."""
    columns = value._columns()
    different = {name: column for name, column in columns.items() if any(cell != column[0] for cell in column[1:])}
    same = [(words.heading(n), _cell(n, column[0])) for n, column in columns.items() if n not in different]
    said = [pair for pair in same if pair[1] not in ("", words.MISSING)]
    if len(said) > 2 * MAX_SAME:  # a map of many groups
        said[MAX_SAME:-MAX_SAME] = [("…", f"{len(said) - 2 * MAX_SAME:,} more")]
    shown = _table((type(value).__name__, ""), said)
    return _framed(shown + (_grid(different) if different else ""))


def curve(value: Curve) -> str:
    columns = flattened(value.columns, value.details, MAX_COLOURED_LINES)
    return _framed(_drawn(value, f"{value.kind} curve") + _folded("Data of this figure", _grid(columns)))


def claims(values: Sequence[Claim]) -> str:
    return _framed(_claims(values))


def verdict(value: Verdict) -> str:
    return _framed(_headline(value) + _claims(value.claims) + _lines(value))


def audit(findings: Findings) -> str:
    """Return headline, first picture and claims; everything else is folded."""
    answer = findings.verdict
    figures = [figure for section in findings.sections for figure in section.figures]
    content = _headline(answer, tone_of(findings.kind, answer)[0])
    content += _drawn(figures[0].curve, figures[0].title) if figures else ""
    content += _claims(answer.claims) + _lines(answer) + _folded("Measurements", _measurements(findings))
    for table in findings.tables:
        named = [k for k, tone in enumerate(marked(table, answer.claims)) if tone == "bad"]
        content += _folded(table.title, f"{_grid(table.columns, named)}<p>{_sentence(table.note)}</p>")
    return _framed(content + _folded("Keep in mind", _list(findings.caveats)))


def _framed(content: str) -> str:
    """Return a result with its style, which holds inside it alone; the class, twice, outweighs a notebook."""
    style = f".calibrant.calibrant {{\n{style_sheet('notebook.css', 'pictures.css')}}}"
    return f'<style>{style}</style><div class="calibrant">{words.without_direction(content)}</div>'


def _headline(value: Verdict, tone: str = "") -> str:
    mark = f'<span class="{tone}">{MARKS[tone]}</span> ' if tone else ""
    return f'<p class="headline">{mark}{_sentence(value.headline)}</p>'


def _claims(values: Sequence[Claim]) -> str:
    rows = rows_of(values)
    used = [k for k, name in enumerate(HEADINGS) if not name or any(row[k] for row in rows)]
    shown = [[words.sentence(str(row[k])) for k in used] for row in rows[:MAX_CLAIMS]]
    headings = [HEADINGS[k] or "meaning" for k in used]
    return _table(headings, shown, range(1, len(used) - 1), total=len(rows)) if rows else ""


def _lines(value: Verdict) -> str:
    return "".join(f"<p><small>{_sentence(label)}</small> {_sentence(text)}</p>" for label, text in value.lines)


def _measurements(findings: Findings) -> str:
    shown = [measurement for _, part in parts(findings.measurements, findings) for measurement in part]
    headings, *rows = measurement_rows(shown, findings)
    decisive = [k for k, measurement in enumerate(shown) if measurement.decides]
    methods = _list([f"{m.label}: {m.method}" for m in shown if m.method])
    return _table(headings, rows, range(1, len(headings)), decisive) + methods if rows else ""


def _drawn(value: Curve, title: str) -> str:
    identity = crc32(b"".join(column.tobytes() for column in value.columns.values()))
    try:
        return picture(value, f"c{identity:08x}", title, points=POINTS, places=PLACES)
    except MissingExtraError:
        return NO_PICTURE


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{_sentence(words.label(title))}</summary>{content}</details>" if content else ""


def _list(texts: Texts) -> str:
    return f"<ul>{''.join(f'<li>{_sentence(text)}</li>' for text in texts)}</ul>" if texts else ""


def _grid(columns: Mapping[str, Sequence[Any]], bold: Places = ()) -> str:
    first = {name: np.asarray(column[:MAX_ROWS], dtype=object).tolist() for name, column in columns.items()}
    rows = list(zip(*([_cell(name, value) for value in column] for name, column in first.items()), strict=True))
    numeric = [k for k, column in enumerate(first.values()) if words.is_numeric(column)]
    total = len(next(iter(columns.values()), ()))
    return _table([words.heading(name) for name in columns], rows, numeric, bold, total=total)


def _cell(name: str, value: Any) -> str:
    return words.sentence(value) if isinstance(value, str) else words.cell(name, value)


def _sentence(text: str) -> str:
    return html.escape(words.sentence(text))


def _table(headings: Texts, rows: Sequence[Texts], numeric: Places = (), bold: Places = (), total: int = 0) -> str:
    """Return a table of texts, which are escaped; `numeric` columns are aligned, and `bold` rows stand out."""

    def line(row: Texts, tag: str, kind: str = "") -> str:
        kinds = [' class="n"' if k in numeric else "" for k in range(len(row))]
        cells = "".join(f"<{tag}{of}>{html.escape(text)}</{tag}>" for of, text in zip(kinds, row, strict=True))
        return f"<tr{kind}>{cells}</tr>"

    body = "".join(line(row, "td", ' class="decides"' if k in bold else "") for k, row in enumerate(rows))
    more = f"<p>… {total - len(rows):,} more</p>" if total > len(rows) else ""
    return f'<div class="scroll"><table><thead>{line(headings, "th")}</thead><tbody>{body}</tbody></table></div>{more}'
