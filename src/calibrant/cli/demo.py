"""`calibrant demo`: reports on the example predictions that come with calibrant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.cli.columns import join_labels
from calibrant.cli.output import check_output, doing, emit, verdict_text
from calibrant.errors import InputError

if TYPE_CHECKING:
    from calibrant.report.audit import Audit

DEMOS = {
    "churn": "will a customer leave?",
    "digits": "which digit is it?",
    "house_prices": "what is it sold for?",
    "demand": "how many are sold?",
    "posterior": "what drove the epidemic?",
    "ensemble": "how will the weather be?",
    "generated": "does a mixture make such digits?",
}


def run(kind: str | None, *, output: Path | None) -> None:
    """Write the report of one example, or of each."""
    kinds = [kind] if kind else list(DEMOS)
    targets = [_target(name, output, alone=kind is not None) for name in kinds]
    for target in targets:
        check_output(target, endings=(".html", ".htm"), option="-o")
    for position, (name, target) in enumerate(zip(kinds, targets, strict=True)):
        with doing(f"measuring and drawing {name}"):
            found = _found(name)
            found.to_html(target)
        emit(("\n" if position else "") + f"{name}: {DEMOS[name]}\n{verdict_text(found)}\nreport: {target}")


def _target(kind: str, output: Path | None, *, alone: bool) -> Path:
    name = f"calibrant-demo-{kind}.html"
    if output is None:
        return Path(name)
    if output.suffix.lower() not in (".html", ".htm"):
        return output / name
    if not alone:
        raise InputError(
            f"there are {len(DEMOS)} reports for the one file {output}; name the example too: calibrant demo churn"
        )
    return output


def _found(kind: str) -> Audit:
    """Measure an example."""
    from calibrant import examples
    from calibrant.auditing.audit import audit

    if kind != "generated":
        return audit(**_example(kind))
    from calibrant.points.comparison import compare

    digits = examples.generated()
    names = {"source": "the example generated", "real": "pictures of digits", "generated": "draws of a mixture"}
    return compare(digits.y, digits.points, columns=digits.columns, names=names)


def _example(kind: str) -> dict[str, Any]:
    """Return what `audit` is called with."""
    from calibrant import examples

    if kind == "churn":
        churn = examples.churn()
        names = {"outcome": "left", "prediction": "probability of leaving"}
        given = {"y": churn.y, "prediction": churn.p, "groups": {"segment": churn.segment}}
    elif kind == "digits":
        digits = examples.digits()
        names = {"outcome": "digit", "prediction": "probability of each digit"}
        given = {"y": digits.y, "prediction": digits.P}
    elif kind == "house_prices":
        houses = examples.house_prices()
        names = {"outcome": "price", "prediction": "intervals of the price"}
        given = {"y": houses.y, "prediction": houses.prediction, "groups": {"size": houses.size}}
        given["calibration_size"] = houses.calibration_size
    elif kind == "demand":
        days = examples.demand()
        names = {"outcome": "sold", "prediction": "quantiles of the sales"}
        given = {"y": days.y, "prediction": days.prediction, "groups": {"product": days.product}}
    elif kind == "posterior":
        epidemics = examples.posterior()
        names = {"outcome": "parameters", "prediction": "posterior of the parameters"}
        names["coordinates"] = join_labels(epidemics.parameters)
        given = {"y": epidemics.y, "prediction": epidemics.prediction, "columns": epidemics.parameters}
        given |= {"covariates": np.log1p(epidemics.reported), "log_density_y": epidemics.log_density_y}
    else:
        forecasts = examples.ensemble()
        names = {"outcome": "weather", "prediction": "members of the ensemble"}
        given = {"y": forecasts.y, "prediction": forecasts.prediction, "groups": {"lead": forecasts.lead}}
        given["covariates"] = forecasts.start
    return {**given, "names": {"source": f"the example {kind}", **names}}
