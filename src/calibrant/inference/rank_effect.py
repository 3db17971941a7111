"""What uneven ranks say about predictions, in units of the predictive standard deviation."""

from __future__ import annotations

from math import pi, sqrt
from typing import NamedTuple

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.legendre import legendre
from calibrant.summaries.ranks import Ranks

SHIFT = sqrt(pi / 3)  # predictive standard deviations per mean of φ_1, Gaussian and to first order
SPREAD = pi / sqrt(15)  # log spread per mean of φ_2


class Effect(NamedTuple):
    """Components of the ranks and what they mean, one entry per column.

    `shift` is in predictive standard deviations, positive if predictions are too high. `spread` is the factor that the
    predictive spread needs: above 1 if predictions are too narrow.
    """

    Z: FloatArray  # (K, C): Σ w φ_k(r) / sqrt(Σ w²), of mean 0 and variance 1 if ranks are uniform
    shift: FloatArray  # (C,)
    spread: FloatArray  # (C,), NaN if M = 1, where two ranks tell nothing of it


def rank_effect(ranks: Ranks) -> Effect:
    r"""Return the components Z of the ranks and the shift and spread that they stand for.

    With φ_k of `legendre` and n rows of weight 1,

    .. math:: Z_k = \frac1{\sqrt n} \sum_i \varphi_k(r_i), \qquad
              \text{shift} = -\sqrt{\pi/3}\, Z_1/\sqrt n, \qquad
              \text{spread} = \exp\bigl((\pi/\sqrt{15})\, Z_2/\sqrt n\bigr),

    exact to first order if predictions are Gaussian and draws many. With weights n is (Σw)²/Σw². For few draws or large
    errors see `normal_errors`, which has intervals too.

    >>> found = rank_effect(Ranks.of([0, 1, 2, 3], M=3))
    >>> float(abs(found.shift[0])), float(found.spread[0].round(12))
    (0.0, 1.0)
    """
    total, squares = ranks.weight[:, 0].sum(), ranks.weight2[:, 0].sum()
    phi = legendre(ranks.M)
    Z = phi @ ranks.weight / np.sqrt(squares)  # (K, C)
    root_n = float(total / np.sqrt(squares))
    shift = -SHIFT * Z[0] / root_n
    log_spread = SPREAD * Z[1] / root_n if len(phi) > 1 else np.full(ranks.C, np.nan)
    return Effect(Z, shift, np.exp(log_spread))
