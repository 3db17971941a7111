"""The size of blocks of rows, as an option."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from calibrant.errors import InputError, shown
from calibrant.inputs.options import MOST


def read_blocksize(blocksize: Any, n: int, *, unbiased: bool) -> int:
    """Return the number of rows of a block: a whole number, or what a function of n returns.

    It may exceed n: a batch of a stream can be smaller than a block.
    """
    try:
        m = blocksize(n) if callable(blocksize) else blocksize
    except TypeError as problem:
        raise InputError(f"blocksize must be a function of one number, the number of rows; {problem}") from None
    if isinstance(m, (bool, np.bool_)) or not isinstance(m, Integral):
        came = f"blocksize({n}) returned {shown(m)}" if callable(blocksize) else f"got {shown(m)}"
        raise InputError(
            f"blocksize must be a whole number or a function of n that returns one; {came}. Wrap it in int()"
        )
    m = int(m)
    least = 2 if unbiased else 1
    if m < least:
        which = "the unbiased estimator (unbiased=True)" if unbiased else "the biased estimator (unbiased=False)"
        raise InputError(f"blocksize must be at least {least} for {which}; got {shown(m)}")
    if m > MOST:
        raise InputError(f"blocksize must be at most {MOST:,}; got {shown(m)}")
    return m
