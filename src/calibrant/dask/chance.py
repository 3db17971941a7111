"""Chance as a whole number, which travels to the workers."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.inputs import generator


def whole(rng: Any) -> int:
    """Return the whole number that stands for this source of chance; a Generator gives one and goes on."""
    generator(rng)  # refuses what is none
    return int(rng.integers(2**63)) if isinstance(rng, np.random.Generator) else int(rng)
