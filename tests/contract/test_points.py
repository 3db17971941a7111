"""Every verb of sets of points, with its important options, against the properties they all have."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cb


@dataclass(frozen=True)
class Verb:
    """A verb with options. A field that differs from its default says which property the verb does not have."""

    name: str
    options: dict[str, Any]
    of_one_set: bool = False
    in_order: bool = False  # takes rows in their order, and says so
    has_origin: bool = False  # a kernel of products: where 0 lies matters
    symmetric: bool = False  # the value is the same if the sets change places
    unit: int | None = 0  # power of the unit of the coordinates in the value; None if the value does not scale
    least: int = 2  # points of each set
    breaks_ties: bool = False  # rounding decides between neighbours at the same distance

    def __call__(self, y, points):
        result = self.verb(points, **self.options) if self.of_one_set else self.verb(y, points, **self.options)
        if self.name == "compare":
            found = [(m.name, {"value": m.value, "pvalue": m.pvalue}) for m in result.findings.measurements]
            result = {name: {key: value for key, value in m.items() if value is not None} for name, m in found}
        return flat(result)

    @property
    def verb(self) -> Callable[..., Any]:
        return getattr(cb.points, self.name)

    def __str__(self):
        return f"{self.name}({', '.join(f'{name}={value}' for name, value in self.options.items())})"


POLYNOMIAL = {"kernel": "polynomial"}
FOLDED = {"folds": 3, "resamples": 2}  # each permutation fits each classifier three times
VERBS = [
    Verb("mmd", {}, symmetric=True),
    Verb("mmd", {"estimator": "biased"}, symmetric=True),
    Verb("mmd", {"estimator": "block", "blocksize": 4}, in_order=True, symmetric=True, least=4),
    Verb("mmd", {"estimator": "linear"}, in_order=True, symmetric=True),
    Verb("mmd", {"kernel": "laplace"}, symmetric=True),
    Verb("mmd", {**POLYNOMIAL, "estimator": "biased"}, has_origin=True, symmetric=True, unit=None),
    Verb("mmd", {"bandwidth": 1.5}, symmetric=True, unit=None),
    Verb("mmd_test", {"resamples": 99}),
    Verb("mmd_test", {"resamples": 49, **POLYNOMIAL}, has_origin=True, unit=None),
    Verb("mmd_test", {"resamples": 49, "aggregate": "fuse"}),
    Verb("mmd_test", {"resamples": 49, "aggregate": "max"}),
    Verb("mmd_test", {"method": "block", "blocksize": 2}, in_order=True, least=20),
    Verb("frechet_distance", {}, symmetric=True, unit=2),
    Verb("frechet_distance", {"extrapolate": True, "rng": 0}, unit=2, least=30),
    Verb("kernel_distance", {}, has_origin=True, symmetric=True, unit=None),
    Verb("density_coverage", {"k": 3}, least=4),
    Verb("density_coverage", {"k": 1, "resamples": 19}),
    Verb("vendi_score", {}, of_one_set=True, least=1),
    Verb("vendi_score", {"order": 2}, of_one_set=True, least=1),
    Verb("vendi_score", {"order": 2, "kernel": "cosine"}, of_one_set=True, has_origin=True, least=1),
    Verb("vendi_profile", {}, of_one_set=True, least=1),
    Verb("vendi_profile", {"order": 1, "bandwidths": [1.0, 0.1]}, of_one_set=True, unit=None, least=1),
    Verb("diversity_test", {"resamples": 49}),
    Verb("sliced_wasserstein", {"directions": 20}, symmetric=True, unit=2),
    Verb("sliced_wasserstein", {"directions": 20, "power": 1}, symmetric=True, unit=1),
    Verb("sliced_wasserstein_test", {"directions": 20, "resamples": 49}, unit=2),
    Verb("precision_recall_curve", {"clusters": 3}),
    Verb("c2st", {"rng": 0}, breaks_ties=True),
    Verb("c2st", {"rng": 0, "classifier": "neighbours"}, breaks_ties=True),
    Verb("c2st", {"rng": 0, "classifier": ("neighbours", "quadratic"), **FOLDED}, least=3, breaks_ties=True),
    Verb("compare", {"resamples": 99, "level": 0.8}, has_origin=True, unit=None),
]
SHAPES = {"plane": (60, 45, 2), "line": (45, 60, 1), "space": (25, 30, 200)}  # more coordinates than points


def flat(result, name=""):
    """Return all numbers and texts of a result, by name."""
    if isinstance(result, (bool, int, float, str)) or result is None:
        return {name: result}
    if isinstance(result, np.ndarray):
        return {f"{name}[{k}]": value for k, value in enumerate(result.ravel().tolist())}
    if isinstance(result, tuple) and not hasattr(result, "_fields"):
        return {key: v for k, part in enumerate(result) for key, v in flat(part, f"{name}[{k}]").items()}
    if hasattr(result, "_asdict"):
        result = result._asdict()
    parts = result if isinstance(result, Mapping) else {f.name: getattr(result, f.name) for f in fields(result)}
    return {key: value for part, inner in parts.items() for key, value in flat(inner, f"{name}.{part}").items()}


def assert_same(found, expected, rel):
    """Compare results: counts are the same, and all other numbers agree to `rel`, p-values without absolute slack."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if name.endswith("pvalue"):
            assert found[name] == pytest.approx(value, rel=rel, abs=0), name
        elif isinstance(value, float):
            assert found[name] == pytest.approx(value, rel=rel, abs=rel), name
        elif name != ".method":  # numbers in words
            assert found[name] == value, name


def points_of(shape, seed=0):
    """Return two sets of points that float32, and an offset of 1e8, hold without rounding."""
    n, m, d = SHAPES[shape]
    rng = np.random.default_rng(seed)
    y, points = rng.normal(size=(n, d)), rng.normal(0.3, 1.2, size=(m, d))
    return np.round(64 * y) / 64, np.round(64 * points) / 64


def applies(verb, shape):
    """Return whether there are enough points: an extrapolation needs six for each coordinate."""
    return not ("extrapolate" in verb.options and shape == "space")


EVERY = {str(verb): verb for verb in VERBS}
EVERY_SHAPE = {f"{verb} {shape}": (verb, shape) for shape in SHAPES for verb in VERBS if applies(verb, shape)}
TWO_SETS = {name: verb for name, verb in EVERY.items() if not verb.of_one_set}
TAKES_RNG = {
    name: verb
    for name, verb in EVERY.items()
    if "rng" in inspect.signature(verb.verb).parameters and name != "frechet_distance()"  # which does not use it
}


def test_every_verb_of_points_is_tried():
    functions = {name for name in cb.points.__all__ if inspect.isfunction(getattr(cb.points, name))}
    assert functions == {verb.name for verb in VERBS}


def test_the_namespace_is_lazy_and_complete():
    program = """
import sys
import calibrant.points as points
listed = set(dir(points))
assert set(points.__all__) <= listed
import calibrant.points.discrepancy, calibrant.points.discrepancy_test, calibrant.auditing.compare_points
for name in points.__all__:
    assert getattr(points, name).__name__ == name, name
try:
    points.mdm
except AttributeError as problem:
    assert "'mdm'" in str(problem)
else:
    raise AssertionError("points.mdm exists")
from calibrant.points import *
assert callable(mmd) and callable(compare)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert list(cb.points.__all__) == sorted(cb.points.__all__)
    assert not set(cb.points.__all__) & set(cb.__all__)
    assert not set(cb.points.__all__) & {module.stem for module in Path(cb.points.__file__).parent.glob("*.py")}


def all_finite(found):
    return all(np.isfinite(value) for value in found.values() if isinstance(value, float))


def test_a_call_repeats_itself_and_finds_finite_python_numbers(for_each):
    def check(verb, shape):
        y, points = points_of(shape)
        before = y.copy(), points.copy()
        found = verb(y, points)
        assert {type(value) for value in found.values()} <= {float, int, str, type(None)}
        assert all_finite(found)
        assert all(0 < value <= 1 for name, value in found.items() if name.endswith("pvalue"))
        verb(points[:, ::-1], y[:, ::-1])  # nothing is remembered
        assert verb(y, points) == found
        for array, copy in zip((y, points), before, strict=True):  # and nothing is changed
            assert array.flags.writeable
            np.testing.assert_array_equal(array, copy)

    for_each(EVERY_SHAPE, check)


def test_row_order(for_each, refusal):
    def check(verb, shape):
        y, points = points_of(shape)
        expected = verb(y, points)
        for seed in (1, 2):
            rng = np.random.default_rng(seed)
            found = verb(rng.permutation(y), rng.permutation(points))
            if not verb.in_order:
                assert_same(found, expected, rel=1e-9)
            elif seed == 1:  # the exemption is needed
                refusal(assert_same, found, expected, rel=1e-9, error=AssertionError)

    for_each(EVERY_SHAPE, check)


def test_nothing_is_printed_or_seeded(for_each, capfd):
    def check(verb):
        before = np.random.get_state()  # noqa: NPY002
        verb(*points_of("plane"))
        after = np.random.get_state()  # noqa: NPY002
        assert before[0] == after[0]
        np.testing.assert_array_equal(before[1], after[1])
        assert before[2:] == after[2:]
        assert capfd.readouterr() == ("", "")

    for_each(EVERY, check)


def _read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def _every_other(x):
    wide = np.full((2 * len(x), 3 * x.shape[1]), np.nan)
    wide[::2, ::3] = x
    return wide[::2, ::3]


LAYOUTS = {
    "read-only": _read_only,
    "fortran": np.asfortranarray,
    "not contiguous": _every_other,
    "backwards": lambda x: x[::-1].copy()[::-1],
    "float32": lambda x: x.astype(np.float32),
    "other bytes": lambda x: x.astype(">f8"),
    "list": np.ndarray.tolist,
    "tuple": lambda x: tuple(map(tuple, x.tolist())),
    "pandas": lambda x: pd.DataFrame(x, columns=["b", "a"], index=np.zeros(len(x))),
    "polars": lambda x: pl.DataFrame(x, schema=["b", "a"], orient="row"),
}


def test_containers_and_layouts(for_each):
    def check(verb):
        y, points = points_of("plane")
        expected = verb(y, points)
        for name, layout in LAYOUTS.items():
            try:
                assert_same(verb(layout(y), layout(points)), expected, rel=1e-12)
                assert_same(verb(layout(y), points), expected, rel=1e-12)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from error

    for_each(EVERY, check)


def test_whole_numbers(for_each):
    def check(verb):
        y, points = (np.round(4 * part).astype(np.int64) for part in points_of("plane"))
        y[(y == 0).all(axis=1)] = 1  # a point at 0 has no angle
        points[(points == 0).all(axis=1)] = 1
        expected = verb(y * 1.0, points * 1.0)
        for kind in (np.int64, np.int8, np.float16):
            assert_same(verb(y.astype(kind), points.astype(kind)), expected, rel=1e-12)

    for_each(EVERY, check)


def test_huge_offsets(for_each):
    def check(verb, shape):
        y, points = points_of(shape)
        far = verb(y + 1e8, points + 1e8)
        if verb.has_origin or (verb.breaks_ties and shape == "line"):
            assert all_finite(far)
        else:
            assert_same(far, verb(y, points), rel=1e-6)

    for_each(EVERY_SHAPE, check)


LENGTHS = (".details.bandwidth", ".details.median_distance_y", ".details.median_distance_points")
IN_UNITS = ("", ".statistic", ".estimate", ".details.expected")  # where the value itself has a unit


def power_of_unit(name, verb):
    """Return the power of the unit of the coordinates in a number of the result."""
    if name in LENGTHS or name.startswith(".columns.bandwidth["):
        return 1
    return verb.unit if name in IN_UNITS else 0


def test_units(for_each, refusal):
    def check(verb):
        y, points = points_of("plane")
        near = verb(y, points)
        for factor in (2.0**-20, 2.0**20):
            far = verb(factor * y, factor * points)
            if verb.unit is None:
                refusal(assert_same, far, near, rel=1e-9, error=AssertionError)
                continue
            in_units = {
                name: value / factor ** power_of_unit(name, verb) if isinstance(value, float) else value
                for name, value in far.items()
            }
            assert_same(in_units, near, rel=1e-9)

    for_each(EVERY, check)


def test_sets_may_change_places(for_each):
    def check(verb, shape):
        y, points = points_of(shape)
        assert_same(verb(points, y), verb(y, points), rel=1e-9)

    for_each({name: case for name, case in EVERY_SHAPE.items() if case[0].symmetric}, check)


def test_few_points_of_unequal_numbers(for_each):
    def check(verb):
        y, points = points_of("plane")
        few = max(verb.least, 30)
        for m, k in ((len(y), few), (few, len(points)), (verb.least, verb.least)):
            assert all_finite(verb(y[:m], points[:k]))

    for_each(EVERY, check)


def bad(row, column, value):
    array = np.array(points_of("plane")[0])
    array[row, column] = value
    return array


GOOD = points_of("plane")[0]
REFUSED = {
    "nan": (bad(7, 1, np.nan), "{name} must be finite; row 7, column 1 is nan"),
    "inf": (bad(9, 0, -np.inf), "{name} must be finite; row 9, column 0 is -inf"),
    "none": (None, "{name} is missing"),
    "1-d": (GOOD[:, 0], "{name} must be points (n, d), one row each; got shape (60,). For points on a line pass "),
    "3-d": (GOOD[None], "{name} must be points (n, d), one row each; got shape (1, 60, 2). For images or sequences"),
    "number": (3.0, "{name} must be"),
    "strings": ([["a", "b"], ["c", "d"]], "{name} must be real numbers; row 0 is 'a'"),
    "text": ("points.npy", "{name} must be an array"),
    "bool": (GOOD > 0, "{name} must be real numbers; got values of type bool"),
    "complex": (GOOD + 1j, "{name} must be real numbers; got values of type complex128"),
    "empty": (GOOD[:0], "{name} must have at least {least} point"),
    "no columns": (GOOD[:, :0], "{name} must have at least one column"),
    "ragged": ([[1.0, 2.0], [3.0]], "{name} is not a regular array"),
    "too large": (bad(3, 0, 1e200), "{name} must lie within ±1e+150"),
    "missing in a frame": (pd.DataFrame({"a": [1.0, None, 2.0], "b": [0.0, 1.0, 2.0]}), "{name} must be finite; row 1"),
}


def test_what_is_refused(for_each, refusal):
    def check(verb, values, words):
        without_y = verb.of_one_set or (verb.name == "compare" and values is None)  # sets without real points
        for name in ("points",) if without_y else ("y", "points"):
            sets = {"y": GOOD, "points": GOOD, name: values}
            message = refusal(verb, sets["y"], sets["points"])
            assert words.format(name=name, least=1 if verb.of_one_set else 2) in message

    for_each({f"{name}: {given}": (verb, *REFUSED[given]) for name, verb in EVERY.items() for given in REFUSED}, check)


def test_one_point_and_different_spaces_are_refused(for_each, refusal):
    def check(verb):
        assert "points must have at least 2 points; got 1" in refusal(verb, GOOD, GOOD[:1])
        assert "y must have at least 2 points; got 1" in refusal(verb, GOOD[:1], GOOD)
        words = "y and points must have the same number of columns; got 2 in y and 1 in points"
        assert words in refusal(verb, GOOD, GOOD[:, :1])

    for_each(TWO_SETS, check)


def test_options_have_names(for_each):
    def check(verb):
        with pytest.raises(TypeError):
            verb.verb(*([GOOD] if verb.of_one_set else [GOOD, GOOD]), "gaussian")

    for_each(EVERY, check)


WRONG = {
    "bandwidth": (0, -1, np.nan, True, "mean"),
    "clusters": (1, 2.5, True),
    "k": (0, -1, 2.0, True, "5", None),
    "level": (95, 1.0, np.nan, "a"),
    "order": (-1, -np.inf, np.nan, True, "1", None, 1j),
    "resamples": (0, -1, 9.5, True, "9", None, 10**9),
    "rng": (-1, 1.5, True, "seed", None),
}


def test_options_are_checked(for_each, refusal):
    """A wrong value of an option, and an array in the place of one value, are refused by name."""

    def check(verb):
        call = [GOOD] if verb.of_one_set else [GOOD, GOOD]
        for option, parameter in inspect.signature(verb.verb).parameters.items():
            if option in ("y", "points", "sets", "weights", "bandwidths", "columns"):
                continue
            for value in (*WRONG.get(option, ()), np.array([0.5, 0.9])):
                if value is not parameter.default:
                    message = refusal(verb.verb, *call, **{**verb.options, option: value})
                    assert re.search(rf"\b{option}( must |= is |\b.*out\b)", message), (option, value, message)

    for_each({name: verb for name, verb in EVERY.items() if name != "frechet_distance()"}, check)  # without use for rng


def test_random_generators(for_each):
    def check(verb):
        y, points = points_of("plane")
        one, same = (replace(verb, options={**verb.options, "rng": rng}) for rng in (7, np.random.default_rng(7)))
        assert same(y, points) == one(y, points)

    for_each(TAKES_RNG, check)


def test_a_verb_that_draws_at_random_needs_a_seed(refusal):
    assert "pass rng=0" in refusal(cb.points.c2st, GOOD, GOOD)
    assert "rng" in refusal(cb.points.frechet_distance, GOOD, GOOD, extrapolate=True)


def test_flat_finds_everything():
    """The properties compare what this returns: nothing may be left out."""
    found = flat(cb.points.density_coverage(GOOD, GOOD, resamples=9))
    assert {".precision", ".recall", ".density", ".coverage", ".k", ".n", ".m"} <= found.keys()
    assert sum(".relabelled.coverage.draws" in name for name in found) == 9
    assert {".statistic", ".pvalue", ".estimate", ".n", ".details.n", ".details.held_out[1]"} <= flat(
        cb.points.c2st(GOOD, GOOD, rng=0)
    ).keys()
