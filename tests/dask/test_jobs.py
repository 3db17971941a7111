"""Verbs of Dask collections say what they say of arrays."""

import functools

import numpy as np
import pytest

import calibrant
from calibrant import CdfValues, Intervals, Normal, Quantiles, Samples, Sets, from_columns
from calibrant.dask import measure
from calibrant.testing.data import numbers

N = 701
WHOLE, SEVEN, EMPTY = (), (100, 201, 302, 403, 504, 605), (0, 0, 350, 350, 700, 701)
CUTS = {"one partition": WHOLE, "seven": SEVEN, "empty ones": EMPTY}


def close(found, expected):
    assert type(found) is type(expected)
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-12, atol=1e-12)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    p = np.round(rng.random(N), 3)
    P = rng.dirichlet(np.ones(3), N)
    mean, std = rng.normal(size=N), rng.uniform(0.5, 2, N)
    y = rng.normal(mean, std)
    draws = rng.normal(mean[:, None], std[:, None], (N, 9))
    return {
        "event": (rng.random(N) < p).astype(int),
        "answer": np.where(rng.random(N) < p, "yes", "no"),
        "p": p,
        "label": rng.integers(0, 3, N),
        "animal": np.array(["cat", "dog", "owl"])[rng.integers(0, 3, N)],
        "P": P,
        "P0": P[:, 0],
        "P1": P[:, 1],
        "P2": P[:, 2],
        "y": y,
        "mean": mean,
        "std": std,
        "low": mean - std,
        "high": mean + std,
        "q10": mean - 1.28 * std,
        "q90": mean + 1.28 * std,
        "at": rng.random(N),
        "draws": draws,
        **{f"d{k}": draws[:, k] for k in range(9)},
        **{f"in{k}": P[:, k] > 0.2 for k in range(3)},
        "w": rng.exponential(size=N),
    }


BINARY = ["brier_score", "log_score", "ece", "mce", "direction", "kuiper_test", "spiegelhalter_test", "decompose"]
INTERVALS = ["coverage", "interval_score", "coverage_test", "width"]
CLASSES = ["brier_score", "log_score", "ece", functools.partial(calibrant.ece, notion="classwise")]
KINDS = {
    "binary": (BINARY, "event", "p", {}),
    "text": (BINARY, "answer", "p", {"pos_label": "yes"}),
    "classes": (CLASSES, "label", ["P0", "P1", "P2"], {}),
    "named classes": (CLASSES, "animal", ["P0", "P1", "P2"], {"classes": ["cat", "dog", "owl"]}),
    "intervals": (INTERVALS, "y", from_columns(Intervals, "low", "high", level=0.68), {}),
    "sets": (["coverage", "coverage_test"], "label", from_columns(Sets, ["in0", "in1", "in2"], 0.8), {}),
    "quantiles": (["quantile_score", "coverage"], "y", from_columns(Quantiles, ["q10", "q90"], levels=[0.1, 0.9]), {}),
    "samples": (["crps"], "y", from_columns(Samples, [f"d{k}" for k in range(9)]), {}),
    "law": (["crps", "pit_histogram"], "y", from_columns(Normal, "mean", std="std"), {}),
    "cdf": (["pit_histogram"], None, from_columns(CdfValues, "at"), {}),
}


def given(data, prediction):
    """Return a prediction of names as one of arrays."""
    if isinstance(prediction, str):
        return data[prediction]
    return data["P"] if isinstance(prediction, list) else prediction.of(data.__getitem__)


def expected(verb, y, prediction, **given):
    function = getattr(calibrant, verb) if isinstance(verb, str) else verb
    return function(y, prediction, **given)


def named(verb):
    return verb if isinstance(verb, str) else "ece(notion='classwise')"


@pytest.mark.parametrize("places", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_frames_are_measured_as_arrays_are(kind, places, data, framed, threads):
    verbs, y, columns, labels = KINDS[kind]
    flat = {name: values for name, values in data.items() if np.ndim(values) == 1}
    found = measure(verbs, framed(flat, *places), y=y, prediction=columns, exact=True, **labels)
    assert len(found) == len(verbs)
    for verb in verbs:
        rows = (None if y is None else data[y], given(data, columns))
        wanted = calibrant.width(rows[1]) if verb == "width" else expected(verb, *rows, **labels)
        close(found[named(verb)].value, wanted)
        assert found[named(verb)].rounding == 0


@pytest.mark.parametrize("kind", ["binary", "named classes", "intervals", "samples"])
def test_weights_count_on_every_scheduler(kind, scheduler, data, framed):
    verbs, y, columns, labels = KINDS[kind]
    verbs = [verb for verb in verbs if verb not in ("width", "coverage_test", "kuiper_test", "spiegelhalter_test")]
    weights = data["w"].copy()
    weights[100:201] = 0  # a partition that counts for nothing
    flat = {name: values for name, values in data.items() if np.ndim(values) == 1} | {"w": weights}
    found = measure(verbs, framed(flat, *SEVEN), y=y, prediction=columns, weights="w", exact=True, **labels)
    for verb in verbs:
        close(found[named(verb)].value, expected(verb, data[y], given(data, columns), weights=weights, **labels))


def test_arrays_with_other_chunks_are_brought_together(data, cut, scheduler):
    y, w = cut(data["label"], 300), cut(data["w"], 50, 500)
    P = cut(data["P"], 100, 101, 400).rechunk({1: 2})  # cut through the rows
    found = measure(["brier_score", "ece"], (y, P, w), exact=True)
    for verb in ("brier_score", "ece"):
        close(found[verb].value, expected(verb, data["label"], data["P"], weights=data["w"]))


def test_arrays_of_unknown_lengths_are_taken_block_by_block(data, framed, threads):
    frame = framed({name: data[name] for name in ("event", "p", "w")}, *EMPTY)
    series = measure("brier_score", (frame["event"], frame["p"], frame["w"]))
    arrays = measure("brier_score", (frame["event"].values, frame["p"].values, frame["w"].values))
    wanted = calibrant.brier_score(data["event"], data["p"], weights=data["w"])
    close(series["brier_score"].value, wanted)
    close(arrays["brier_score"].value, wanted)


def test_a_mapping_of_arrays_is_a_frame(data, cut, threads):
    frame = {"y": cut(data["y"], 400), "draws": cut(data["draws"], 100, 300), "unused": None}
    found = measure("crps", frame, y="y", prediction=from_columns(Samples, "draws"))
    close(found["crps"].value, calibrant.crps(data["y"], Samples(data["draws"])))


def test_without_exact_rows_are_counted_in_cells_and_the_rounding_is_stated(data, cut, threads):
    y, p = cut(data["event"], *SEVEN), cut(data["p"], *SEVEN)
    found = measure(["ece", "kuiper_test"], (y, p))
    close(found["ece"].value, calibrant.ece(data["event"], data["p"]))
    of_rows = calibrant.kuiper_test(data["event"], data["p"])
    rounding = found["kuiper_test"].rounding
    bound = rounding["statistic"] if isinstance(rounding, dict) else rounding
    assert abs(found["kuiper_test"].value.statistic - of_rows.statistic) <= bound + 1e-12


def test_the_same_partitions_give_the_same_bits_on_every_scheduler(data, cut, cluster, threads):
    def found():
        return measure(["brier_score", "ece"], (cut(data["event"], *SEVEN), cut(data["p"], *SEVEN)), exact=True)

    first = found()
    import dask

    with dask.config.set(scheduler=None), cluster.as_current():
        assert found() == first
    with dask.config.set(scheduler="synchronous"):
        assert found() == first


def test_processes_that_come_and_go(data, cut, require):
    with require("dask").config.set(scheduler="processes", num_workers=1):
        found = measure(["brier_score", "kuiper_test"], (cut(data["event"], 350), cut(data["p"], 350)), exact=True)
    close(found["brier_score"].value, calibrant.brier_score(data["event"], data["p"]))
    close(found["kuiper_test"].value, calibrant.kuiper_test(data["event"], data["p"]))


def test_text_and_lists_in_frames(data, require, threads):
    pd, dd = require("pandas"), require("dask.dataframe")
    table = pd.DataFrame({"answer": data["answer"], "p": data["p"], "animal": data["animal"], "P": list(data["P"])})
    with require("dask").config.set({"dataframe.convert-string": False}):  # lists would become text
        frame = dd.from_pandas(table, npartitions=3)
        found = measure("ece", frame, y="animal", prediction="P", exact=True, classes=["cat", "dog", "owl"])
    wanted = calibrant.ece(data["animal"], data["P"], classes=["cat", "dog", "owl"])
    close(found["ece"].value, wanted)
    frame = dd.from_pandas(table[["answer", "p"]], npartitions=3)
    series = measure("ece", (frame["answer"], frame["p"]), exact=True, pos_label="yes")
    close(series["ece"].value, calibrant.ece(data["answer"], data["p"], pos_label="yes"))
