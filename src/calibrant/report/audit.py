"""`Audit`: the result of an audit; `Reported`: what it shares with comparisons, text, tables, figures and files."""

from __future__ import annotations

import json
import tempfile
import webbrowser
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.core import pictures
from calibrant.core.calls import public
from calibrant.core.claims import Claim
from calibrant.core.findings import Findings, Verdict
from calibrant.core.tabular import Tabular
from calibrant.errors import NotApplicableError
from calibrant.judging.voice import where
from calibrant.report import notebook
from calibrant.report.page import count_words, frame_of, render
from calibrant.report.text import as_text
from calibrant.writing import replace_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NUMBERS = ("kind", "quantity", "estimate", "low", "high", "level", "rows", "expected", "tolerance", "pvalue", "test")


class Claims(tuple[Claim, ...], Tabular):
    """Claims, which a notebook shows as on the page; `to_frame` returns one row each."""

    def _columns(self) -> Mapping[str, list[Any]]:
        """Return their numbers as they are, and which rows they are about in words."""
        numbers = {name: [getattr(claim, name) for claim in self] for name in NUMBERS}
        return {"where": [where(claim.subject) for claim in self]} | numbers

    def _repr_html_(self) -> str:
        return notebook.claims(self)


class Reported(Tabular, ABC):
    """What audits and comparisons of predictions share: text, tables, figures and files, all made from findings."""

    @property
    @abstractmethod
    def findings(self) -> Findings:
        """Everything that was found, as plain values."""

    @property
    def verdict(self) -> Verdict:
        """The answer in words."""
        return self.findings.verdict

    @property
    def table(self) -> dict[str, list[Any]]:
        """The measurements, one list per column."""
        rows = self.findings.measurements
        columns = ("name", "label", "value", "interval", "expected", "pvalue", "decides", "method")
        return {column: [getattr(row, column) for row in rows] for column in columns}

    def _columns(self) -> Mapping[str, list[Any]]:
        return self.table

    def __str__(self) -> str:
        return as_text(self.findings)

    def _repr_html_(self) -> str:
        return notebook.audit(self.findings)

    @public
    def show(self) -> Path:
        """Open the report in the browser, and return its path: a temporary file. Without a browser print the path."""
        path = self.to_html(Path(tempfile.mkdtemp(prefix="calibrant-"), "report.html"))
        if not webbrowser.open(path.as_uri()):
            print(path)
        return path

    def plot(self) -> Figure:
        """Draw all pictures into one new Matplotlib figure, up to four in a row, and return it."""
        found = self.findings
        parts = [part for part in (*(section.figures for section in found.sections), found.group_figures) if part]
        figures = [figure for part in parts for figure in part]
        if not figures:
            raise NotApplicableError("this audit has no figures to draw")
        heights = [pictures.height_of(figure.curve.kind, figure.curve.details) for figure in figures]
        canvas, places = pictures.new_grid(heights, len(parts[0]) if len(set(map(len, parts))) == 1 else None)
        for figure, ax in zip(figures, places, strict=True):
            figure.curve.plot(ax)
            ax.set_title(figure.title.replace("$", r"\$"))
        return canvas

    @public
    def to_html(self, path: str | Path) -> Path:
        """Write the report: one self-contained HTML file."""
        replace_text(path, render(self.findings))
        return Path(path)

    @public
    def to_json(self, path: str | Path) -> Path:
        """Write everything that was found as JSON."""
        replace_text(path, json.dumps(self.findings.to_dict(), ensure_ascii=False, indent=1) + "\n")
        return Path(path)


class Audit(Reported):
    """The result of an audit.

    - `findings`: everything that was found, as plain values
    - `verdict`: the answer: `status`, `headline`, `lines`, and the `claims` that they are made from
    - `claims`: those of the verdict
    - `table`: the measurements as columns of equal length; `to_frame` returns them as a data frame
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    @property
    def findings(self) -> Findings:
        return self._findings

    @property
    def claims(self) -> Claims:
        """What the verdict says, as values."""
        return Claims(self.verdict.claims)

    def __repr__(self) -> str:
        total = count_words(self.findings.n, frame_of(self.findings.kind).rows)
        return f"<Audit of {total}: {self.verdict.headline}>"
