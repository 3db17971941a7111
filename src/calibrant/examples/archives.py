"""The files that hold the examples."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray


def load(name: str) -> dict[str, NDArray[Any]]:
    """Read every array of one example file."""
    path = files("calibrant.examples").joinpath(name)
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        return dict(archive)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only, so that one user of an example cannot change it for another."""
    array.setflags(write=False)
    return array
