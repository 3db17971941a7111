"""Quantities of one's own, of which an outcome and its draws have a value each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown

Quantity = Callable[..., Any]


def read_quantities(quantity: Any) -> dict[str, Quantity]:
    """Return quantities by their names; a function by itself has the name it was defined with, "" for a lambda."""
    if callable(quantity):
        name = getattr(quantity, "__name__", "")
        return {"" if name == "<lambda>" else str(name): quantity}
    if not isinstance(quantity, Mapping) or not quantity:
        raise InputError(
            f"quantity must be a function of the members z, or a mapping from names to such functions; got "
            f"{shown(quantity)}"
        )
    for name, f in quantity.items():
        if not isinstance(name, str) or not callable(f):
            raise InputError(f"quantity must map names to functions; got {shown(name)}: {shown(f)}")
    return dict(quantity)


def takes_covariates(f: Quantity) -> bool:
    """Tell whether a function is f(z, x): whether it has a second argument without a default.

    >>> takes_covariates(lambda z, x: z), takes_covariates(lambda z: z), takes_covariates(np.abs)
    (True, False, False)
    """
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):  # some built-in functions do not tell
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters) > 1


def values_of(name: str, f: Quantity, z: NDArray[Any], x: Any) -> NDArray[Any]:
    """Return the values of all members, (n, M + 1), from z (n, M + 1, D) or (n, M + 1); x None is left out.

    f is asked a second time with the members of one row moved round, and their values must move with them.
    """
    given = () if x is None else (x,)
    found = _asked(name, f, z, given).copy()  # f may write its next values into the same array
    row = _most_various(z)
    turned = z.copy()
    turned[row] = np.roll(z[row], 1, axis=0)
    again = _asked(name, f, turned, given)[row]
    if not _same(again, np.roll(found[row], 1), z.dtype):
        raise InputError(
            "{name} must treat the outcome, z[:, 0], and the draws alike: a value may depend on its member, "
            "on the set of members of its row and on x. The values of {row} did not move with its members",
            name=_named(name),
            row=row,
        )
    return found


def _asked(name: str, f: Quantity, z: NDArray[Any], given: tuple[Any, ...]) -> NDArray[Any]:
    z.flags.writeable = False
    values = np.asarray(f(z.view(), *given))  # of a view nobody can make it writeable
    n, m = z.shape[:2]
    if values.shape != (n, m):
        raise InputError(
            f"{_named(name)} must return one value per row and member, shape (n, M + 1) = ({n}, {m}), from z of shape "
            f"{z.shape}; got shape {values.shape}"
        )
    if values.dtype.kind not in "biuf":
        raise InputError(f"{_named(name)} must return real numbers; got values of type {values.dtype}")
    bad = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    if bad.any():
        row, member = np.unravel_index(int(np.argmax(bad)), bad.shape)
        which = "the outcome" if member == 0 else f"draw {int(member) - 1}"
        raise InputError(
            "{name} must not be missing; it is nan at {which} of {row}", name=_named(name), which=which, row=int(row)
        )
    return _native(values)


def _native(values: NDArray[Any]) -> NDArray[Any]:
    """Return values in a type that compiled code knows."""
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        return values.astype(np.float32 if values.dtype.itemsize < 4 else np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _most_various(z: NDArray[Any]) -> int:
    """Return a row whose outcome differs from its last draw, so that moving them round shows."""
    differs = (z[:, 0] != z[:, -1]).reshape(len(z), -1).any(axis=1)
    return int(np.argmax(differs))


def _same(a: NDArray[Any], b: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Tell whether values are equal up to what sums taken in another order leave."""
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    coarser = dtype if np.finfo(dtype).eps > np.finfo(a.dtype).eps else a.dtype
    finite = np.isfinite(b)
    size = float(np.abs(b[finite]).max(initial=0.0))
    with np.errstate(invalid="ignore"):  # inf - inf, where both are the same
        near = np.abs(a - b) <= np.sqrt(np.finfo(coarser).eps) * size
    return bool((near | (a == b)).all())


def _named(name: str) -> str:
    return f"quantity {name!r}" if name else "quantity"
