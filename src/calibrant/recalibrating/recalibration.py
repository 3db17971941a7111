"""`Recalibration`: a fitted map, which is applied to new predictions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from calibrant.core.tabular import Tabular
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray, as_array, locked
from calibrant.inputs.groups import Label, read_row_labels
from calibrant.inputs.kinds import KINDS, kind_of
from calibrant.inputs.options import DIGITS
from calibrant.inputs.probabilities import read_unlabelled
from calibrant.recalibrating.method import USUAL, FitOptions, Method
from calibrant.recalibrating.methods import METHODS
from calibrant.writing import replace_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Candidate(Tabular):
    """A method that `auto` compared: its cross-fitted score, its gain over doing nothing, and the standard error."""

    method: str
    parameters: int
    score: float
    gain: float
    se: float
    eligible: bool
    chosen: bool


@dataclass(frozen=True, eq=False, repr=False)
class Recalibration(Tabular):
    """A map that was fitted on calibration rows."""

    kind: str
    method: str
    parameters: Mapping[str, Any]
    n: int
    options: FitOptions = USUAL
    classes: tuple[Any, ...] | None = None
    levels: FloatArray | None = None
    groups: tuple[Label, ...] | None = None
    objective: float | None = None
    gradient: float | None = None
    boundary: tuple[str, ...] = ()
    compared: tuple[Candidate, ...] = field(default=(), repr=False)
    warnings: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("parameters", "columns"):
            object.__setattr__(self, name, _with_mappings(getattr(self, name), MappingProxyType))
        if self.levels is not None:
            object.__setattr__(self, "levels", locked(np.asarray(self.levels, dtype=np.float64)))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={_brief(value)}" for name, value in self.parameters.items())
        options = "".join(f"{name}={value!r}; " for name, value in self.options.given.items())
        return f"Recalibration({self.kind}, {self.method}{': ' if values else ''}{values}; {options}n={self.n})"

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy cannot be pickled
        state = {name: _with_mappings(getattr(self, name), dict) for name in self.__dataclass_fields__}
        return partial(Recalibration, **state), ()

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        columns = super()._columns()
        groups = None if self.groups is None else shown(list(self.groups))  # not one for each row of the table
        return {**columns, "groups": [groups] * len(columns["n"])}

    @property
    def rule(self) -> Method:
        """How the map is fitted and applied."""
        return METHODS[self.kind][self.method]

    def apply(self, prediction: Any, *, groups: Any = None) -> Any:
        """Return recalibrated predictions of the same kind, shape, levels and classes.

        Nothing is fitted and no outcome is seen; every row is mapped on its own.

        Parameters
        ----------
        prediction
            New predictions of the kind that the map was fitted on. Probabilities come back as float64.
        groups
            The group of each row, if the map was fitted with groups. A group that it was not fitted on gets the common
            map, with a warning, or is refused where there is none.
        """
        checked = self._checked(prediction)
        if self.groups is None:
            if groups is not None:
                raise InputError("groups= is for maps that were fitted with groups; this one was not", option="groups")
            return self.rule.apply(self.parameters, checked, self.options)
        return self._by_group(checked, groups)

    def _checked(self, prediction: Any) -> Any:
        """Return a prediction of the map's own kind, levels and number of classes; refuse any other."""
        kind = kind_of(prediction)
        if kind is None:
            prediction = _probabilities(prediction)
            kind = "binary" if prediction.ndim == 1 else "classes"
        if kind != self.kind:
            raise InputError(f"this map was fitted on {KINDS[self.kind].words}; got {KINDS[kind].words}")
        if kind == "classes" and self.classes is not None and prediction.shape[1] != len(self.classes):
            words = f"this map was fitted on {len(self.classes)} classes; got {prediction.shape[1]} columns"
            raise InputError(f"{words}. Pass the probabilities of {shown(list(self.classes))} in this order")
        if self.levels is not None:
            found = np.asarray(prediction.levels)
            if found.shape != self.levels.shape or (found.round(DIGITS) != self.levels.round(DIGITS)).any():
                own, other = shown(self.levels.tolist()), shown(found.tolist())
                raise InputError(f"this map was fitted on the levels {own}; got {other}")
        return prediction

    def _by_group(self, prediction: Any, groups: Any) -> Any:
        known = {label: number for number, label in enumerate(self.groups or ())}
        if groups is None:
            words = "this map was fitted with groups ({known}); pass groups=, one label per row"
            raise InputError(words, option="groups", known=shown(list(known)))
        n = len(prediction) if isinstance(prediction, np.ndarray) else prediction.n
        labels = read_row_labels(groups, n)
        unknown = [label for label in labels.values if label not in known]
        if unknown and self.common is None:
            words = "this map has no group {value}; it was fitted on {known}"
            raise InputError(words, option="groups", value=unknown[0], known=shown(list(known)))
        if unknown:
            said = f"this map has no group {shown(unknown[0])}; it was fitted on {shown(list(known))}"
            warnings.warn(f"{said}. Rows of other groups get the common map", stacklevel=3)
        number = np.array([known.get(label, -1) for label in labels.values], dtype=np.intp)[labels.code]
        return self.rule.apply(self.of_rows(number), prediction, self.options)

    def of_rows(self, group: Any) -> Mapping[str, Any]:
        """Return the parameters, of a map with groups those of each row's group, by the numbers of the groups."""
        if self.groups is None:
            return self.parameters
        maps = self.parameters["groups"]
        if self.common is None:
            return {name: np.stack([np.atleast_1d(one[name]) for one in maps])[group] for name in maps[0]}
        every = (*maps, self.common.parameters)  # at -1, the number of a group that the map does not have
        return {name: np.array([one[name] for one in every])[group] for name in maps[0]}

    @property
    def common(self) -> Recalibration | None:
        """The map of all groups together, which groups are shrunk to; None if each has a map of its own."""
        if self.groups is None or (self.parameters.keys() == {"groups"} and self.rule.parameters):
            return None
        parameters = {name: self.parameters[name] for name in self.rule.parameters}
        return replace(self, parameters=parameters, groups=None)

    @overload
    def to_json(self, path: None = None) -> str: ...

    @overload
    def to_json(self, path: str | os.PathLike[str]) -> Path: ...

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        """Return the map as JSON text, or write it to a file and return the path.

        The text has everything that `apply` needs, the certificate, and the library's version; `compared` and
        `warnings` are not in it. The map that `from_json` returns gives the same bits.

        Parameters
        ----------
        path
            The file, which is written completely or not at all; None returns the text.
        """
        from calibrant.recalibrating.map_file import map_text

        text = map_text(self)
        if path is None:
            return text
        replace_text(path, text + "\n")
        return Path(path)

    @staticmethod
    def from_json(path_or_text: str | os.PathLike[str]) -> Recalibration:
        """Return the map in a JSON file, or in a JSON text.

        Nothing in the file is evaluated, imported by name or unpickled. A file that is not a map, or whose parameters
        are illegal, is refused with the key.
        """
        from calibrant.recalibrating.map_file import read_map

        return read_map(path_or_text)

    def bounds(self, p: Any) -> tuple[FloatArray, FloatArray]:
        """Return the two probabilities of Venn-Abers for each score: if the row did not, and if it did happen."""
        if self.rule.bounds is None:
            raise NotApplicableError(f"only venn-abers has bounds; this map is {self.method}")
        return self.rule.bounds(self.parameters, self._checked(p), self.options)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the map on Matplotlib axes (new ones if None) and return them.

        One probability per row: the map against the diagonal; Venn-Abers with the band from p₀ to p₁, and quadratic
        with the score at which it turns. Class probabilities: the new probability of each class against the old one,
        where the other classes share the rest equally. Intervals, sets and quantiles: shift, scale or level of the set
        against the nominal level or the group. A map that is one or two numbers has no picture.
        """
        from calibrant.recalibrating.map_curves import map_curve

        return map_curve(self).plot(ax)


def _probabilities(prediction: Any) -> FloatArray:
    """Return checked probabilities; there may be no rows, as in some partitions of a larger table."""
    array = as_array(prediction, name="prediction")
    return np.zeros(array.shape) if array.ndim in (1, 2) and not len(array) else read_unlabelled(prediction)


def _with_mappings(value: Any, kind: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Any:
    """Return a value with all mappings inside it of one kind, and with arrays that cannot be changed."""
    if isinstance(value, Mapping):
        return kind({name: _with_mappings(part, kind) for name, part in value.items()})
    if isinstance(value, (list, tuple)) and any(isinstance(part, (Mapping, Recalibration)) for part in value):
        return tuple(_with_mappings(part, kind) for part in value)
    if isinstance(value, np.ndarray):
        return locked(value.copy() if value.flags.writeable else value)
    return value


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    if isinstance(value, tuple):
        return f"{len(value)} maps"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
