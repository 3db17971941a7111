"""Trees in place of fixed regions: boosting learns where ranks deviate, and is tested on rows it has not seen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant.core.pvalues import holm, normal_sf
from calibrant.core.results import TestResult
from calibrant.errors import MissingExtraError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.ranking.effects import rank_effect, ranks_in_words, shaped
from calibrant.ranking.kept_ranks import KeptRanks

BLOCKS = 5
TREES, DEPTH = 40, 3
MIN_ROWS_OF_BLOCK = 20


def tree_test(kept: KeptRanks, data: Any, rng: np.random.Generator) -> TestResult:
    r"""Return the test by boosted trees, fitted to all blocks before and tested on the next.

    Each :math:`\sum F \hat f / \sqrt{\sum \hat f^2}` over a block has mean 0 and variance 1 given the blocks before, if
    ranks are uniform and unrelated; the sum of four over 2 is nearly standard normal, without redraws.
    """
    n = kept.n
    if n < BLOCKS * MIN_ROWS_OF_BLOCK:
        raise NotApplicableError(f'method="trees" needs at least {BLOCKS * MIN_ROWS_OF_BLOCK} rows; got {n}')
    x, w = data.covariates.numbers, data.w
    block = rng.permutation(n) * BLOCKS // n
    seed = int(rng.integers(2**31))
    z = np.array([_statistic(data.phi[:, data.rank[:, c]], x, w, block, seed) for c in range(data.rank.shape[1])])
    p = holm(np.array([normal_sf(float(value)) for value in z]))
    ranks = kept.counted[0]
    effect = rank_effect(ranks)
    return TestResult(
        statistic=float(z.max()),
        pvalue=float(p.min()),
        estimate=(shaped(effect.shift, ranks.single), shaped(effect.spread, ranks.single)),
        method=f"ranks against covariates; boosted trees, fitted to the blocks of rows before; {ranks_in_words(ranks)}",
        n=n,
        details={"names": ranks.names, "pvalue_each": shaped(p, ranks.single)},
    )


def _statistic(F: FloatArray, x: FloatArray, w: FloatArray, block: Any, seed: int) -> float:
    """Return the sum over blocks of the standardised products of F (K, n) and their predictions."""
    try:
        from sklearn.ensemble import GradientBoostingRegressor
    except ImportError:
        raise MissingExtraError('method="trees"', extra="sklearn") from None
    total = 0.0
    for b in range(1, BLOCKS):
        past, now = block < b, block == b
        products = squares = 0.0
        for f in F:
            model = GradientBoostingRegressor(n_estimators=TREES, max_depth=DEPTH, random_state=seed)
            fitted = model.fit(x[past], f[past], sample_weight=w[past]).predict(x[now])
            products += float((w[now] * f[now] * fitted).sum())
            squares += float(((w[now] * fitted) ** 2).sum())
        total += products / math.sqrt(squares) if squares > 0 else 0.0
    return total / math.sqrt(BLOCKS - 1)
