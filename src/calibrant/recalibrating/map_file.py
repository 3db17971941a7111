"""Maps as JSON: a versioned dictionary that is checked against the declared parameters of its method.

Nothing in a file is evaluated, imported or unpickled.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, did_you_mean, listing, shown
from calibrant.inputs.arrays import EXACT, FloatArray
from calibrant.inputs.options import read_levels
from calibrant.recalibrating.method import FitOptions, Method, Parameter
from calibrant.recalibrating.methods import METHODS, SCORES
from calibrant.recalibrating.recalibration import Recalibration
from calibrant.version import __version__

FORMAT = "calibrant-recalibration"
VERSION = 1
NAMES = ("format", "version", "kind", "method", "parameters", "options", "classes", "levels", "groups", "n", "score")
KEYS = (*NAMES, "objective", "gradient", "boundary", "library")
COLUMNS = ("p", "p_cols", "lower", "upper", "set_cols", "quantile_cols", "draws", "draw_cols", "by")
OPTIONS = ("clip", "smoothing", "ridge", "inner")
INFINITIES = {"inf": math.inf, "-inf": -math.inf}


class LabelRule(NamedTuple):
    """Which labels a file can keep, in words."""

    words: str
    is_legal: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    """Tell whether a value is a text that UTF-8 can encode."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _is_group(value: Any) -> bool:
    return _is_text(value) or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))


TEXTS = LabelRule("a text", _is_text)
CLASSES = LabelRule("text or whole numbers", lambda label: _is_text(label) or type(label) is int)
GROUPS = LabelRule("text, finite numbers or booleans", _is_group)


# Writing


def map_text(found: Recalibration) -> str:
    """Return a map as JSON text; refuse labels that a file cannot keep."""
    return json.dumps(_tree_of_map(found), ensure_ascii=False, allow_nan=False)


def _tree_of_map(found: Recalibration) -> dict[str, Any]:
    groups = _kept_labels(found.groups, GROUPS, "groups")
    parameters = _tree(found.parameters)
    if groups is not None:
        parts = zip(groups, parameters["groups"], strict=True)
        parameters = {"groups": [{"group": label, **part} for label, part in parts]}
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": found.kind,
        "method": found.method,
        "parameters": parameters,
        "options": {name: _tree(getattr(found.options, name)) for name in OPTIONS if name in found.rule.uses},
        "classes": _kept_labels(found.classes, CLASSES, "classes"),
        "levels": _tree(found.levels),
        "groups": groups,
        "n": found.n,
        "score": found.options.score,
        "objective": found.objective,
        "gradient": found.gradient,
        "boundary": list(found.boundary),
        "library": f"calibrant {__version__}",
        **({} if found.columns is None else {"columns": _tree(found.columns)}),
    }


def _tree(value: Any) -> Any:
    """Return a parameter as JSON has it; infinities are texts."""
    if isinstance(value, Recalibration):
        return _tree_of_map(value)
    if isinstance(value, Mapping):
        return {name: _tree(part) for name, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [_tree(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.tolist() if np.isfinite(value).all() else [_tree(part) for part in value]
    plain = value.item() if isinstance(value, np.generic) else value
    return ("inf" if plain > 0 else "-inf") if isinstance(plain, float) and math.isinf(plain) else plain


def _kept_labels(labels: tuple[Any, ...] | None, rule: LabelRule, option: str) -> list[Any] | None:
    if labels is None:
        return None
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    if rule is CLASSES:
        plain = [int(label) if isinstance(label, float) and label.is_integer() else label for label in plain]
    for label in plain:
        if not rule.is_legal(label):
            raise InputError(
                f"a JSON map keeps the labels of {option} as {rule.words}; got {shown(label)}. Fit the map with such "
                f"labels in {{{option}=}}",
                option=option,
            )
    return plain


# Reading


def read_map(path_or_text: str | os.PathLike[str]) -> Recalibration:
    """Return the map in a JSON file or text; refuse anything else with the key."""
    if isinstance(path_or_text, str) and path_or_text.lstrip("\ufeff \t\r\n").startswith("{"):
        return _read_text(path_or_text)
    content = _content(path_or_text)
    try:
        return _read_text(content)
    except InputError as error:
        raise error.within("{file}: ", file=os.fspath(path_or_text)) from None


def _content(path: Any) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"expected the path of a JSON map, or its text; got {shown(path)} ({type(path).__name__})")
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{os.fspath(path)}: this map cannot be read: it is not UTF-8 (byte {error.start})") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(path, os.PathLike):
            raise InputError(f"the map {os.fspath(path)} cannot be read: {reason}. Check the path") from None
        raise InputError(f"{shown(path)} is neither a file that can be read ({reason}) nor the text of a map") from None


def _read_text(text: str) -> Recalibration:
    try:
        tree = json.loads(text.lstrip("\ufeff"), object_pairs_hook=_once)
    except InputError:
        raise
    except RecursionError:
        raise _refused("the file", "is nested too deep") from None
    except ValueError as error:
        raise _refused("the file", f"is not JSON: {error}") from None
    return _map(tree, "")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _refused(shown(twice), "stands there twice")
    return found


def _refused(key: str, problem: str) -> InputError:
    return InputError(f"this map cannot be read: {key} {problem}")


def _map(tree: Any, at: str) -> Recalibration:
    """Return the map that a tree describes; `at` is the key of the tree itself, with its full stop."""
    _check_format(_object(tree, at.rstrip(".") or "the file"), at)
    _check_keys(tree, (*KEYS, "columns") if "columns" in tree else KEYS, at)
    if not _is_text(tree["library"]):
        raise _refused(f"{at}library", f"must be a text; got {shown(tree['library'])}")
    if type(tree["n"]) is not int or tree["n"] < 1:
        raise _refused(f"{at}n", f"must be a whole number of at least 1; got {shown(tree['n'])}")
    kind = _choice(tree["kind"], METHODS, f"{at}kind")
    method = _choice(tree["method"], METHODS[kind], f"{at}method")
    rule = METHODS[kind][method]
    score = None if tree["score"] is None else _choice(tree["score"], SCORES[kind], f"{at}score")
    options = _options(tree["options"], score, rule, f"{at}options")
    classes = _classes(tree["classes"], kind, f"{at}classes")
    levels = _levels(tree["levels"], kind, rule, f"{at}levels")
    groups = _groups(tree["groups"], rule, f"{at}groups")
    sizes = {"K": len(classes or ()), "L": 0 if levels is None else levels.size}
    read = ParameterReader(rule, options, sizes)
    at_parameters = f"{at}parameters"
    return Recalibration(
        kind,
        method,
        read.of_map(tree["parameters"], at_parameters)
        if groups is None
        else read.of_groups(tree["parameters"], groups, at_parameters),
        tree["n"],
        options,
        classes,
        levels,
        groups,
        _certificate(tree["objective"], f"{at}objective"),
        _certificate(tree["gradient"], f"{at}gradient"),
        _boundary(tree["boundary"], rule, f"{at}boundary"),
        columns=_columns(tree["columns"], f"{at}columns") if "columns" in tree else None,
    )


def _check_format(tree: Mapping[str, Any], at: str) -> None:
    for key in ("format", "version"):
        if key not in tree:
            raise _refused(f"{at}{key}", "is missing")
    if tree["format"] != FORMAT:
        raise _refused(f"{at}format", f"must be {FORMAT!r}; got {shown(tree['format'])}")
    version = tree["version"]
    if isinstance(version, (int, float)) and version > VERSION:
        raise _refused(f"{at}version", f"is {shown(version)}: it was written by a newer calibrant. Update calibrant")
    if type(version) is not int or version != VERSION:
        raise _refused(f"{at}version", f"must be {VERSION}; got {shown(version)}")


def _object(tree: Any, key: str) -> dict[str, Any]:
    if not isinstance(tree, dict):
        raise _refused(key, f"must be an object with keys; got {shown(tree)}")
    return tree


def _list(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise _refused(key, f"must be a list; got {shown(value)}")
    return value


def _null(value: Any, why: str, key: str) -> None:
    if value is not None:
        raise _refused(key, f"must be null: {why}; got {shown(value)}")


def _check_keys(tree: Mapping[str, Any], expected: Collection[str], at: str) -> None:
    """Refuse missing and unknown keys; `at` is what stands before a key."""
    for key in expected:
        if key not in tree:
            raise _refused(f"{at}{key}", "is missing")
    for key in tree:
        if key not in expected:
            known = f"expected {listing(list(expected), most=len(KEYS))}" if expected else "no key is expected here"
            raise _refused(f"{at}{shown(key)}", f"is unknown; {known}. {did_you_mean(key, expected)}".rstrip())


def _choice(value: Any, known: Collection[str], key: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise _refused(key, f"must be one of {listing(list(known), most=len(known))}; got {shown(value)}")
    return value


def _labels(value: Any, rule: LabelRule, key: str) -> tuple[Any, ...]:
    """Return labels that are all different."""
    seen: set[Any] = set()
    for i, label in enumerate(_list(value, key)):
        if not rule.is_legal(label):
            raise _refused(f"{key}[{i}]", f"must be {rule.words}; got {shown(label)}")
        if label in seen:
            raise _refused(f"{key}[{i}]", f"repeats a label: {shown(label)}")
        seen.add(label)
    return tuple(value)


def _columns(tree: Any, key: str) -> dict[str, tuple[str, ...]]:
    """Return the columns that the command line named, a list of texts for each option."""
    for name in _object(tree, key):
        _choice(name, COLUMNS, key)
    return {name: _labels(value, TEXTS, f"{key}.{name}") for name, value in tree.items()}


def _options(tree: Any, score: str | None, rule: Method, key: str) -> FitOptions:
    given = dict(_object(tree, key))
    _check_keys(given, [name for name in OPTIONS if name in rule.uses], f"{key}.")
    if isinstance(given.get("ridge"), list):
        given["ridge"] = tuple(given["ridge"])
    if "inner" in given:
        _choice(given["inner"], METHODS["binary"], f"{key}.inner")
    try:
        return FitOptions(score, **given)
    except InputError as error:
        raise _refused(f"{key}.{error.option}", f"is illegal: {error}") from None


def _classes(value: Any, kind: str, key: str) -> tuple[str | int, ...] | None:
    if kind != "classes":
        _null(value, f"only maps of class probabilities have classes, and this one is of kind {kind!r}", key)
        return None
    labels = _labels(value, CLASSES, key)
    if len(labels) < 2:
        raise _refused(key, f"must name at least 2 classes; got {shown(value)}")
    return labels


def _groups(value: Any, rule: Method, key: str) -> tuple[Any, ...] | None:
    if value is None or "groups" not in rule.uses:
        _null(value, "this method has no groups", key)
        return None
    labels = _labels(value, GROUPS, key)
    if not labels:
        raise _refused(key, "must name at least one group, or be null")
    return labels


def _levels(value: Any, kind: str, rule: Method, key: str) -> FloatArray | None:
    if kind not in ("intervals", "sets", "quantiles"):
        _null(value, f"maps of kind {kind!r} have no levels", key)
        return None
    if value is None and kind == "sets" and not any("L" in spec.axes for spec in rule.parameters.values()):
        return None  # sets without a nominal level
    given = np.array([_number(level, Parameter(), f"{key}[{i}]") for i, level in enumerate(_list(value, key))])
    try:
        return read_levels(given)[0]
    except InputError as error:
        raise _refused(key, f"are illegal: {error}") from None


def _certificate(value: Any, key: str) -> float | None:
    """Return a number of the certificate, which is shown and not used."""
    return None if value is None else _number(value, Parameter(), key)


def _boundary(value: Any, rule: Method, key: str) -> tuple[str, ...]:
    names = _labels(value, TEXTS, key)
    for i, name in enumerate(names):
        _choice(name, rule.parameters, f"{key}[{i}]")
    return names


class ParameterReader(NamedTuple):
    """Reads the parameters that a method declares: their axes, ranges and order.

    `sizes` are the known lengths of axes: of classes "K" and of levels "L".
    """

    rule: Method
    options: FitOptions
    sizes: Mapping[str, int]

    def of_map(self, tree: Any, key: str, *beside: str) -> dict[str, Any]:
        """Return the parameters of one map; `beside` names keys of another kind."""
        _check_keys(_object(tree, key), [*beside, *self.rule.parameters], f"{key}.")
        sizes = dict(self.sizes)
        declared = self.rule.parameters.items()
        found = {name: self._value(tree[name], spec, sizes, f"{key}.{name}") for name, spec in declared}
        if self.rule.check is not None:
            try:
                self.rule.check(found)
            except InputError as error:
                raise _refused(key, f"do not belong together: {error}") from None
        return found

    def of_groups(self, tree: Any, groups: tuple[Any, ...], key: str) -> dict[str, Any]:
        """Return the parameters of the map of each group."""
        _check_keys(_object(tree, key), ["groups"], f"{key}.")
        parts = _list(tree["groups"], f"{key}.groups")
        if len(parts) != len(groups):
            raise _refused(f"{key}.groups", f"has {len(parts)} entries, and groups names {len(groups)}")
        found = []
        for i, (part, label) in enumerate(zip(parts, groups, strict=True)):
            at = f"{key}.groups[{i}]"
            found.append(self.of_map(part, at, "group"))
            if type(part["group"]) is not type(label) or part["group"] != label:
                raise _refused(f"{at}.group", f"must be {shown(label)}, as in groups; got {shown(part['group'])}")
        return {"groups": tuple(found)}

    def _value(self, value: Any, spec: Parameter, sizes: dict[str, int], key: str) -> Any:
        """Return what one parameter is: maps, a number, or an array."""
        if spec.maps:
            _check_length(_list(value, key), spec.axes, sizes, key)
            return tuple(self._inner_map(tree, spec.maps, f"{key}[{i}]") for i, tree in enumerate(value))
        stands_alone = spec.single and sizes.get(spec.axes, 1) == 1 and not isinstance(value, list)
        return _number(value, spec, key) if not spec.axes or stands_alone else _array(value, spec, sizes, key)

    def _inner_map(self, tree: Any, expected: str, key: str) -> Recalibration:
        """Return one of the maps that a map is made of."""
        kind = tree.get("kind") if isinstance(tree, dict) else None
        if kind != expected:
            raise _refused(f"{key}.kind", f"must be {expected!r}; got {shown(kind)}")
        found = _map(tree, f"{key}.")
        if found.method != self.options.inner:
            inner = self.options.inner
            raise _refused(f"{key}.method", f"must be {inner!r}, as in options.inner; got {found.method!r}")
        return found


def _check_length(value: list[Any], axis: str, sizes: dict[str, int], key: str) -> None:
    known = {"K": "as there are classes", "L": "as there are levels"}
    expected = sizes.setdefault(axis, len(value))
    if len(value) != expected or not value:
        words = known.get(axis, "as the parameters before it have" if value else "at least")
        raise _refused(key, f"must have {max(expected, 1)} entries, {words}; got {len(value)}")


def _array(value: Any, spec: Parameter, sizes: dict[str, int], key: str, axis: int = 0) -> NDArray[Any]:
    """Return an array of numbers with the axes of a parameter from this one on."""
    entries = _list(value, key)
    _check_length(entries, spec.axes[axis], sizes, key)
    if axis + 1 < len(spec.axes):
        return np.stack([_array(one, spec, sizes, f"{key}[{i}]", axis + 1) for i, one in enumerate(entries)])
    found = np.array([_number(one, spec, f"{key}[{i}]") for i, one in enumerate(entries)])
    broken = {
        "": np.zeros(0, bool),
        "rising": found[1:] <= found[:-1],
        "not falling": found[1:] < found[:-1],
    }[spec.order]
    if broken.any():
        i = int(np.argmax(broken)) + 1
        words = "must be strictly increasing" if spec.order == "rising" else "must not fall"
        raise _refused(key, f"{words}; entry {i} is {shown(found[i])} after {shown(found[i - 1])}")
    return found


def _number(value: Any, spec: Parameter, key: str) -> float:
    """Return a number in the range of its parameter; infinities are the texts "inf" and "-inf"."""
    found = math.nan
    if isinstance(value, str) and spec.infinite:
        found = INFINITIES.get(value, math.nan)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and _is_double(value):
        found = float(value)
    if math.isnan(found):
        legal = 'a number, "inf" or "-inf"' if spec.infinite else "a finite number"
        raise _refused(key, f"must be {legal}, in the range of float64; got {shown(value)}")
    if not spec.low <= found <= spec.high:
        raise _refused(key, f"must lie in [{spec.low:g}, {spec.high:g}]; got {shown(value)}")
    if spec.whole and math.isfinite(found):
        if not found.is_integer() or abs(found) > EXACT:
            raise _refused(key, f"must be a whole number; got {shown(value)}")
        return int(found)
    return found


def _is_double(value: int | float) -> bool:
    """Tell whether a number is finite in float64."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
