"""Results in files: written into a page, and read back from a report or a JSON file."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from typing import Any

from calibrant.core.findings import Findings, Table
from calibrant.core.words import LONGEST_SENTENCE, stored_text
from calibrant.errors import InputError
from calibrant.writing import read_text

_OPENING = '<script type="application/json" id="calibrant-results">'
_ELEMENT = re.compile(re.escape(_OPENING) + "(.*?)</script>", re.DOTALL)
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_PARTS = {"kind", "n", "level", "verdict", "sections"}


def embedded(findings: Findings, rows: int) -> str:
    """Return a script element with the findings, without curves and with at most `rows` rows per table."""
    sections = [
        replace(section, figures=(), tables=tuple(first(table, rows) for table in section.tables))
        for section in findings.sections
    ]
    groups = findings.groups and first(findings.groups, rows)
    plain = replace(findings, sections=tuple(sections), groups=groups, group_figures=()).to_dict()
    plain["note"] = f"As embedded in a report: no figures, the first {rows} rows of each table, long texts shortened."
    plain["groups_total"] = findings.groups.length if findings.groups else 0
    return f"{_OPENING}{_escaped(plain)}</script>"


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the results in a report or a JSON file of calibrant, as `Findings.to_dict` returns them.

    The content of the file decides which of them it is; a file that is neither is refused.
    """
    content = read_text(path)
    element = _ELEMENT.search(content)
    try:
        results = json.loads(element[1] if element else content)
    except (ValueError, RecursionError):
        results = None
    if not isinstance(results, dict) or not results.keys() >= _PARTS:
        raise InputError(
            f"{os.fspath(path)} contains no results of calibrant; "
            "expected a report or a JSON file that `calibrant audit` wrote"
        )
    return results


def first(table: Table, rows: int) -> Table:
    """Return the first `rows` rows of a table, with texts shortened as on a page."""
    return replace(
        table,
        columns={
            name: tuple(stored_text(value) if isinstance(value, str) else value for value in column[:rows])
            for name, column in table.columns.items()
        },
    )


def _escaped(plain: Any) -> str:
    """Return JSON that cannot end the HTML element around it."""
    return json.dumps(_cut(plain), allow_nan=False, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)


def _cut(plain: Any) -> Any:
    """Shorten long texts and replace characters that UTF-8 cannot encode."""
    if isinstance(plain, dict):
        return {_cut(key): _cut(value) for key, value in plain.items()}
    if isinstance(plain, list):
        return [_cut(value) for value in plain]
    return stored_text(plain, LONGEST_SENTENCE) if isinstance(plain, str) else plain
