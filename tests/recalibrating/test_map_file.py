"""The JSON map: the same bits come back, and everything else is refused with its key."""

import copy
import dataclasses
import json
import math
import pickle
import random
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from calibrant import recalibrate
from calibrant.errors import InputError
from calibrant.recalibrating import map_file
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.methods import METHODS
from calibrant.recalibrating.recalibration import Recalibration

MUTATIONS_PER_MAP = 700


def beta():
    parameters = {"a": 5e-324, "b": 0.5, "c": -0.1 - 0.2}
    certificate = {"objective": 0.55, "gradient": 3e-17, "boundary": ("a",)}
    return Recalibration("binary", "beta", parameters, 60, FitOptions("log"), **certificate)


def logistic(**options):
    return Recalibration("binary", "logistic", {"intercept": 0.1, "slope": -1.0}, 7, FitOptions(**options))


def maps():
    rng = np.random.default_rng(0)
    knots = np.sort(rng.uniform(size=4))
    square = {"matrix": rng.normal(size=(3, 3)), "bias": np.array([1e-300, -0.0, 1.7e308])}
    ridge, two = FitOptions("log", ridge=(0.01, 1.0)), np.array([0.8, 0.95])
    flat = {"intercept": 0.25, "slope": 0.1 + 0.2}
    shifts = {"groups": ({"shift": np.array([0.1, math.inf])}, {"shift": np.array([-1.5, 0.2])})}
    return {
        "beta": beta(),
        "temperature": Recalibration("binary", "temperature", {"slope": 0.0, "temperature": math.inf}, 9),
        "clipped": logistic(clip=1e-6, smoothing="platt"),
        "table": Recalibration("binary", "venn-abers", {"scores": knots, "p0": knots / 3, "p1": knots}, 9),
        "square": Recalibration("classes", "dirichlet", square, 80, ridge, ("no", "größer", 3)),
        "each": Recalibration("classes", "one-vs-rest", {"maps": (logistic(),) * 2}, 7, classes=(0, 1)),
        "one level": Recalibration("intervals", "shift", {"shift": np.array([0.3])}, 9, levels=np.array([0.9])),
        "groups": Recalibration("intervals", "shift", shifts, 37, levels=two, groups=("a", 2)),
        "shrunk": Recalibration("binary", "logistic", {**flat, "groups": (flat, flat)}, 60, groups=("a", 2)),
        "columns": Recalibration("sets", "relevel", {"column": np.array([1, 2])}, 40, levels=np.array([0.6, 0.8])),
        "identity": Recalibration("distributions", "identity", {}, 12, FitOptions("log")),
        "unnamed sets": Recalibration("sets", "identity", {}, 12),
    }


def bits(value):
    """Return what a map has, with arrays as their bytes."""
    if isinstance(value, Recalibration):
        names = ("kind", "method", "parameters", "n", "options", "classes", "levels", "groups")
        return [bits(getattr(value, name)) for name in (*names, "objective", "gradient", "boundary")]
    if hasattr(value, "items"):
        return {name: bits(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(bits(part) for part in value)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return np.float64(value).tobytes() if isinstance(value, float) else value


class TestRoundTrip:
    def test_text_gives_the_same_bits(self, for_each):
        def check(one):
            again = Recalibration.from_json(one.to_json())
            assert bits(again) == bits(one)
            assert again.to_json() == one.to_json()

        for_each(maps(), check)

    def test_file_gives_the_same_bits(self, tmp_path):
        one = maps()["groups"]
        path = one.to_json(tmp_path / "map.json")
        assert path == tmp_path / "map.json"
        assert [file.name for file in tmp_path.iterdir()] == ["map.json"]
        for given in (path, str(path)):
            assert bits(Recalibration.from_json(given)) == bits(one)
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # editors on Windows begin files like this
        assert bits(Recalibration.from_json(path)) == bits(one)

    def test_keys_and_numbers_are_those_of_the_format(self):
        tree, infinite = (json.loads(maps()[name].to_json()) for name in ("beta", "temperature"))
        assert list(tree) == list(map_file.KEYS)
        assert tree["format"] == "calibrant-recalibration"
        assert tree["parameters"] == {"a": 5e-324, "b": 0.5, "c": -0.30000000000000004}
        assert infinite["parameters"]["temperature"] == "inf"
        assert tree["options"] == {"clip": None}
        assert '"c": -0.30000000000000004' in beta().to_json()
        groups = json.loads(maps()["groups"].to_json())
        assert groups["groups"] == ["a", 2]
        assert groups["parameters"]["groups"][0] == {"group": "a", "shift": [0.1, "inf"]}
        nested = json.loads(maps()["each"].to_json())["parameters"]["maps"]
        assert [list(one) for one in nested] == [list(map_file.KEYS)] * 2

    def test_the_documented_file_is_a_map(self):
        page = Path(__file__).parents[2] / "docs" / "verbs" / "recalibrate.md"
        text = page.read_text(encoding="utf-8").partition("```json")[2].partition("```")[0].strip()
        assert dict(Recalibration.from_json(text).parameters) == {"intercept": -0.035, "slope": 0.53}
        assert list(json.loads(text)) == list(map_file.KEYS)

    def test_classes_are_text_or_whole_numbers(self, refusal):
        one = Recalibration("classes", "identity", {}, 9, classes=(np.str_("a"), np.float64(2), np.int8(3)))
        assert json.loads(one.to_json())["classes"] == ["a", 2, 3]
        for label in (0.5, True, ("a",), "\ud800"):
            odd = Recalibration("classes", "identity", {}, 9, classes=("a", label))
            assert "text or whole numbers" in refusal(odd.to_json)

    def test_a_group_that_json_cannot_keep_is_refused_on_writing(self, refusal):
        odd = Recalibration("intervals", "shift", {"groups": ({"shift": np.ones(1)},)}, 9, groups=(math.inf,))
        assert "labels of groups" in refusal(odd.to_json)


def changed(name, *path, to=None, drop=False):
    """Return a map's tree with the value at a path replaced or dropped."""
    tree = json.loads(maps()[name].to_json())
    *start, last = path
    node = tree
    for step in start:
        node = node[step]
    if drop:
        del node[last]
    else:
        node[last] = to
    return json.dumps(tree)


REFUSED = {
    "another format": (("beta", "format"), "mapping", ["format", "calibrant-recalibration"]),
    "a newer version": (("beta", "version"), 2, ["version", "newer calibrant"]),
    "a newer version of nested maps": (("each", "parameters", "maps", 1, "version"), 2, ["maps[1].version", "newer"]),
    "an older version": (("beta", "version"), 0, ["version", "must be 1"]),
    "true is no version": (("beta", "version"), True, ["version"]),
    "an unknown kind": (("beta", "kind"), "law", ["kind", "'binary'"]),
    "an unknown method": (("beta", "method"), "os.system", ["method", "os.system"]),
    "a method of another kind": (("beta", "method"), "matrix", ["method", "matrix"]),
    "a list as kind": (("beta", "kind"), ["binary"], ["kind"]),
    "an unknown key": (("beta", "parameter"), {}, ["'parameter'", "unknown", "Did you mean 'parameters'?"]),
    "an unknown parameter": (("beta", "parameters", "code"), "1+1", ["parameters.'code'", "unknown"]),
    "an unknown option": (("beta", "options", "ridge"), 1.0, ["options.'ridge'", "unknown"]),
    "text for a number": (("beta", "parameters", "c"), "0.5", ["parameters.c", "finite number"]),
    "true for a number": (("beta", "parameters", "c"), True, ["parameters.c", "True"]),
    "null for a number": (("beta", "parameters", "c"), None, ["parameters.c", "None"]),
    "a list for a number": (("beta", "parameters", "c"), [1.0], ["parameters.c"]),
    "infinity without sense": (("beta", "parameters", "c"), "inf", ["parameters.c", "finite"]),
    "NaN": (("beta", "parameters", "c"), math.nan, ["parameters.c", "nan"]),
    "Infinity": (("temperature", "parameters", "temperature"), math.inf, ["parameters.temperature", '"inf"']),
    "NaN as text": (("temperature", "parameters", "temperature"), "nan", ["parameters.temperature"]),
    "a whole number beyond double": (("beta", "parameters", "c"), 10**309, ["parameters.c", "float64"]),
    "a negative slope": (("beta", "parameters", "a"), -1e-9, ["parameters.a", "[0, inf]"]),
    "a smaller infinity": (("temperature", "parameters", "temperature"), "-inf", ["parameters.temperature"]),
    "a clip out of range": (("beta", "options", "clip"), 0.5, ["options", "clip"]),
    "unknown smoothing": (("clipped", "options", "smoothing"), "laplace", ["options", "smoothing"]),
    "classes of a binary map": (("beta", "classes"), [0, 1], ["classes", "null"]),
    "levels of a binary map": (("beta", "levels"), [0.9], ["levels", "null"]),
    "groups of a method without": (("table", "groups"), ["a"], ["groups", "null"]),
    "a slope of a group that is text": (("shrunk", "parameters", "groups", 1, "slope"), "1", ["groups[1].slope"]),
    "a common slope that is text": (("shrunk", "parameters", "slope"), "1", ["parameters.slope", "number"]),
    "an unknown common parameter": (("shrunk", "parameters", "b"), 1, ["parameters.'b'", "unknown"]),
    "no rows": (("beta", "n"), 0, ["n ", "at least 1"]),
    "half a row": (("beta", "n"), 60.5, ["n ", "whole"]),
    "an unknown score": (("beta", "score"), "crps", ["score", "brier"]),
    "an objective that is text": (("beta", "objective"), "low", ["objective"]),
    "an unknown boundary": (("beta", "boundary"), ["scale"], ["boundary[0]", "scale"]),
    "a boundary twice": (("beta", "boundary"), ["a", "a"], ["boundary[1]", "different"]),
    "a library that is a number": (("beta", "library"), 3, ["library"]),
    "knots that do not rise": (("table", "parameters", "scores"), [0.1, 0.2, 0.2, 0.3], ["scores", "rising", "0.2"]),
    "values that fall": (("table", "parameters", "p1"), [0.1, 0.2, 0.15, 0.3], ["p1", "not falling", "entry 2"]),
    "values beyond 1": (("table", "parameters", "p1", 3), 1.5, ["parameters.p1[3]", "[0, 1]"]),
    "bounds that cross": (("table", "parameters", "p1", 0), 0.0, ["parameters", "p0 must not exceed"]),
    "columns of other length": (("table", "parameters", "p0"), [0.1], ["parameters.p0", "4 entries"]),
    "an empty table": (("table", "parameters", "scores"), [], ["parameters.scores"]),
    "a table of text": (("table", "parameters", "scores", 2), "x", ["parameters.scores[2]"]),
    "a ragged matrix": (("square", "parameters", "matrix", 1), [1.0, 2.0], ["matrix[1]", "3 entries"]),
    "K unlike classes": (("square", "classes"), ["a", "b"], ["parameters.matrix", "2 entries", "classes"]),
    "one class": (("square", "classes"), ["a"], ["classes", "at least 2"]),
    "a class twice": (("square", "classes"), ["a", "b", "a"], ["classes[2]", "different"]),
    "a class that is a fraction": (("square", "classes", 0), 0.5, ["classes[0]", "whole"]),
    "no classes": (("square", "classes"), None, ["classes", "list"]),
    "a ridge of 0": (("square", "options", "ridge"), 0, ["options", "ridge"]),
    "three ridges": (("square", "options", "ridge"), [1, 1, 1], ["options", "ridge"]),
    "too few nested maps": (("each", "parameters", "maps"), [], ["parameters.maps", "2 entries"]),
    "a nested map of another kind": (("each", "parameters", "maps", 0, "kind"), "classes", ["maps[0].kind"]),
    "a nested map of another method": (("each", "options", "inner"), "beta", ["maps[0].method", "beta"]),
    "a nested value that is not a map": (("each", "parameters", "maps", 0), 7, ["maps[0]", "object"]),
    "an unknown inner": (("each", "options", "inner"), "vector", ["options.inner"]),
    "levels unlike": (("groups", "levels"), [0.8], ["parameters.groups[0].shift", "1 entries", "levels"]),
    "levels beyond 1": (("groups", "levels"), [0.8, 80], ["levels", "80"]),
    "a level twice": (("groups", "levels"), [0.8, 0.8], ["levels", "twice"]),
    "no levels": (("groups", "levels"), None, ["levels"]),
    "another group": (("groups", "parameters", "groups", 1, "group"), "b", ["groups[1].group", "'b'"]),
    "another type of group": (("groups", "parameters", "groups", 1, "group"), 2.0, ["groups[1].group"]),
    "a group twice": (("groups", "groups"), ["a", "a"], ["groups[1]", "different"]),
    "no group": (("groups", "groups"), [], ["groups"]),
    "fewer groups": (("groups", "groups"), ["a"], ["parameters.groups", "1 entries"]),
    "a group that is a list": (("groups", "groups", 0), ["a"], ["groups[0]"]),
    "a column beyond the sets": (("columns", "parameters", "column", 0), 3, ["parameters", "at most 2"]),
    "a column below 0": (("columns", "parameters", "column", 0), -1, ["column[0]", "[0, inf]"]),
    "fewer columns": (("columns", "parameters", "column"), [0], ["column", "2 entries, as there are levels"]),
    "one column": (("columns", "parameters", "column"), 1, ["column", "list"]),
    "an infinite shift inwards": (("one level", "parameters", "shift"), "-inf", ["parameters.shift"]),
    "a shift that is an object": (("one level", "parameters", "shift"), {}, ["parameters.shift"]),
    "two shifts of one level": (("one level", "parameters", "shift"), [1.0, 2.0], ["parameters.shift"]),
    "half a column": (("columns", "parameters", "column", 0), 0.5, ["column[0]", "whole"]),
    "parameters of the identity": (("identity", "parameters", "x"), 1, ["parameters.'x'", "no key"]),
}


class TestRefused:
    def test_every_illegal_value_with_its_key(self, for_each, refusal):
        def check(path, value, words):
            message = refusal(Recalibration.from_json, changed(path[0], *path[1:], to=value))
            assert all(word in message for word in ["this map cannot be read", *words]), message

        for_each(REFUSED, check)

    def test_every_missing_key(self, for_each, refusal):
        def check(key):
            words = f"map.{key} must be" if key in ("format", "version") else f"map.{key} is missing"
            assert words in refusal(Recalibration.from_json, changed("beta", key, drop=True))

        for_each(list(map_file.KEYS), check)
        nested = changed("each", "parameters", "maps", 1, "parameters", "slope", drop=True)
        assert "parameters.maps[1].parameters.slope is missing" in refusal(Recalibration.from_json, nested)

    def test_repeated_keys(self, refusal):
        text = beta().to_json().replace('"n": 60', '"n": 60, "n": 61')
        assert "has the key 'n' twice" in refusal(Recalibration.from_json, text)

    def test_numbers_beyond_double(self, refusal):
        text = beta().to_json().replace("-0.30000000000000004", "1e999")
        assert "parameters.c must be a finite number, in the range of float64" in refusal(Recalibration.from_json, text)

    def test_depth(self, refusal):
        assert "nested too deep" in refusal(Recalibration.from_json, '{"a":' * 50_000)

    def test_what_is_not_a_map_at_all(self, tmp_path, for_each, refusal):
        def check(given, *words):
            message = refusal(Recalibration.from_json, given)
            assert all(word in message for word in words), message

        (tmp_path / "list.json").write_text("[1, 2]")
        (tmp_path / "latin.json").write_bytes('{"größe"'.encode("latin-1"))
        (tmp_path / "cut.json").write_text('{"format": "calibrant-rec')
        for text in ("null", "1", "true"):
            (tmp_path / f"{text}.json").write_text(text)
        cases = {
            "no file": (tmp_path / "nowhere.json", "nowhere.json cannot be read", "No such file"),
            "a folder": (tmp_path, "cannot be read: Is a directory"),
            "a list": (tmp_path / "list.json", "list.json", "must be an object"),
            "not UTF-8": (tmp_path / "latin.json", "not UTF-8"),
            "cut": (tmp_path / "cut.json", "cut.json", "not JSON"),
            "a zero byte": ("a\x00b", "neither a file"),
            "a long text": ("x" * 10_000, "neither a file"),
            "a number": (7, "expected the path"),
            "bytes": (b"{}", "expected the path"),
            "an empty object": ("{}", "map.format must be"),
            **{text: (tmp_path / f"{text}.json", "must be an object with keys") for text in ("null", "1", "true")},
        }
        for_each(cases, check)


NUMBERS = [0, 1, -1, 0.5, 2, 1e300, -0.0, 10**400, math.nan, math.inf]
TEXTS = ["inf", "-inf", "log", "a", "beta", "relevel"]
VALUES = [None, True, *TEXTS, [], {}, [0.1], ["a", 2], [[1.0]], "\ud800", *NUMBERS]


def nodes(tree):
    """Return every object and list of a tree."""
    found = [tree]
    for node in found:
        parts = node.values() if isinstance(node, dict) else node
        found += [part for part in parts if isinstance(part, (dict, list))]
    return [node for node in found if node]


def mutated(tree, rng):
    """Return a text near that of a tree: one value, key or entry changed, or a few characters of the text."""
    tree = copy.deepcopy(tree)
    node = rng.choice(nodes(tree))
    place = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
    act = rng.randrange(6)
    if act == 0:
        del node[place]
    elif act == 1 and isinstance(node, dict):
        node[rng.choice([*map_file.KEYS, "slope", "maps", "group", ""])] = node.pop(place)
    elif act == 1:
        node.insert(place, copy.deepcopy(node[place]))
    elif act in (2, 3):
        node[place] = copy.deepcopy(rng.choice(VALUES))
    text = json.dumps(tree)
    if act > 3:
        start = rng.randrange(len(text))
        text = text[:start] + rng.choice(["", "0", "9", "-", ",", "]", '"', "e9", "}"]) + text[start + act - 4 :]
    return text


def said(tree):
    """Return what a tree says about its map: everything but who wrote it, with parameters as float64."""
    nested = tree["parameters"].get("maps")
    parameters = {"maps": [said(one) for one in nested]} if nested else in_double(tree["parameters"])
    return {**tree, "parameters": parameters, "library": None}


def in_double(value):
    if isinstance(value, dict):
        return {name: part if name == "group" else in_double(part) for name, part in value.items()}
    if isinstance(value, list):
        return [in_double(part) for part in value]
    return float(value) if type(value) is int else value


def survivors(one, rng, count):
    """Return the maps of those mutated texts that are read: they say what their text says. Others are refused."""
    tree, found = json.loads(one.to_json()), []
    for _ in range(count):
        text = mutated(tree, rng)
        try:
            again = Recalibration.from_json(text)
        except InputError:
            continue
        assert said(json.loads(again.to_json())) == said(json.loads(text)), text
        found.append(again)
    return found


class TestMutated:
    def test_a_mutated_map_is_refused_or_says_what_its_text_says(self):
        rng = random.Random(0)
        read = sum(len(survivors(one, rng, MUTATIONS_PER_MAP)) for one in maps().values())
        assert 200 < read < 0.5 * MUTATIONS_PER_MAP * len(maps())

    def test_every_method_of_calibrant(self, calibration_rows):
        """Mutated maps of every method are refused or can be applied."""
        rng, read = random.Random(1), 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for kind, methods in METHODS.items():
                for method in methods:
                    y, prediction = calibration_rows(kind, method)
                    one = recalibrate(y, prediction, method=method)
                    for again in survivors(one, rng, 80):
                        read += 1
                        with suppress(InputError):  # such as other levels than those of the prediction
                            again.apply(prediction)
        assert read > 200


class TestColumns:
    """The columns that the command line named are kept with the map; maps made in Python have none."""

    def test_round_trip(self):
        found = dataclasses.replace(beta(), columns={"lower": ("a", "b"), "by": ("région",)})
        again = Recalibration.from_json(found.to_json())
        assert dict(again.columns) == {"lower": ("a", "b"), "by": ("région",)}
        assert "columns" not in json.loads(beta().to_json())
        assert dict(pickle.loads(pickle.dumps(found)).columns) == dict(found.columns)

    @pytest.mark.parametrize("columns", [None, "p", {"p": "score"}, {"q": ["a"]}, {"p": [1]}, {"p": ["a", "a"]}])
    def test_refusals(self, columns, refusal):
        tree = {**json.loads(beta().to_json()), "columns": columns}
        assert "this map cannot be read: map.columns" in refusal(Recalibration.from_json, json.dumps(tree))
