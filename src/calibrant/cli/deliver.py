"""What was found: printed, or written to the places that a person named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.cli.messages import doing, emit, tell
from calibrant.cli.output_file import STDOUT, check_output

if TYPE_CHECKING:
    from calibrant.report.audit import Audit


def check_places(output: Path | None, json_to: str | None, sources: Sequence[Path]) -> None:
    """Refuse places that cannot be written, or that hold one of the files which are to be read."""
    for source in sources:
        if output is not None:
            check_output(output, endings=(".html", ".htm"), option="-o", source=source)
        if json_to not in (None, STDOUT):
            check_output(Path(str(json_to)), endings=(".json",), option="--json", source=source)


def deliver(found: Audit, output: Path | None, json_to: str | None) -> None:
    """Print what was found, or write the report and the JSON and print the verdict."""
    if output is None and json_to is None:
        emit(str(found))
        return
    # When JSON goes to stdout nothing else may, or no program could read it.
    say = tell if json_to == STDOUT else emit
    written = []
    if output is not None:
        with doing(f"drawing {output}"):
            written.append(f"report: {found.to_html(output)}")
    if json_to == STDOUT:
        emit(json.dumps(found.findings.to_dict(), indent=1))
    elif json_to is not None:
        written.append(f"JSON: {found.to_json(json_to)}")
    if written:
        say("\n".join((verdict_text(found), *written)))


def verdict_text(found: Audit) -> str:
    """Return the verdict, with which the plain text of an audit begins."""
    return str(found).partition("\n\n")[0]
