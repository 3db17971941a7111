"""Maps as JSON: what is written, and what is refused on reading; nothing is evaluated, imported or unpickled."""

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
from calibrant.inputs.groups import Label
from calibrant.inputs.options import read_levels
from calibrant.recalibrating.method import FitOptions, Method, Parameter
from calibrant.recalibrating.methods import METHODS, SCORES
from calibrant.recalibrating.recalibration import Recalibration
from calibrant.version import __version__

FORMAT = "calibrant-recalibration"
VERSION = 1
MAX_BYTES = 64_000_000
MAX_DEPTH = 8
MAX_DIGITS = 400  # of a whole number; float64 has at most 309
KEYS = (
    "format",
    "version",
    "kind",
    "method",
    "parameters",
    "options",
    "classes",
    "levels",
    "groups",
    "n",
    "score",
    "objective",
    "gradient",
    "boundary",
    "library",
)
COLUMNS = ("p", "p_cols", "lower", "upper", "set_cols", "quantile_cols", "draws", "draw_cols", "by")
OPTIONS = ("clip", "smoothing", "ridge", "inner")
INFINITIES = {"inf": math.inf, "-inf": -math.inf}


# Writing


def map_text(found: Recalibration) -> str:
    """Return a map as JSON text; refuse a map that could not be read again."""
    text = json.dumps(_tree_of_map(found), ensure_ascii=False, allow_nan=False)
    size = len(text.encode())
    if size > MAX_BYTES:
        raise InputError(
            f"this map takes {size / 1e6:.0f} MB as JSON, and maps of more than {MAX_BYTES // 10**6} MB are not read. "
            "Round the scores before fitting, or choose a method with fewer parameters, such as logistic or beta"
        )
    return text


def _tree_of_map(found: Recalibration) -> dict[str, Any]:
    options = found.options
    groups = None if found.groups is None else [_group_label(label) for label in found.groups]
    parameters = _tree(found.parameters)
    if groups is not None:
        parts = zip(groups, parameters["groups"], strict=True)
        parameters = {"groups": [{"group": label, **part} for label, part in parts]}
    values = (
        FORMAT,
        VERSION,
        found.kind,
        found.method,
        parameters,
        {name: _tree(getattr(options, name)) for name in OPTIONS if name in found.rule.uses},
        None if found.classes is None else [_class_label(label) for label in found.classes],
        _tree(found.levels),
        groups,
        found.n,
        options.score,
        found.objective,
        found.gradient,
        list(found.boundary),
        f"calibrant {__version__}",
    )
    columns = {} if found.columns is None else {"columns": _tree(found.columns)}
    return dict(zip(KEYS, values, strict=True)) | columns


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


def _class_label(label: Any) -> str | int:
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    if not _is_text(plain) and (isinstance(plain, bool) or not isinstance(plain, int)):
        raise InputError(
            f"a JSON map keeps the labels of classes as text or whole numbers; got {shown(label)}. Fit the map with "
            "such labels in {classes=}",
            option="classes",
        )
    return plain  # type: ignore[no-any-return]


def _group_label(label: Label) -> Label:
    if not (_is_text(label) or isinstance(label, (bool, int)) or (isinstance(label, float) and math.isfinite(label))):
        raise InputError(
            f"a JSON map keeps the labels of groups as text, finite numbers or booleans; got {shown(label)}. Fit the "
            "map with such labels in {groups=}",
            option="groups",
        )
    return label


def _is_text(value: Any) -> bool:
    """Tell whether a value is a text that UTF-8 can encode."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


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
    """Return the text of a file of at most 64 MB."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"expected the path of a JSON map, or its text; got {shown(path)} ({type(path).__name__})")
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        _refuse_size(len(content))
        return content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{os.fspath(path)}: this map cannot be read: it is not UTF-8 (byte {error.start})") from None
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(path, os.PathLike):
            raise InputError(f"the map {os.fspath(path)} cannot be read: {reason}. Check the path") from None
        raise InputError(f"{shown(path)} is neither a file that can be read ({reason}) nor the text of a map") from None


def _read_text(text: str) -> Recalibration:
    _refuse_size(len(text) if len(text) > MAX_BYTES else len(text.encode(errors="replace")))
    try:
        tree = json.loads(
            text.lstrip("\ufeff"), object_pairs_hook=_once, parse_int=_whole_number, parse_constant=Unreadable
        )
    except InputError:
        raise
    except RecursionError:
        raise _refused("the file", f"is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise _refused("the file", f"is not JSON: {error}") from None
    if _is_deeper(tree, MAX_DEPTH):
        raise _refused("the file", f"is nested deeper than {MAX_DEPTH} levels")
    return _map(tree, "")


class Unreadable(NamedTuple):
    """What stands in the file where a number belongs, such as NaN; it is refused at its key."""

    text: str

    def __repr__(self) -> str:
        return self.text if len(self.text) < 40 else f"a number of {len(self.text)} digits"


def _whole_number(text: str) -> int | Unreadable:
    return int(text) if len(text) <= MAX_DIGITS else Unreadable(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _refused(shown(twice), "stands there twice")
    return found


def _refused(key: str, problem: str) -> InputError:
    return InputError(f"this map cannot be read: {key} {problem}")


def _refuse_size(size: int) -> None:
    if size > MAX_BYTES:
        raise _refused("the file", f"is larger than {MAX_BYTES // 10**6} MB")


def _is_deeper(tree: Any, most: int) -> bool:
    level = [tree]
    for _ in range(most):
        parts = (part for node in level for part in (node.values() if isinstance(node, dict) else node))
        level = [part for part in parts if isinstance(part, (dict, list))]
        if not level:
            return False
    return True


def _map(tree: Any, at: str) -> Recalibration:
    """Return the map that a tree describes; `at` is the key of the tree itself, with its full stop."""
    tree = _object(tree, at.rstrip(".") or "the file")
    _check_format(tree, at)
    _check_keys(tree, (*KEYS, "columns") if "columns" in tree else KEYS, at)
    if not _is_text(tree["library"]):
        raise _refused(f"{at}library", f"must be a text; got {shown(tree['library'])}")
    kind = _choice(tree["kind"], METHODS, f"{at}kind")
    method = _choice(tree["method"], METHODS[kind], f"{at}method")
    rule = METHODS[kind][method]
    score = None if tree["score"] is None else _choice(tree["score"], SCORES[kind], f"{at}score")
    options = _options(tree["options"], score, rule, f"{at}options")
    classes = _classes(tree["classes"], kind, f"{at}classes")
    levels = _levels(tree["levels"], kind, rule, f"{at}levels")
    groups = _groups(tree["groups"], rule, f"{at}groups")
    sizes = {"K": len(classes or ()), "L": 0 if levels is None else levels.size}
    at_parameters = f"{at}parameters"
    parameters = (
        _parameters(tree["parameters"], rule, options, sizes, at_parameters)
        if groups is None
        else _parameters_of_groups(tree["parameters"], groups, rule, options, sizes, at_parameters)
    )
    return Recalibration(
        kind,
        method,
        parameters,
        _count(tree["n"], f"{at}n"),
        options,
        classes,
        levels,
        groups,
        _information(tree["objective"], f"{at}objective"),
        _information(tree["gradient"], f"{at}gradient"),
        _boundary(tree["boundary"], rule, f"{at}boundary"),
        columns=_columns(tree["columns"], f"{at}columns") if "columns" in tree else None,
    )


def _columns(tree: Any, key: str) -> dict[str, tuple[str, ...]]:
    """Return the columns that the command line named, a list of texts for each option."""
    found = _object(tree, key)
    for name in found:
        _choice(name, COLUMNS, key)
    return {name: _labels(value, f"{key}.{name}", "a text", _is_text) for name, value in found.items()}


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
    labels = _labels(value, key, "text or whole numbers", lambda one: _is_text(one) or type(one) is int)
    if len(labels) < 2:
        raise _refused(key, f"must name at least 2 classes; got {shown(value)}")
    return labels


def _groups(value: Any, rule: Method, key: str) -> tuple[Label, ...] | None:
    if value is None or "groups" not in rule.uses:
        _null(value, "this method has no groups", key)
        return None
    words = "text, finite numbers or booleans"
    labels = _labels(value, key, words, lambda one: _is_text(one) or isinstance(one, (bool, int)) or _is_finite(one))
    if not labels:
        raise _refused(key, "must name at least one group, or be null")
    return labels


def _labels(value: Any, key: str, words: str, is_legal: Callable[[Any], bool]) -> tuple[Any, ...]:
    """Return labels that are all different."""
    seen: set[Any] = set()
    for i, label in enumerate(_list(value, key)):
        if not is_legal(label):
            raise _refused(f"{key}[{i}]", f"must be {words}; got {shown(label)}")
        if label in seen:
            raise _refused(f"{key}[{i}]", f"repeats a label: {shown(label)}")
        seen.add(label)
    return tuple(value)


def _levels(value: Any, kind: str, rule: Method, key: str) -> FloatArray | None:
    if kind not in ("intervals", "sets", "quantiles"):
        _null(value, f"maps of kind {kind!r} have no levels", key)
        return None
    if value is None and kind == "sets" and not any("L" in spec.axes for spec in rule.parameters.values()):
        return None  # sets without a nominal level
    given = _array(value, "L", Parameter(), {}, key)
    try:
        return read_levels(given)[0]
    except InputError as error:
        raise _refused(key, f"are illegal: {error}") from None


def _null(value: Any, why: str, key: str) -> None:
    if value is not None:
        raise _refused(key, f"must be null: {why}; got {shown(value)}")


def _count(value: Any, key: str) -> int:
    if type(value) is not int or value < 1:
        raise _refused(key, f"must be a whole number of at least 1; got {shown(value)}")
    return value


def _is_finite(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _information(value: Any, key: str) -> float | None:
    """Return a number of the certificate, which is shown and not used."""
    return None if value is None else _number(value, Parameter(), key)


def _boundary(value: Any, rule: Method, key: str) -> tuple[str, ...]:
    names = _labels(value, key, "a text", _is_text)
    for i, name in enumerate(names):
        _choice(name, rule.parameters, f"{key}[{i}]")
    return names


def _parameters(
    tree: Any, rule: Method, options: FitOptions, sizes: Mapping[str, int], key: str, *, beside: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the parameters of one map, of the shape and range that its method has; `beside` names keys of groups."""
    tree = _object(tree, key)
    _check_keys(tree, [*beside, *rule.parameters], f"{key}.")
    lengths = dict(sizes)
    found: dict[str, Any] = {}
    for name, spec in rule.parameters.items():
        at = f"{key}.{name}"
        if spec.maps:
            found[name] = _maps(tree[name], spec, options, lengths, at)
        elif spec.axes and not (spec.single and lengths.get(spec.axes, 1) == 1 and not isinstance(tree[name], list)):
            found[name] = _array(tree[name], spec.axes, spec, lengths, at)
        else:
            found[name] = _number(tree[name], spec, at)
    if rule.check is not None:
        try:
            rule.check(found)
        except InputError as error:
            raise _refused(key, f"do not belong together: {error}") from None
    return found


def _parameters_of_groups(
    tree: Any,
    groups: tuple[Label, ...],
    rule: Method,
    options: FitOptions,
    sizes: Mapping[str, int],
    key: str,
) -> dict[str, Any]:
    _check_keys(_object(tree, key), ["groups"], f"{key}.")
    parts = _list(tree["groups"], f"{key}.groups")
    if len(parts) != len(groups):
        raise _refused(f"{key}.groups", f"has {len(parts)} entries, and groups names {len(groups)}")
    found = []
    for i, (part, label) in enumerate(zip(parts, groups, strict=True)):
        at = f"{key}.groups[{i}]"
        found.append(_parameters(part, rule, options, sizes, at, beside=("group",)))
        if type(part["group"]) is not type(label) or part["group"] != label:
            raise _refused(f"{at}.group", f"must be {shown(label)}, as in groups; got {shown(part['group'])}")
    return {"groups": tuple(found)}


def _maps(
    value: Any, spec: Parameter, options: FitOptions, sizes: dict[str, int], key: str
) -> tuple[Recalibration, ...]:
    """Return the maps that a map is made of."""
    _check_length(_list(value, key), spec.axes, sizes, key)
    found = []
    for i, tree in enumerate(value):
        at = f"{key}[{i}]"
        kind = tree.get("kind") if isinstance(tree, dict) else None
        if kind != spec.maps:
            raise _refused(f"{at}.kind", f"must be {spec.maps!r}; got {shown(kind)}")
        one = _map(tree, f"{at}.")
        if one.method != options.inner:
            raise _refused(f"{at}.method", f"must be {options.inner!r}, as in options.inner; got {one.method!r}")
        found.append(one)
    return tuple(found)


def _check_length(value: list[Any], axis: str, sizes: dict[str, int], key: str) -> None:
    known = {"K": "as there are classes", "L": "as there are levels"}
    expected = sizes.setdefault(axis, len(value))
    if len(value) != expected or not value:
        words = known.get(axis, "as the parameters before it have" if value else "at least")
        raise _refused(key, f"must have {max(expected, 1)} entries, {words}; got {len(value)}")


def _array(value: Any, axes: str, spec: Parameter, sizes: dict[str, int], key: str) -> NDArray[Any]:
    """Return an array of numbers with these axes."""
    entries = _list(value, key)
    _check_length(entries, axes[0], sizes, key)
    if len(axes) > 1:
        return np.stack([_array(one, axes[1:], spec, sizes, f"{key}[{i}]") for i, one in enumerate(entries)])
    found = _plain_numbers(entries, spec)
    if found is None:
        found = np.array([_number(one, spec, f"{key}[{i}]") for i, one in enumerate(entries)])
    _check_order(found, spec, key)
    return found


def _plain_numbers(entries: list[Any], spec: Parameter) -> NDArray[Any] | None:
    """Return legal finite numbers at once; None if they must be looked at one by one."""
    if spec.whole or not set(map(type, entries)) <= {float, int}:
        return None
    try:
        found = np.array(entries, dtype=np.float64)
    except OverflowError:
        return None
    legal = np.isfinite(found) & (found >= spec.low) & (found <= spec.high)
    return found if legal.all() else None


def _number(value: Any, spec: Parameter, key: str) -> float:
    """Return a number in the range of its parameter; infinities are the texts "inf" and "-inf"."""
    if isinstance(value, str) and value in INFINITIES and spec.infinite:
        found = INFINITIES[value]
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        legal = 'a number, "inf" or "-inf"' if spec.infinite else "a finite number"
        raise _refused(key, f"must be {legal}; got {shown(value)}")
    else:
        found = _double(value, key)
    if not spec.low <= found <= spec.high:
        raise _refused(key, f"must lie in [{spec.low:g}, {spec.high:g}]; got {shown(value)}")
    if spec.whole and math.isfinite(found):
        if not found.is_integer() or abs(found) > EXACT:
            raise _refused(key, f"must be a whole number; got {shown(value)}")
        return int(found)
    return found


def _double(value: int | float, key: str) -> float:
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if math.isinf(found):  # 1e999 is infinite once it is parsed
        raise _refused(key, "is a number beyond the range of float64")
    return found


def _check_order(values: NDArray[Any], spec: Parameter, key: str) -> None:
    if not spec.order:
        return
    broken = values[1:] <= values[:-1] if spec.order == "rising" else values[1:] < values[:-1]
    if broken.any():
        i = int(np.argmax(broken)) + 1
        words = "must be strictly increasing" if spec.order == "rising" else "must not fall"
        raise _refused(key, f"{words}; entry {i} is {shown(values[i])} after {shown(values[i - 1])}")
