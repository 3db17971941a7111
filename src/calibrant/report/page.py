"""The HTML page of a report."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from calibrant.core import pictures as plots
from calibrant.core import words as wording
from calibrant.core.claims import Claim
from calibrant.core.findings import Figure, Findings, Measurement, Section, Table, Verdict
from calibrant.core.plot_style import MAX_COLOURED_LINES, flattened
from calibrant.core.plots import with_names
from calibrant.errors import MissingExtraError
from calibrant.judging.voice import HEADINGS, rows_of
from calibrant.report.files import embedded, first
from calibrant.report.pictures import SIZE, picture


class Frame(NamedTuple):
    """The words around the findings, for audits or for comparisons of samples."""

    title: str
    rows: str  # the word for what is counted
    expected: str  # heading of the values expected by chance alone
    note: str  # explains that heading and p-values
    statuses: Mapping[str, tuple[str, str]]  # tone and words of each status of a verdict


UNSURE = ("unsure", "Cannot tell")
AUDIT = Frame(
    "Calibration audit",
    "rows",
    "if calibrated",
    "“If calibrated” is the mean the measurement would have if every prediction were right; a p-value says how often "
    "calibrated predictions would look at least this bad.",
    {"miscalibrated": ("bad", "Miscalibrated"), "within": ("good", "Calibrated"), "cannot tell": UNSURE},
)
COMPARISON = Frame(
    "Comparison of samples",
    "points",
    "if equal",
    "“If equal” is the mean of the measurement if all points come from one distribution; a p-value says how often such "
    "points would look at least this different.",
    {
        "different": ("bad", "Different"),
        "copies": ("bad", "Copies of real points"),
        "no evidence": ("good", "No evidence of a difference"),
        "cannot tell": UNSURE,
        "no truth": ("unsure", "Nothing to compare with"),
    },
)
MODELS = Frame(
    "Comparison of predictions",
    "rows",
    "if equal",
    "A difference is that of the first model less the second. A p-value says how often models that are equal by this "
    "metric would look at least this different.",
    {"different": ("good", "They differ"), "within": ("good", "No difference that matters"), "cannot tell": UNSURE},
)
FRAMES = {"points": COMPARISON, "comparison": MODELS}
MARKS = {"bad": "✗", "good": "✓", "unsure": "?"}


def frame_of(kind: str) -> Frame:
    return FRAMES.get(kind, AUDIT)


def tone_of(kind: str, verdict: Verdict) -> tuple[str, str]:
    """Return the tone of a verdict, ``"bad"``, ``"good"`` or ``"unsure"``, and its status in words.

    >>> tone_of("binary", Verdict("within", "", tolerance=0.02))
    ('good', 'Calibrated within 2 percentage points')
    """
    tone, words = frame_of(kind).statuses.get(verdict.status, ("unsure", verdict.status))
    if verdict.status == "within" and verdict.tolerance is not None and frame_of(kind) is AUDIT:
        words = f"{words} within {wording.tolerance_words(verdict.tolerance)}"
    return tone, words


def count_words(n: int, word: str) -> str:
    """Return a number of things in words.

    >>> count_words(1, "rows"), count_words(2500, "points")
    ('1 row', '2,500 points')
    """
    return f"{n:,} {word.removesuffix('s') if n == 1 else word}"


MAX_WORD = 24  # characters of a word in a table; longer ones may be broken
TITLE = "title"  # the name that replaces the heading of the page
MAX_PAGE_BYTES = 500_000
MAX_CLAIMS = 100  # rows of the table of claims
ROOM_USED = 0.9  # of the bytes that are left, as detail and size are not quite proportional


class Detail(NamedTuple):
    """How much a page shows: points drawn per curve, points with hover values, rows per table."""

    points: int = 1600
    places: int = 60
    rows: int = 200

    def reduced(self, share: float) -> Detail:
        """Return a share of what this detail has beyond the least that a page needs."""
        return Detail(*(low + int(share * (high - low)) for low, high in zip(LEAST_DETAIL, self, strict=True)))


LEAST_DETAIL = Detail(100, 12, 10)
FULL_PAGE_FIGURES = 5  # of more figures each shows less


def render(findings: Findings) -> str:
    """Return the findings as an HTML page that needs no network, no script and no other file.

    The same findings give the same page. Long curves keep the points that can be seen and long tables their first rows.
    Of a page of 500 kB or more fewer are shown, but not less than `LEAST_DETAIL`: pictures of very many panels take
    more than that.
    """
    figures = sum(len(section.figures) for section in findings.sections) + len(findings.group_figures)
    usual = Detail().reduced(min(1.0, FULL_PAGE_FIGURES / max(1, figures)))
    page = _page(findings, usual)
    size = len(page.encode())
    if size < MAX_PAGE_BYTES:
        return page
    least = _page(findings, LEAST_DETAIL)
    smallest = len(least.encode())
    room = (MAX_PAGE_BYTES - smallest) / max(1, size - smallest)  # the size grows about like the detail
    if room <= 0:
        return least
    between = _page(findings, usual.reduced(ROOM_USED * room))
    return between if len(between.encode()) < MAX_PAGE_BYTES else least


def _page(findings: Findings, detail: Detail) -> str:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise MissingExtraError("a report", extra="cli") from None

    environment = Environment(
        loader=PackageLoader("calibrant.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": wording.number,
        "expected": lambda measurement: wording.expected_words(measurement.expected, measurement.at_least),
        "pvalue": wording.pvalue,
        "interval": wording.bounds_words,
        "percent": wording.confidence_words,
        "text": wording.text,
        "sentence": wording.sentence,
        "label": wording.label,
        "breakable": lambda name: Markup("<wbr>").join(re.split("(?<=[._])", wording.text(name))),
        "cell": lambda cell: Markup("<wbr>").join(_pieces(cell)),
    }
    style = style_sheet("page.css", "pictures.css")
    tone, word = tone_of(findings.kind, findings.verdict)
    frame, claims = frame_of(findings.kind), findings.verdict.claims
    rows, groups = rows_of(claims), findings.groups
    if groups:
        groups = replace(groups, title=f"{wording.label(groups.title)}, the worst first")
    return environment.get_template("page.html.j2").render(
        findings=findings,
        kind=findings.title,
        frame=frame,
        title=findings.names.get(TITLE) or frame.title,
        names={key: name for key, name in findings.names.items() if key != TITLE},
        total=count_words(findings.n, frame.rows),
        tone=tone,
        word=word,
        claims=rows[:MAX_CLAIMS],
        claims_found=len(rows),
        headings=HEADINGS,
        marks=MARKS,
        sections=[_section(each, f"s{k}", detail, findings, Markup) for k, each in enumerate(findings.sections, 1)],
        groups=groups and _grid(groups, "groups", detail.rows, claims),
        group_figures=_figures(findings.group_figures, "groups", detail, Markup),
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        results=Markup(embedded(findings, detail.rows)),
    )


def style_sheet(*names: str) -> str:
    folder = files("calibrant.report").joinpath("templates")
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


def _pieces(cell: str) -> list[str]:
    """Split a text where a line may be broken within a word: nowhere, unless the word is too long for a column.

    >>> _pieces("uninformative prior"), _pieces("a_name_with_nowhere_to_break_it")
    (['uninformative prior'], ['a_name_with_nowhere_to_b', 'reak_it'])
    """
    return re.sub(rf"(\S{{{MAX_WORD}}})(?=\S)", "\\1\0", cell).split("\0")  # texts of a page have no such character


def _section(section: Section, identity: str, detail: Detail, findings: Findings, markup: Any) -> dict[str, Any]:
    claims, in_parts = findings.verdict.claims, parts(section.measurements, findings)
    notes = list(dict.fromkeys(filter(None, (_how(m) for _, part in in_parts for m in part))))
    has = {
        field: any(getattr(m, field) is not None for m in section.measurements)
        for field in ("rounding", "interval", "expected", "pvalue")
    }
    return {
        "id": identity,
        "title": section.title,
        "intro": section.intro,
        "code": section.code,
        "figures": _figures(section.figures, identity, detail, markup),
        "parts": [
            (heading, heading in (DESCRIBES, MAP), [(m, notes.index(_how(m)) + 1 if _how(m) else None) for m in part])
            for heading, part in in_parts
        ],
        "notes": notes,
        "has": has,
        "width": 2 + sum(has.values()),
        "tables": [
            _grid(table, f"{identity}-t{k}", detail.rows, claims) for k, table in enumerate(section.tables, start=1)
        ],
    }


def _how(measurement: Measurement) -> str:
    return wording.text(measurement.method, 500)


def _figures(figures: Sequence[Figure], identity: str, detail: Detail, markup: Any) -> list[dict[str, Any]]:
    return [_figure(figure, f"{identity}-f{k}", detail, markup) for k, figure in enumerate(figures, start=1)]


def _figure(figure: Figure, identity: str, detail: Detail, markup: Any) -> dict[str, Any]:
    curve = figure.curve
    svg = picture(curve, identity, wording.text(figure.title), points=detail.points, places=detail.places)
    columns = plots.thin(curve.kind, curve.columns, detail.rows)
    shown = flattened(columns, curve.details, MAX_COLOURED_LINES)
    return {
        "id": identity,
        "title": figure.title,
        "reading": figure.reading,
        "svg": markup(svg),
        "is_dense": plots.height_of(curve.kind, curve.details, SIZE[1]) > SIZE[1],
        "method": curve.method,
        "data": _laid_out(
            identity,
            f"Data of “{figure.title}”",
            {name: np.asarray(column).tolist() for name, column in shown.items()},
            len(next(iter(curve.columns.values()), ())),
        ),
    }


def _grid(table: Table, identity: str, rows: int, claims: Sequence[Claim]) -> dict[str, Any]:
    """Lay out a table; its first column names the rows and is text, even if the names are numbers."""
    tones = marked(table, claims)[:rows]
    columns = dict(first(table, rows).columns)
    for name in list(columns)[:1]:
        columns[name] = tuple(wording.MISSING if label is None else wording.text(label) for label in columns[name])
    return _laid_out(identity, table.title, columns, table.length) | {"note": table.note, "tones": tones}


def _laid_out(identity: str, caption: str, columns: Mapping[str, Sequence[Any]], total: int) -> dict[str, Any]:
    """Return a table as it is shown: texts, and whether each column is numeric."""
    texts = [[wording.cell(name, value) for value in column] for name, column in columns.items()]
    return {
        "id": identity,
        "caption": caption,
        "headings": [wording.heading(name) for name in columns],
        "numeric": [wording.is_numeric(column) for column in columns.values()],
        "rows": list(zip(*texts, strict=True)),
        "total": total,
        "tones": [],
    }


SIDES = {"miscalibrated": "bad", "below": "bad", "above": "bad", "within": "good"}
"""The tone of each kind of claim that marks a line of a table."""
RESTS = "Used for the verdict"
DESCRIBES = "Description: not part of the verdict"
MAP, MAP_VERB = "The map", "recalibrate"


def parts(measurements: Sequence[Measurement], findings: Findings) -> list[tuple[str, list[Measurement]]]:
    """Return some measurements in parts with headings: those that decide the verdict, others, and parameters of a map.

    If the verdict rests on no measurement of the findings, they are one part without a heading.
    """
    if not any(m.decides for m in findings.measurements):
        return [("", list(measurements))] if measurements else []
    found: dict[str, list[Measurement]] = {RESTS: [], DESCRIBES: [], MAP: []}
    for each in measurements:
        of_map = each.name.startswith(f"{MAP_VERB}.")
        found[RESTS if each.decides else MAP if of_map else DESCRIBES].append(each)
    return [(heading, part) for heading, part in found.items() if part]


def with_named_groups(findings: Findings) -> Findings:
    """Return findings whose pictures of groups mark the same groups as their tables."""
    tones = {table.name: marked(table, findings.verdict.claims) for table in findings.tables}

    def named(figures: Sequence[Figure]) -> tuple[Figure, ...]:
        return tuple(with_names(each, tones[each.name]) if each.curve.kind == "groups" else each for each in figures)

    sections = tuple(replace(each, figures=named(each.figures)) for each in findings.sections)
    return replace(findings, sections=sections, group_figures=named(findings.group_figures))


def marked(table: Table, claims: Sequence[Claim]) -> list[str]:
    """Return the tone of each line of a table that a claim names, empty texts for the others.

    The heading of the first column is the kind of the claim's subject, and the line has its name. Of several lines with
    one name, those with the claim's p-value are meant, if there are any. A part of the rows has a line for each level
    of intervals or sets, so a claim on one level marks only the line with its p-value.
    """
    tones = [""] * table.length
    if not table.length:
        return tones
    noun, labels = next(iter(table.columns.items()))
    pvalues = table.columns.get("pvalue_adjusted", (None,) * table.length)
    for claim in claims:
        if claim.level is None or claim.kind not in SIDES or noun != (claim.subject.part or claim.subject.kind):
            continue
        named = [i for i, label in enumerate(labels) if str(label) == claim.subject.name]
        exact = [i for i in named if _same_pvalue(claim.pvalue, pvalues[i])]
        for i in exact or (named if claim.subject.part is None else ()):
            tones[i] = SIDES[claim.kind]
    return tones


def _same_pvalue(of_claim: float | None, of_line: float | None) -> bool:
    if of_claim is None or of_line is None:
        return False
    return math.isclose(of_claim, of_line, rel_tol=1e-9)
