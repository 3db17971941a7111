"""An order of points that does not depend on the order in which they came."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray


def point_order(Z: FloatArray) -> NDArray[np.intp]:
    """Return the rows of points from small to large by their first coordinate, then by the second, and so on.

    Numbers become bytes of the same order, and rows of bytes are sorted at once, however many coordinates there are.

    >>> point_order(np.array([[2.0, 0.0], [-1.0, 5.0], [2.0, -3.0]])).tolist()
    [1, 2, 0]
    """
    bits = np.ascontiguousarray(Z + 0.0).view(np.int64)  # -0 becomes 0
    keys = np.where(bits < 0, ~bits, bits ^ np.iinfo(np.int64).min).astype(">i8")
    return np.argsort(keys.view(np.dtype((np.void, 8 * Z.shape[1])))[:, 0])
