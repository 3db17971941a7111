"""Goods that shops sell in a day, and quantile forecasts of how many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from example_data.network import AnyArrays, FloatArray, check_loss, new_network, quantiles, train
from numpy.typing import NDArray

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
PRODUCTS = np.array(["bread", "fruit", "ice cream"])
ICE_CREAM = 2
USUAL_SALES = np.array([160.0, 90.0, 60.0])
WEEKEND_FACTOR = np.array([1.25, 1.1, 1.5])
# How far the sales of a day lie from what would be expected, beyond what counting explains.
OVERDISPERSION = np.array([0.05, 0.15, 0.35])


@dataclass(frozen=True)
class Days:
    """The recorded features (`X`), the product, and how many were sold (`sold`)."""

    X: FloatArray
    product: NDArray[np.intp]
    sold: NDArray[np.int64]


def make_days(count: int, random: np.random.Generator) -> Days:
    """Make days of one product in one shop.

    The causal story, in order:

    1. Temperature follows the season, and rain keeps people at home. Both are known from the forecast of the weather.
    2. People buy more at weekends and when the price is cut; a holiday halves the sales. Ice cream sells by the
       temperature, more than in proportion.
    3. Sales are counts around that mean, spread wider than counts alone would be: bread hardly, ice cream much.
    """
    product = random.integers(0, len(PRODUCTS), count)
    season = random.random(count)
    warmth = np.sin(2.0 * np.pi * (season - 0.3)) + random.normal(0.0, 0.45, count)
    rain = random.gamma(0.5, 1.0, count)
    weekend = random.random(count) < 2.0 / 7.0
    holiday = random.random(count) < 0.04
    discount = random.beta(1.0, 4.0, count) * 0.4
    shop = random.normal(0.0, 0.3, count)  # how large the shop is
    noise = random.normal(0.0, 1.0, (count, 3))  # what is recorded and has no effect
    log_mean = (
        np.log(USUAL_SALES[product])
        + shop
        + np.where(product == ICE_CREAM, 0.6, 0.05) * warmth
        - 0.12 * rain * np.where(weekend, 1.5, 1.0)
        + weekend * np.log(WEEKEND_FACTOR[product])
        - 0.7 * holiday
        + np.where(product == ICE_CREAM, 2.5, 1.5) * discount
    )
    spread = OVERDISPERSION[product]
    mean = np.exp(log_mean) * random.gamma(1.0 / spread**2, spread**2)
    columns = [
        warmth,
        rain,
        weekend,
        holiday,
        discount,
        shop,
        np.sin(2.0 * np.pi * season),
        np.cos(2.0 * np.pi * season),
    ]
    return Days(np.column_stack([*columns, noise, np.eye(len(PRODUCTS))[product]]), product, random.poisson(mean))


def make_demand() -> AnyArrays:
    """Fit five quantiles to too few days, for too long, and forecast others.

    The network remembers part of the chance in the days it was fitted to, so that its quantiles lie too close
    together for days it has not seen.
    """
    random = np.random.default_rng(2718)
    training, held_out = make_days(900, random), make_days(3000, random)
    centre, spread = training.X.mean(axis=0), training.X.std(axis=0)
    log_sold = np.log1p(training.sold)
    middle, scale = log_sold.mean(), log_sold.std()
    network = new_network(training.X.shape[1], 16, len(LEVELS), random)
    train(network, (training.X - centre) / spread, check_loss((log_sold - middle) / scale, LEVELS), 800, decay=0.0002)
    found = quantiles(network.outputs((held_out.X - centre) / spread))
    # Single precision halves the file.
    values = np.expm1(middle + scale * found).astype(np.float32)
    return {
        "y": held_out.sold.astype(np.int16),
        "values": values,
        "levels": LEVELS,
        "product": PRODUCTS[held_out.product],
    }
