"""Every map against the values and refusals of `references/recalibration.json`."""

import numpy as np
import pytest
from tests.references.books import book

import calibrant as cb
from calibrant.errors import InputError
from calibrant.recalibrating.recalibrate import recalibrate

BOOK = book("recalibration")
MAPS = [case for case in BOOK["cases"] if not case["id"].startswith("gain")]
REFUSED = [case for case in MAPS if "refused" in case["value"]]
NO_GRADIENT = "E1"  # a minimum at a corner
WITHOUT_OBJECTIVE = ("intervals", "sets", "quantiles", "cdf", "isotonic", "centred-isotonic", "venn-abers")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of few rows and inverted rankings


def fitted(case):
    """Return the map of a case and the prediction that it was fitted on."""
    data, options = BOOK["data"][case["data"]], dict(case["options"])
    given = {name: data[name] for name in ("weights", "groups") if options.pop(name, False)}
    prediction = read(data, options.pop("law", ""))
    if "draws" in data:
        options["score"] = "fair-crps"  # the form that the file means
    return recalibrate(data.get("y"), prediction, **options, **given), prediction, given.get("groups")


def read(data, law):
    if law:
        return getattr(cb, law)(data["mean"], data["std"])
    if "draws" in data:
        return cb.Samples(data["draws"])
    if "mask" in data:
        return cb.Sets(data["mask"], data["level"])
    if "values" in data:
        return cb.Quantiles(data["values"], data["levels"])
    if "lower" in data:
        return cb.Intervals(data["lower"], data["upper"], data["level"])
    return cb.CdfValues(data["at"]) if "at" in data else data.get("p", data.get("P"))


def numbers_of(after):
    """Return the numbers of recalibrated predictions, by the names of the file."""
    if isinstance(after, np.ndarray):
        return {"apply": after}
    if isinstance(after, cb.Intervals):
        assert after.single
        return {"lower": after.lower[:, 0], "upper": after.upper[:, 0]}
    if isinstance(after, cb.Sets):
        return {"mask": after.mask, "size": after.sizes}
    if isinstance(after, cb.Normal):
        return {"location": after.mean, "spread": after.std}
    if isinstance(after, cb.Laplace):
        return {"location": after.loc, "spread": after.scale}
    return {"values": after.values} if isinstance(after, cb.Quantiles) else {"draws": after.draws}


@pytest.mark.parametrize("case", [case for case in MAPS if case not in REFUSED], ids=lambda case: case["id"])
def test_values(case):
    (found, prediction, groups), value, rtol = fitted(case), case["value"], case["rtol"]
    if groups is not None:
        assert found.groups == (0, 1, 2)
        shifts = [part["shift"] for part in found.parameters["groups"]]
        np.testing.assert_allclose(shifts, np.array(list(value["shift_by_group"].values()), float), rtol=rtol)
    for name, expected in value.get("parameters", {}).items():
        np.testing.assert_allclose(
            found.parameters[name], np.array(expected, float), rtol=rtol, atol=1e-3 * rtol * np.ndim(expected)
        )
    assert set(value.get("parameters", found.parameters)) <= set(found.parameters)
    new = value.get("grid", value.get("at"))
    if found.kind == "cdf":
        after = {"apply": found.apply(cb.CdfValues(new)).at}
    else:
        after = numbers_of(found.apply(prediction if new is None else new, groups=groups))
    for name, numbers in after.items():
        np.testing.assert_allclose(numbers, np.array(value[name], float), rtol=rtol, atol=1e-300)
    for bound, name in zip(found.bounds(new) if "p0" in value else (), ("p0", "p1"), strict=False):
        np.testing.assert_allclose(bound, value[name], rtol=rtol)
    assert found.boundary == tuple(value.get("boundary", ()))
    if "objective" in value:
        assert found.objective == pytest.approx(value["objective"], rel=rtol)
        assert found.gradient is None if case["data"] == NO_GRADIENT else found.gradient <= 1e-10
    elif found.kind in WITHOUT_OBJECTIVE or found.method in WITHOUT_OBJECTIVE:
        assert (found.objective, found.gradient) == (None, None)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["id"])
def test_refusals(case):
    with pytest.raises(InputError) as refused:
        fitted(case)
    assert all(word in str(refused.value) for word in case["value"]["refused"])
