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
from calibrant.recalibrating.method import FitOptions, Method, Parameter
from calibrant.recalibrating.methods import METHODS
from calibrant.recalibrating.recalibration import Recalibration

MUTATIONS_PER_MAP = 700


def _ordered(parameters):
    if (parameters["lower"] > parameters["values"]).any():
        raise InputError("lower must not exceed values")


def _method(parameters, uses=(), check=None):
    return Method(lambda rows, options: None, lambda parameters, p, options: p, parameters, uses, check=check)


def _column(order="", **spec):
    return Parameter("m", 0, 1, order=order, **spec)


# Methods that have every kind of parameter, whatever methods calibrant has.
TRIED = {
    "binary": {
        "line": _method(
            {"intercept": Parameter(), "slope": Parameter(low=0), "temperature": Parameter(low=0, infinite=True)},
            ("clip", "smoothing"),
        ),
        "table": _method(
            {"knots": _column("rising"), "lower": _column(), "values": _column("not falling")}, ("clip",), _ordered
        ),
    },
    "classes": {
        "square": _method({"matrix": Parameter("KK"), "bias": Parameter("K")}, ("ridge", "clip")),
        "each": _method({"maps": Parameter("K", maps="binary")}, ("inner", "clip")),
    },
    "intervals": {"moved": _method({"shift": Parameter("L", infinite=True)}, ("groups",))},
    "sets": {"columns": _method({"column": Parameter("L", low=0, whole=True)})},
}


@pytest.fixture
def tried(monkeypatch):
    """Add the methods of this module to those of calibrant."""
    for kind, methods in TRIED.items():
        for name, rule in methods.items():
            monkeypatch.setitem(METHODS[kind], name, rule)


def line(method="line", **options):
    parameters = {"intercept": -0.1 - 0.2, "slope": 5e-324, "temperature": math.inf}
    return Recalibration(
        "binary", "line", parameters, 60, FitOptions("log", **options), None, None, None, 0.55, 3e-17, ("slope",)
    )


def maps():
    rng = np.random.default_rng(0)
    knots = np.sort(rng.uniform(size=4))
    return {
        "line": line(),
        "clipped": line(clip=1e-6, smoothing="platt"),
        "table": Recalibration("binary", "table", {"knots": knots, "lower": knots / 3, "values": knots}, 9),
        "square": Recalibration(
            "classes",
            "square",
            {"matrix": rng.normal(size=(3, 3)), "bias": np.array([1e-300, -0.0, 1.7e308])},
            80,
            FitOptions("log", ridge=(0.01, 1.0)),
            ("no", "größer", 3),
        ),
        "each": Recalibration("classes", "each", {"maps": (line(),) * 2}, 7, FitOptions(inner="line"), (0, 1)),
        "one level": Recalibration("intervals", "moved", {"shift": np.array([0.3])}, 9, levels=np.array([0.9])),
        "groups": Recalibration(
            "intervals",
            "moved",
            {"groups": ({"shift": np.array([0.1, math.inf])}, {"shift": np.array([-math.inf, 0.2])})},
            37,
            levels=np.array([0.8, 0.95]),
            groups=("a", 2),
        ),
        "columns": Recalibration("sets", "columns", {"column": np.array([1, 3])}, 40, levels=np.array([0.6, 0.8])),
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
    def test_text_gives_the_same_bits(self, tried, for_each):
        def check(one):
            again = Recalibration.from_json(one.to_json())
            assert bits(again) == bits(one)
            assert again.to_json() == one.to_json()

        for_each(maps(), check)

    def test_file_gives_the_same_bits(self, tried, tmp_path):
        one = maps()["groups"]
        path = one.to_json(tmp_path / "map.json")
        assert path == tmp_path / "map.json"
        assert [file.name for file in tmp_path.iterdir()] == ["map.json"]
        for given in (path, str(path)):
            assert bits(Recalibration.from_json(given)) == bits(one)
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # editors on Windows begin files like this
        assert bits(Recalibration.from_json(path)) == bits(one)

    def test_keys_and_numbers_are_those_of_the_format(self, tried):
        tree = json.loads(line().to_json())
        assert list(tree) == list(map_file.KEYS)
        assert tree["format"] == "calibrant-recalibration"
        assert tree["parameters"] == {"intercept": -0.30000000000000004, "slope": 5e-324, "temperature": "inf"}
        assert tree["options"] == {"clip": None, "smoothing": None}
        assert '"intercept": -0.30000000000000004' in line().to_json()
        groups = json.loads(maps()["groups"].to_json())
        assert groups["groups"] == ["a", 2]
        assert groups["parameters"]["groups"][0] == {"group": "a", "shift": [0.1, "inf"]}
        nested = json.loads(maps()["each"].to_json())["parameters"]["maps"]
        assert [list(one) for one in nested] == [list(map_file.KEYS)] * 2

    def test_the_documented_file_is_a_map(self):
        page = Path(__file__).parents[2] / "docs" / "verbs" / "recalibrate.md"
        text = page.read_text(encoding="utf-8").partition("```json")[2].partition("```")[0].strip()
        one = Recalibration.from_json(text)
        assert dict(one.parameters) == {"intercept": -0.035, "slope": 0.53}
        assert list(json.loads(text)) == list(map_file.KEYS)

    def test_classes_are_text_or_whole_numbers(self, refusal):
        one = Recalibration("classes", "identity", {}, 9, classes=(np.str_("a"), np.float64(2), np.int8(3)))
        assert json.loads(one.to_json())["classes"] == ["a", 2, 3]
        for label in (0.5, True, ("a",), "\ud800"):
            odd = Recalibration("classes", "identity", {}, 9, classes=("a", label))
            assert "text or whole numbers" in refusal(odd.to_json)

    def test_a_group_that_json_cannot_keep_is_refused_on_writing(self, tried, refusal):
        odd = Recalibration("intervals", "moved", {"groups": ({"shift": np.ones(1)},)}, 9, groups=(math.inf,))
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
    "another format": (("line", "format"), "mapping", ["format", "calibrant-recalibration"]),
    "a newer version": (("line", "version"), 2, ["version", "newer calibrant"]),
    "a newer version of nested maps": (("each", "parameters", "maps", 1, "version"), 2, ["maps[1].version", "newer"]),
    "an older version": (("line", "version"), 0, ["version", "must be 1"]),
    "true is no version": (("line", "version"), True, ["version"]),
    "an unknown kind": (("line", "kind"), "law", ["kind", "'binary'"]),
    "an unknown method": (("line", "method"), "os.system", ["method", "os.system"]),
    "a method of another kind": (("line", "method"), "square", ["method", "square"]),
    "a list as kind": (("line", "kind"), ["binary"], ["kind"]),
    "an unknown key": (("line", "parameter"), {}, ["'parameter'", "unknown", "Did you mean 'parameters'?"]),
    "an unknown parameter": (("line", "parameters", "code"), "1+1", ["parameters.'code'", "unknown"]),
    "an unknown option": (("line", "options", "ridge"), 1.0, ["options.'ridge'", "unknown"]),
    "text for a number": (("line", "parameters", "intercept"), "0.5", ["parameters.intercept", "finite number"]),
    "true for a number": (("line", "parameters", "intercept"), True, ["parameters.intercept", "True"]),
    "null for a number": (("line", "parameters", "intercept"), None, ["parameters.intercept", "None"]),
    "a list for a number": (("line", "parameters", "intercept"), [1.0], ["parameters.intercept"]),
    "infinity without sense": (("line", "parameters", "intercept"), "inf", ["parameters.intercept", "finite"]),
    "NaN": (("line", "parameters", "intercept"), math.nan, ["parameters.intercept", "nan"]),
    "Infinity": (("line", "parameters", "temperature"), math.inf, ["parameters.temperature", '"inf"']),
    "NaN as text": (("line", "parameters", "temperature"), "nan", ["parameters.temperature"]),
    "a whole number beyond double": (("line", "parameters", "intercept"), 10**309, ["intercept", "float64"]),
    "a negative slope": (("line", "parameters", "slope"), -1e-9, ["parameters.slope", "[0, inf]"]),
    "a smaller infinity": (("line", "parameters", "temperature"), "-inf", ["parameters.temperature"]),
    "a clip out of range": (("line", "options", "clip"), 0.5, ["options", "clip"]),
    "unknown smoothing": (("line", "options", "smoothing"), "laplace", ["options", "smoothing"]),
    "classes of a binary map": (("line", "classes"), [0, 1], ["classes", "null"]),
    "levels of a binary map": (("line", "levels"), [0.9], ["levels", "null"]),
    "groups of a method without": (("line", "groups"), ["a"], ["groups", "null"]),
    "no rows": (("line", "n"), 0, ["n ", "at least 1"]),
    "half a row": (("line", "n"), 60.5, ["n ", "whole"]),
    "an unknown score": (("line", "score"), "crps", ["score", "brier"]),
    "an objective that is text": (("line", "objective"), "low", ["objective"]),
    "an unknown boundary": (("line", "boundary"), ["scale"], ["boundary[0]", "scale"]),
    "a boundary twice": (("line", "boundary"), ["slope", "slope"], ["boundary[1]", "different"]),
    "a library that is a number": (("line", "library"), 3, ["library"]),
    "knots that do not rise": (("table", "parameters", "knots"), [0.1, 0.2, 0.2, 0.3], ["knots", "rising", "0.2"]),
    "values that fall": (("table", "parameters", "values"), [0.1, 0.2, 0.15, 0.3], ["values", "fall", "entry 2"]),
    "values beyond 1": (("table", "parameters", "values", 3), 1.5, ["parameters.values[3]", "[0, 1]"]),
    "bounds that cross": (("table", "parameters", "lower", 0), 0.9, ["parameters", "lower must not exceed"]),
    "columns of other length": (("table", "parameters", "lower"), [0.1], ["parameters.lower", "4 entries"]),
    "an empty table": (("table", "parameters", "knots"), [], ["parameters.knots"]),
    "a table of text": (("table", "parameters", "knots", 2), "x", ["parameters.knots[2]"]),
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
    "a nested map of another method": (("each", "options", "inner"), "table", ["maps[0].method", "table"]),
    "a nested value that is not a map": (("each", "parameters", "maps", 0), 7, ["maps[0]", "object"]),
    "an unknown inner": (("each", "options", "inner"), "each", ["options.inner"]),
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
    "half a column": (("columns", "parameters", "column", 0), 0.5, ["column[0]", "whole"]),
    "parameters of the identity": (("identity", "parameters", "x"), 1, ["parameters.'x'", "no key"]),
}


class TestRefused:
    def test_every_illegal_value_with_its_key(self, tried, for_each, refusal):
        def check(path, value, words):
            message = refusal(Recalibration.from_json, changed(path[0], *path[1:], to=value))
            assert all(word in message for word in ["this map cannot be read", *words]), message

        for_each(REFUSED, check)

    def test_every_missing_key(self, tried, for_each, refusal):
        def check(key):
            words = f"map.{key} must be" if key in ("format", "version") else f"map.{key} is missing"
            assert words in refusal(Recalibration.from_json, changed("line", key, drop=True))

        for_each(list(map_file.KEYS), check)
        nested = changed("each", "parameters", "maps", 1, "parameters", "slope", drop=True)
        assert "parameters.maps[1].parameters.slope is missing" in refusal(Recalibration.from_json, nested)

    def test_repeated_keys(self, tried, refusal):
        text = line().to_json().replace('"n": 60', '"n": 60, "n": 61')
        assert "has the key 'n' twice" in refusal(Recalibration.from_json, text)

    def test_numbers_beyond_double(self, tried, refusal):
        text = line().to_json().replace("-0.30000000000000004", "1e999")
        assert "parameters.intercept must be a finite number, in the range of float64" in refusal(
            Recalibration.from_json, text
        )

    def test_depth(self, tried, refusal):
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
VALUES = [None, True, "inf", "-inf", "log", "a", "line", "table", [], {}, [0.1], ["a", 2], [[1.0]], "\ud800", *NUMBERS]


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
    def test_a_mutated_map_is_refused_or_says_what_its_text_says(self, tried):
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


@pytest.mark.usefixtures("tried")
class TestColumns:
    """The columns that the command line named are kept with the map; maps made in Python have none."""

    def test_round_trip(self):
        found = dataclasses.replace(line(), columns={"lower": ("a", "b"), "by": ("région",)})
        again = Recalibration.from_json(found.to_json())
        assert dict(again.columns) == {"lower": ("a", "b"), "by": ("région",)}
        assert "columns" not in json.loads(line().to_json())
        assert dict(pickle.loads(pickle.dumps(found)).columns) == dict(found.columns)

    @pytest.mark.parametrize("columns", [None, "p", {"p": "score"}, {"q": ["a"]}, {"p": [1]}, {"p": ["a", "a"]}])
    def test_refusals(self, columns):
        tree = {**json.loads(line().to_json()), "columns": columns}
        with pytest.raises(InputError, match=r"this map cannot be read: map.columns"):
            Recalibration.from_json(json.dumps(tree))
