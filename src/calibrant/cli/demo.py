"""`calibrant demo`: reports on the example predictions that come with calibrant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from calibrant.cli.audit import verdict_text
from calibrant.cli.messages import doing, emit
from calibrant.cli.output_file import check_output
from calibrant.errors import InputError

DEMOS = {"churn": "will a customer leave?", "digits": "which digit is it?"}


def run(kind: str | None, *, output: Path | None) -> None:
    """Write the report of one example, or of each."""
    kinds = [kind] if kind else list(DEMOS)
    targets = [_target(name, output, alone=kind is not None) for name in kinds]
    for target in targets:
        check_output(target, endings=(".html", ".htm"), option="-o")
    from calibrant.audit import audit

    for position, (name, target) in enumerate(zip(kinds, targets, strict=True)):
        with doing(f"measuring and drawing {name}"):
            found = audit(**_example(name))
            found.to_html(target)
        emit(("\n" if position else "") + f"{name}: {DEMOS[name]}\n{verdict_text(found)}\nreport: {target}")


def _target(kind: str, output: Path | None, *, alone: bool) -> Path:
    name = f"calibrant-demo-{kind}.html"
    if output is None:
        return Path(name)
    if output.suffix.lower() not in (".html", ".htm"):
        return output / name
    if not alone:
        raise InputError(f"there are two reports for the one file {output}; name the example too: calibrant demo churn")
    return output


def _example(kind: str) -> dict[str, Any]:
    from calibrant import examples

    if kind == "churn":
        churn = examples.churn()
        names = {"source": "the example churn", "outcome": "left", "prediction": "probability of leaving"}
        return {"y": churn.y, "prediction": churn.p, "groups": {"segment": churn.segment}, "names": names}
    digits = examples.digits()
    names = {"source": "the example digits", "outcome": "digit", "prediction": "probability of each digit"}
    return {"y": digits.y, "prediction": digits.P, "names": names}
