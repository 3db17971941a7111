"""Chance of a batch's own.

A verb that decides something by chance for each row gets the same `rng` with every batch. If that is a number, every
batch would be decided by the same random numbers, and their sum would be no sum of independent parts.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.columns import Batch
from calibrant.inputs.options import seed_of

CHANCE = "rng"


def with_own_chance(options: Mapping[str, Any], batch: Batch) -> Mapping[str, Any]:
    """Return the options, with a generator of the batch's own in place of a number as `rng`.

    It is made of that number, the number of the batch and a checksum of its rows: of its rows too, because batches of
    several processes may have the same number.

    >>> batches = [Batch([0, 1], [0.25, 0.5], number=k) for k in (0, 0, 1)]
    >>> first, same, other = (with_own_chance({"rng": 7}, batch)["rng"].random() for batch in batches)
    >>> first == same, first == other
    (True, False)
    """
    seed = options.get(CHANCE)
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        return options
    digest = 0
    for array in _arrays(batch):
        digest = zlib.crc32(_bytes(array), digest)
    return {**options, CHANCE: np.random.default_rng([int(seed), batch.number, digest])}


def that_travels(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that all batches may share, wherever they are: a Generator gives a number and goes on."""
    rng = options.get(CHANCE)
    return dict(options) if rng is None else {**options, CHANCE: seed_of(rng)}


def _arrays(batch: Batch) -> Iterator[NDArray[Any]]:
    """Yield the arrays of outcomes and prediction."""
    if batch.y is not None:
        yield np.asarray(batch.y)
    prediction = batch.prediction
    if isinstance(prediction, (np.ndarray, list, tuple)) or not hasattr(prediction, "__dict__"):
        yield np.asarray(prediction)
    else:
        yield from (value for value in vars(prediction).values() if isinstance(value, np.ndarray))


def _bytes(array: NDArray[Any]) -> bytes:
    return repr(array.tolist()).encode() if array.dtype.hasobject else np.ascontiguousarray(array).tobytes()
