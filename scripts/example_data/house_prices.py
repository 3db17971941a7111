"""Houses for sale, and split conformal intervals of what they fetch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from example_data.network import AnyArrays, FloatArray
from numpy.typing import NDArray

LEVELS = np.array([0.8, 0.9])
SIZES = np.array(["small", "medium", "large"])
SIZE_LIMITS = np.array([75.0, 140.0])  # square metres


@dataclass(frozen=True)
class Houses:
    """The recorded features (`X`), the size group, and what each house was sold for, in thousands (`price`)."""

    X: FloatArray
    size: NDArray[np.intp]
    price: FloatArray


def make_houses(count: int, random: np.random.Generator) -> Houses:
    """Make houses that were sold.

    The causal story, in order:

    1. Large houses stand further out, have more rooms and more land, and are older.
    2. The price per square metre falls with the distance from the centre, with age, and a little with the area itself.
       Very old houses are worth more again.
    3. What a small flat fetches is well known, as many are sold. Large houses are each their own: a view, a garden, a
       roof that leaks. None of it is recorded, so the larger the house, the less certain the price.
    """
    area = np.exp(random.normal(np.log(95.0), 0.45, count)).clip(25.0, 400.0)
    relative = np.log(area / 95.0)
    distance = random.gamma(2.0, 3.0 * np.exp(0.4 * relative))
    age = random.gamma(2.0, 20.0 * np.exp(0.2 * relative))
    land = np.where(random.random(count) < 0.25 + 0.4 * (area > 110.0), random.gamma(2.0, 250.0, count), 0.0)
    rooms = 1.0 + random.poisson(area / 30.0)
    log_price = (
        np.log(4.2)
        + 0.93 * np.log(area)
        - 0.035 * distance
        - 0.006 * np.minimum(age, 60.0)
        + 0.004 * np.maximum(age - 60.0, 0.0)
        + 0.03 * np.log1p(land)
        + 0.02 * np.minimum(rooms, 8.0)
    )
    unknown = 0.14 * np.exp(0.5 * relative) * random.normal(0.0, 1.0, count)
    X = np.column_stack(
        [np.ones(count), np.log(area), distance, age, np.maximum(age - 60.0, 0.0), np.log1p(land), rooms]
    )
    price: FloatArray = np.exp(log_price + unknown).round(1)
    return Houses(X, np.searchsorted(SIZE_LIMITS, area), price)


def conformal_radius(residuals: FloatArray, level: float) -> float:
    """Give the residual that a new one stays at or below with probability `level` at least."""
    rank = int(np.ceil((len(residuals) + 1) * level))
    return float(np.sort(residuals)[rank - 1])


def make_house_prices() -> AnyArrays:
    """Fit log prices by least squares, take radii from houses that were not used for it, and predict others.

    The intervals are those of split conformal prediction with absolute residuals on the log scale: right on average
    over all houses, whatever the model, and not for each kind of house.
    """
    random = np.random.default_rng(1973)
    training, calibration, held_out = (make_houses(count, random) for count in (1500, 4000, 3000))
    coefficients, *_ = np.linalg.lstsq(training.X, np.log(training.price), rcond=None)
    residuals = np.abs(np.log(calibration.price) - calibration.X @ coefficients)
    radius = np.array([conformal_radius(residuals, level) for level in LEVELS])
    centre = (held_out.X @ coefficients)[:, np.newaxis]
    return {
        "y": held_out.price,
        "lower": np.exp(centre - radius).round(1),
        "upper": np.exp(centre + radius).round(1),
        "levels": LEVELS,
        "calibration_size": np.array(len(residuals)),
        "size": SIZES[held_out.size],
    }
