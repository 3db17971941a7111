"""A second source of chance that does not repeat the first."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.inputs import generator


def own_stream(rng: Any) -> np.random.Generator:
    """Return chance for what comes after ties were broken with the same `rng`; None counts as 0.

    A Generator goes on where it stands. A whole number would start again with the very numbers that have decided the
    ties, so that a child of its stream is taken.

    >>> float(own_stream(0).random()) == float(np.random.default_rng(0).random())
    False
    """
    source = generator(0 if rng is None else rng)
    return source if source is rng else source.spawn(1)[0]
