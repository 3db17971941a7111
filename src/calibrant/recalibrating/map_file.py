"""Maps as JSON: a versioned dictionary that is checked against the declared parameters of its method.

Nothing in a file is evaluated, imported or unpickled.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from calibrant.errors import InputError, did_you_mean, listing, shown
from calibrant.inputs.arrays import EXACT, FloatArray
from calibrant.inputs.options import as_number, read_levels
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
LENGTHS = {"K": ", as there are classes", "L": ", as there are levels"}
ANY_NUMBER = Parameter()

T = TypeVar("T")


class LabelRule(NamedTuple):
    """Which labels a file can keep, in words."""

    words: str
    is_legal: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    """Tell whether a value is a text that UTF-8 can encode."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


TEXTS = LabelRule("a text", _is_text)
CLASSES = LabelRule("text or whole numbers", lambda label: _is_text(label) or type(label) is int)
GROUPS = LabelRule(
    "text, finite numbers or booleans",
    lambda label: _is_text(label) or isinstance(label, int) or (isinstance(label, float) and math.isfinite(label)),
)


# Writing


def map_text(found: Recalibration) -> str:
    return json.dumps(_tree_of_map(found), ensure_ascii=False, allow_nan=False)


def _tree_of_map(found: Recalibration) -> dict[str, Any]:
    groups = _kept_labels(found.groups, GROUPS, "groups")
    parameters = _tree(found.parameters)
    if groups is not None:
        parts = zip(groups, parameters["groups"], strict=True)
        parameters = {**parameters, "groups": [{"group": label, **part} for label, part in parts]}
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
                f"a JSON map keeps the labels of {option} as {rule.words}; got {{value}}. Fit the map with such "
                f"labels in {{{option}=}}",
                option=option,
                value=label,
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
        return _map(json.loads(text.lstrip("\ufeff"), object_pairs_hook=_once))
    except InputError as error:
        raise error.within("this map cannot be read: map") from None
    except RecursionError:
        raise InputError("this map cannot be read: it is nested too deep") from None
    except ValueError as error:
        raise InputError(f"this map cannot be read: it is not JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise InputError(f" has the key {shown(next(name for name in names if names.count(name) > 1))} twice")
    return dict(pairs)


def _at(key: str | int, read: Callable[..., T], value: Any, *more: Any) -> T:
    """Return what is read from the value of a key; a refusal names the key, from the outermost one on."""
    try:
        return read(value, *more)
    except InputError as error:
        raise error.within("{key}", key=f"[{key}]" if isinstance(key, int) else f".{key}") from None


def _expect(value: Any, is_legal: bool, words: str) -> Any:
    if not is_legal:
        raise InputError(f" must be {words}; got {shown(value)}")
    return value


def _agreed(check: Callable[..., T], *values: Any, **options: Any) -> T:
    """Return what the library itself makes of values from a file."""
    try:
        return check(*values, **options)
    except InputError as error:
        raise InputError(f" cannot be used: {error}") from None


def _map(tree: Any) -> Recalibration:
    _object(tree)
    _at("format", _expect, tree.get("format"), tree.get("format") == FORMAT, repr(FORMAT))  # others have other keys
    _at("version", _version, tree.get("version"))
    _check_keys(tree, (*KEYS, "columns") if "columns" in tree else KEYS)

    def at(key: str, read: Callable[..., T], *more: Any) -> T:
        return _at(key, read, tree[key], *more)

    def if_any(key: str, read: Callable[..., T], *more: Any) -> T | None:
        return None if tree[key] is None else at(key, read, *more)

    kind = at("kind", _choice, METHODS)
    method = at("method", _choice, METHODS[kind])
    rule = METHODS[kind][method]
    options = at("options", _options, if_any("score", _choice, SCORES[kind]), rule)
    classes = at("classes", _labels, CLASSES, 2) if kind == "classes" else at("classes", _null)
    has_levels = kind in ("intervals", "quantiles") or (kind == "sets" and tree["levels"] is not None)
    levels = at("levels", _levels) if has_levels else at("levels", _null)
    groups = if_any("groups", _labels, GROUPS, 1) if "groups" in rule.uses else at("groups", _null)
    sizes = {"K": len(classes or ()), "L": 0 if levels is None else levels.size}
    read_parameters = partial(_parameters, rule=rule, options=options, sizes=sizes)
    at("library", lambda value: _expect(value, _is_text(value), "a text"))
    return Recalibration(
        kind,
        method,
        at("parameters", read_parameters) if groups is None else at("parameters", _of_groups, groups, read_parameters),
        at("n", lambda value: _expect(value, type(value) is int and value >= 1, "a whole number of at least 1")),
        options,
        classes,
        levels,
        groups,
        if_any("objective", _number),
        if_any("gradient", _number),
        at("boundary", _labels, LabelRule(f"one of {listing([*rule.parameters])}", [*rule.parameters].__contains__)),
        columns=at("columns", _columns) if "columns" in tree else None,
    )


def _version(value: Any) -> None:
    if isinstance(value, (int, float)) and value > VERSION:
        raise InputError(f" is {shown(value)}: it was written by a newer calibrant. Update calibrant")
    _expect(value, type(value) is int and value == VERSION, str(VERSION))


def _object(value: Any) -> Any:
    return _expect(value, isinstance(value, dict), "an object with keys")


def _list(value: Any) -> Any:
    return _expect(value, isinstance(value, list), "a list")


def _null(value: Any) -> None:
    _expect(value, value is None, "null in a map of this kind and method")


def _check_keys(value: Any, expected: Collection[str]) -> Any:
    tree = _object(value)
    for key in expected:
        if key not in tree:
            raise InputError(f".{key} is missing")
    for key in tree:
        if key not in expected:
            known = f"expected {listing(list(expected), most=len(KEYS))}" if expected else "no key is expected here"
            raise InputError(f".{shown(key)} is unknown; {known}. {did_you_mean(key, expected)}".rstrip())
    return tree


def _choice(value: Any, known: Collection[str]) -> Any:
    return _expect(value, isinstance(value, str) and value in known, f"one of {listing(list(known), most=len(known))}")


def _labels(value: Any, rule: LabelRule, least: int = 0) -> tuple[Any, ...]:
    before = set()
    for i, label in enumerate(_list(value)):
        _at(i, _expect, label, rule.is_legal(label), rule.words)
        _at(i, _expect, label, label not in before, f"{rule.words}, and different from those before it")
        before.add(label)
    _expect(value, len(value) >= least, f"a list of at least {least}")
    return tuple(value)


def _columns(value: Any) -> dict[str, tuple[str, ...]]:
    for name in _object(value):
        _choice(name, COLUMNS)
    return {name: _at(name, _labels, names, TEXTS) for name, names in value.items()}


def _options(value: Any, score: str | None, rule: Method) -> FitOptions:
    given = dict(_check_keys(value, [name for name in OPTIONS if name in rule.uses]))
    if isinstance(given.get("ridge"), list):
        given["ridge"] = tuple(given["ridge"])
    if "inner" in given:
        _at("inner", _choice, given["inner"], METHODS["binary"])
    return _agreed(FitOptions, score, **given)


def _levels(value: Any) -> FloatArray:
    return _agreed(read_levels, np.array(_entries(value, "L", _number, {})))[0]


def _of_groups(value: Any, groups: tuple[Any, ...], read: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    tree = _object(value)
    common = {} if tree.keys() <= {"groups"} else read(tree, beside=("groups",))  # what groups are shrunk to
    parts = _check_keys(tree, ["groups", *common])["groups"]
    maps = _at("groups", _entries, parts, "G", partial(read, beside=("group",)), {"G": len(groups)})
    for i, label in enumerate(groups):
        same = type(parts[i]["group"]) is type(label) and parts[i]["group"] == label
        _at(f"groups[{i}].group", _expect, parts[i]["group"], same, f"{shown(label)}, as in groups")
    return {**common, "groups": tuple(maps)}


def _parameters(
    value: Any, *, rule: Method, options: FitOptions, sizes: Mapping[str, int], beside: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the parameters of one map; `sizes` are known lengths of axes, and `beside` names other keys."""
    tree, lengths = _check_keys(value, [*beside, *rule.parameters]), dict(sizes)
    found = {name: _at(name, _parameter, tree[name], spec, lengths, options) for name, spec in rule.parameters.items()}
    if rule.check is not None:
        _agreed(rule.check, found)
    return found


def _parameter(value: Any, spec: Parameter, sizes: dict[str, int], options: FitOptions) -> Any:
    if spec.maps:
        return tuple(_entries(value, spec.axes, partial(_inner_map, kind=spec.maps, method=options.inner), sizes))
    stands_alone = spec.single and sizes.get(spec.axes, 1) == 1 and not isinstance(value, list)
    axes = "" if stands_alone else spec.axes
    found = _entries(value, axes, partial(_number, spec=spec), sizes)
    if not axes:
        return found
    array = np.array(found)
    steps = np.diff(array) if spec.order else np.ones(0)
    broken = steps <= 0 if spec.order == "rising" else steps < 0
    if broken.any():
        i = int(np.argmax(broken))
        raise InputError(f" must be {spec.order}; entry {i + 1} is {shown(array[i + 1])} after {shown(array[i])}")
    return array


def _entries(value: Any, axes: str, read: Callable[[Any], Any], sizes: dict[str, int]) -> Any:
    """Return what `read` makes of a value, or of each entry of nested lists, one level for each axis."""
    if not axes:
        return read(value)
    expected = sizes.setdefault(axes[0], max(1, len(_list(value))))
    if len(_list(value)) != expected:
        raise InputError(f" must have {expected} entries{LENGTHS.get(axes[0], '')}; got {len(value)}")
    return [_at(i, _entries, entry, axes[1:], read, sizes) for i, entry in enumerate(value)]


def _inner_map(tree: Any, **expected: str) -> Recalibration:
    for key, name in expected.items():
        given = _object(tree).get(key)
        _at(key, _expect, given, given == name, repr(name))
    return _map(tree)


def _number(value: Any, spec: Parameter = ANY_NUMBER) -> float:
    """Return a number in the range of its parameter; infinities are the texts "inf" and "-inf"."""
    found = as_number(value)
    if math.isinf(found):  # as JSON does not have it
        found = math.nan
    if spec.infinite and isinstance(value, str):
        found = INFINITIES.get(value, math.nan)
    infinity = ', "inf" or "-inf"' if spec.infinite else ""
    _expect(value, not math.isnan(found), f"a {'' if infinity else 'finite '}number{infinity}, in the range of float64")
    _expect(value, spec.low <= found <= spec.high, f"in [{spec.low:g}, {spec.high:g}]")
    if spec.whole and math.isfinite(found):
        _expect(value, found.is_integer() and abs(found) <= EXACT, "a whole number")
        return int(found)
    return found
