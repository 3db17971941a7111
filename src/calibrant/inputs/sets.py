"""Prediction sets."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray, as_array, missing_mask, numbers_of_objects, refuse_where
from calibrant.inputs.distribution import Checked, Selection
from calibrant.inputs.intervals import constructor, level_of_alpha
from calibrant.inputs.options import levels_shown, place_of, read_levels

MAX_LABELS_ADDED_SINGLY = 32
LISTS_OF_LABELS = "Turn lists of labels into a mask first: [[k in labels for k in classes] for labels in sets]"


def _read_mask(mask: Any) -> NDArray[Any]:
    try:
        return as_array(mask, name="mask")
    except InputError:
        if isinstance(mask, Sequence) and all(isinstance(row, Sequence | Set | np.ndarray) for row in mask):
            raise InputError(
                f"mask must be bool of shape (n, K); its rows are not equally long. {LISTS_OF_LABELS}"
            ) from None
        raise


@dataclass(frozen=True, eq=False, init=False)
class Sets(Checked):
    """Prediction sets of class labels, at one level, several, or none that is known.

    Parameters
    ----------
    mask : array_like of bool, of shape (n, K), or (n, K, L) for L levels
        Which labels are in the set of each row. Empty and full sets are legal.
    level : float, or a sequence of L, optional
        Nominal coverage. Without it, what compares with a nominal level is refused.

    Examples
    --------
    >>> Sets([[True, False, True], [False, False, False]], 0.9)
    Sets(n=2, K=3, level=0.9)
    """

    prediction_kind: ClassVar[str] = "sets"
    mask: NDArray[np.bool_]  # (n, K, L)
    levels: FloatArray | None  # (L,)
    single: bool

    @constructor("Call it as Sets(mask, level), such as Sets([[True, False, True]], 0.9)", {"alpha": level_of_alpha})
    def __init__(self, mask: ArrayLike, level: float | ArrayLike | None = None) -> None:
        array = _read_mask(mask)
        if array.dtype.kind == "O":  # such as a pandas frame of nullable columns
            remedy = "Say True or False, or drop such rows"
            refuse_where(missing_mask(array), array, "mask must not be missing", remedy, axes=("row",))
            numbers = numbers_of_objects(array)
            array = array if numbers is None else numbers
        if array.dtype != np.bool_:
            such_as = f", such as {shown(array.reshape(-1)[0])}" if array.size else ""
            remedy = {
                "f": "Compare probabilities with a threshold first",
                "i": f"Convert a mask of 0 and 1 with .astype(bool). {LISTS_OF_LABELS}",
            }.get(array.dtype.kind, LISTS_OF_LABELS)
            raise InputError(
                f"mask must be bool, whether a label is in the set; got values of type {array.dtype}{such_as}. {remedy}"
            )
        if array.ndim not in (2, 3) or array.shape[1] < 2:
            raise InputError(f"mask must have shape (n, K), or (n, K, L) for L levels, K >= 2; got shape {array.shape}")
        if array.size == 0:
            raise InputError(f"there are no rows: mask is empty (shape {array.shape}); at least one row is needed")
        flat = array.ndim == 2
        # Bytes of a bool array other than 0 and 1, such as 255 of a viewed mask, are True but would not count as 1.
        held = np.ascontiguousarray((array[:, :, None] if flat else array).view(np.uint8) != 0)
        held.flags.writeable = False
        levels = None if level is None else _levels(level, held.shape[2], flat)
        self._hold(mask=held, levels=levels, single=flat)

    @property
    def K(self) -> int:
        """Number of labels."""
        return int(self.mask.shape[1])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of labels in each set, (n, L)."""
        bits = self.mask.view(np.uint8)
        if self.K > MAX_LABELS_ADDED_SINGLY:
            return np.asarray(bits.sum(axis=1, dtype=np.uint32), dtype=np.int64)
        total = bits[:, 0].copy()
        for k in range(1, self.K):  # NumPy is slow to sum along a short axis
            total += bits[:, k]
        return total.astype(np.int64)

    def at(self, level: float) -> Sets:
        """Return the sets of one level."""
        if self.levels is None:
            raise InputError("these sets have no level; pass Sets(mask, level)")
        k = slice(place := place_of(level, self.levels), place + 1)
        return self._with(mask=self.mask[:, :, k], levels=self.levels[k], single=True)

    @classmethod
    def of_columns(cls, kind: list[Any], columns: FloatArray) -> Sets:
        """Return the sets whose `columns` these are."""
        levels, single, K = kind[1:]
        if not np.isin(columns, (0.0, 1.0)).all():
            raise SummaryError("the columns of Sets must be 0 and 1")
        mask = columns.reshape(len(columns), K, -1) == 1
        return cls(mask[:, :, 0], None if levels is None else levels[0]) if single else cls(mask, levels)

    def columns(self) -> tuple[list[Any], FloatArray]:
        levels = None if self.levels is None else self.levels.tolist()
        return ["Sets", levels, self.single, self.K], self.mask.reshape(self.n, -1).astype(np.float64)

    def take(self, rows: Selection) -> Sets:
        return self._with(mask=self.mask[rows])

    def __repr__(self) -> str:
        if self.levels is None:
            return f"Sets(n={self.n}, K={self.K})"
        return f"Sets(n={self.n}, K={self.K}, {levels_shown(self.levels, self.single)})"


def _levels(level: Any, L: int, flat: bool) -> FloatArray:
    levels, one = read_levels(level)
    if flat and not one:
        raise InputError(f"a mask of shape (n, K) has one level; got {shown(level)}")
    if not flat and one:
        remedy = f". Pass level=[{levels[0]:.10g}], or mask[:, :, 0]" if L == 1 else ""
        number = "one level" if L == 1 else f"{L} levels"
        raise InputError(f"a mask of shape (n, K, {L}) needs a list of {number}; got {shown(level)}{remedy}")
    if levels.size != L:
        raise InputError(f"level must give one number per last axis of mask; got {levels.size} for {L}")
    return levels
