"""Results made before: a report or a JSON file of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calibrant.errors import InputError
from calibrant.files.table_file import check_file, format_of

ENDINGS = (".html", ".htm", ".json")


def holds_results(path: Path) -> bool:
    """Tell by its name whether a file is a report or a JSON file."""
    return path.suffix.lower() in ENDINGS


def read_results(path: Path) -> dict[str, Any]:
    """Return the results, as `Findings.to_dict` gives them."""
    check_file(path)
    if format_of(path):
        raise InputError(
            f"{path} holds predictions, not results; measure them first: calibrant audit {path} --json results.json"
        )
    from calibrant.report.files import read

    results = read(path)
    if not _is_sound(results):
        raise InputError(f"{path} is not a result that this calibrant can read; make it again with calibrant audit")
    return results


def measurements(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all measurements, section by section."""
    return [measurement for section in results["sections"] for measurement in section["measurements"]]


def _is_sound(results: Any) -> bool:
    """Tell whether everything is there that the commands look at."""
    try:
        return (
            isinstance(results["verdict"]["headline"], str)
            and isinstance(results["n"], int)
            and isinstance(results["level"], float)
            and all(_is_measurement(m) for m in measurements(results))
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def _is_measurement(m: Mapping[str, Any]) -> bool:
    numbers = [m["value"], m["expected"], m["pvalue"], *(m["interval"] or ()), *m["details"].values()]
    for number in numbers:
        float(0 if number is None else number)  # infinities are texts
    return isinstance(m["name"], str) and isinstance(m["label"], str)
