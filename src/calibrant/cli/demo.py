"""`calibrant demo`: reports on the example predictions that come with calibrant."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calibrant.cli.columns import join_labels
from calibrant.cli.output import Headline, check_output, doing, emit, signed, tell, verdict_text
from calibrant.errors import InputError

if TYPE_CHECKING:
    from calibrant.report.audit import Audit


class Demo(NamedTuple):
    """An example as `audit` takes it: what it is about, and which of its attributes are which arguments."""

    question: str
    outcome: str
    prediction: str
    arguments: Mapping[str, str]
    groups: str | None = None


FIRST = "churn"  # written if nothing is named
QUANTILES = {"prediction": "prediction"}
INTERVALS = {"prediction": "prediction", "calibration_size": "calibration_size"}
POSTERIOR = {"prediction": "prediction", "columns": "parameters", "log_density_y": "log_density_y"}
ENSEMBLE = {"prediction": "prediction", "covariates": "start"}
DEMOS = {
    "churn": Demo("will a customer leave?", "left", "probability of leaving", {"prediction": "p"}, "segment"),
    "digits": Demo("which digit is it?", "digit", "probability of each digit", {"prediction": "P"}),
    "house_prices": Demo("what is it sold for?", "price", "intervals of the price", INTERVALS, "size"),
    "demand": Demo("how many are sold?", "sold", "quantiles of the sales", QUANTILES, "product"),
    "posterior": Demo("what drove the epidemic?", "parameters", "posterior of the parameters", POSTERIOR),
    "ensemble": Demo("how will the weather be?", "weather", "members of the ensemble", ENSEMBLE, "lead"),
    "generated": Demo("does a mixture make such digits?", "", "", {}),
}


def run(kind: str | None, *, every: bool, output: Path | None) -> None:
    if kind is not None and every:
        raise InputError(f"--all writes a report on each example; leave {kind} out, or --all")
    kinds = list(DEMOS) if every else [kind or FIRST]
    targets = [_target(name, output, every=every) for name in kinds]
    for target in targets:
        check_output(target, endings=(".html", ".htm"), option="-o")
    for position, (name, target) in enumerate(zip(kinds, targets, strict=True)):
        with doing(f"measuring and drawing {name}"):
            found = signed(_found(name))
            found.to_html(target)
        emit(("\n" if position else "") + f"{name}: {DEMOS[name].question}")
        emit(f"{verdict_text(found)}\nreport: {target}", Headline.of(found))
    if kind is None and not every:
        tell(f"other examples are {', '.join(list(DEMOS)[1:])}; calibrant demo --all writes a report on each")


def _target(kind: str, output: Path | None, *, every: bool) -> Path:
    name = f"calibrant-demo-{kind}.html"
    if output is None:
        return Path(name)
    if output.suffix.lower() not in (".html", ".htm"):
        return output / name
    if every:
        raise InputError(
            f"there are {len(DEMOS)} reports for the one file {output}; name a folder, or one example: "
            f"calibrant demo {FIRST} -o {output}"
        )
    return output


def _found(name: str) -> Audit:
    from calibrant import examples
    from calibrant.auditing.audit import audit
    from calibrant.auditing.compare_points import compare

    example, demo = getattr(examples, name)(), DEMOS[name]
    names = {"source": f"the example {name}", "outcome": demo.outcome, "prediction": demo.prediction}
    if name == "generated":
        names = {"source": names["source"], "real": "pictures of digits", "generated": "draws of a mixture"}
        return compare(example.y, example.points, columns=example.columns, names=names)
    given: dict[str, Any] = {argument: getattr(example, part) for argument, part in demo.arguments.items()}
    if demo.groups is not None:
        given["groups"] = {demo.groups: getattr(example, demo.groups)}
    if name == "posterior":
        names["coordinates"] = join_labels(example.parameters)
        given["covariates"] = np.log1p(example.reported)
    return audit(example.y, names=names, **given)
