"""What the coordinates of vectors are divided by before distances are taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.errors import InputError, shown
from calibrant.inputs.laws.parameters import read_array, refuse_where
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.dispatch import on_threads
from calibrant.primitives.members import Members

BITS = 20  # of a scale: enough, and few enough that the order in which its sum is taken does not show


def coordinate_scale(scale: Any, members: Members) -> FloatArray:
    """Return what each coordinate is divided by, (D,): its spread if `scale` is "pooled", 1 if it is None, or `scale`.

    >>> three = Members(np.array([[0.0, 5.0]]), np.array([[[1.0, 5.0], [2.0, 5.0]]]), np.dtype(np.float64))
    >>> coordinate_scale("pooled", three).round(6).tolist()  # 0, 1 and 2; a constant coordinate stays as it is
    [0.816497, 1.0]
    """
    if scale is None:
        return np.ones(members.D)
    if isinstance(scale, str):
        if scale != "pooled":
            raise InputError(f'scale must be "pooled", None or an array of shape ({members.D},); got {shown(scale)}')
        return _pooled(members)
    given = read_array(scale, "scale")
    if given.shape != (members.D,):
        raise InputError(
            f'scale must be "pooled", None or one number per coordinate, shape ({members.D},); got shape {given.shape}'
        )
    bad = ~(np.isfinite(given) & (given > 0))
    refuse_where(bad, given, "scale must be finite and above 0", "Leave out coordinates", axes=("coordinate",))
    return given


def _pooled(members: Members) -> FloatArray:
    """Return the standard deviation of each coordinate over all members of all rows, (D,); 1 where it is constant.

    It treats outcomes and draws alike, so ranks of whatever is divided by it stay uniform. It is rounded to 20 bits:
    neither the order of the rows nor that of the draws changes it.
    """
    ends = list(on_threads(lambda part: _ends(members.columns(part)), members.n, size=members.size))
    low, high = np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)
    centre, half = low / 2 + high / 2, high / 2 - low / 2  # no sum beyond float64
    unit = np.where(half > 0, half, 1.0)

    def moments(part: slice) -> FloatArray:
        u = members.columns(part)
        u -= centre[:, None, None]
        u /= unit[:, None, None]
        total = u.sum(axis=(1, 2))
        u *= u
        return np.stack([total, u.sum(axis=(1, 2))])

    first, second = sum(on_threads(moments, members.n, size=members.size), np.zeros((2, members.D)))
    count = members.n * (members.M + 1)
    variance = np.maximum(second / count - (first / count) ** 2, 0.0)  # at least 1/(2 count): both ends are members
    mantissa, exponent = np.frexp(np.sqrt(variance) * unit)
    scale = np.ldexp(np.rint(np.ldexp(mantissa, BITS)), exponent - BITS)
    return np.where((half > 0) & (scale > 0), scale, 1.0)


def _ends(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    return z.min(axis=(1, 2)), z.max(axis=(1, 2))
