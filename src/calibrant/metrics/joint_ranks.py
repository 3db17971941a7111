"""Ranks of vectors among their draws."""

from __future__ import annotations

from typing import Any

from calibrant.catalogue.rank_verbs import rank_verb
from calibrant.errors import NotApplicableError
from calibrant.inputs import check_choice
from calibrant.inputs.outcomes import LawRows
from calibrant.primitives.coordinate_scale import coordinate_scale
from calibrant.primitives.member_ranks import member_ranks
from calibrant.primitives.members import Members
from calibrant.primitives.pre_ranks import pre_rank
from calibrant.primitives.ranked import Ranked

WORDS = {
    "mean_distance": "mean distance",
    "band_depth": "band depth",
    "average": "average rank",
    "multivariate": "multivariate rank",
    "spanning_tree": "spanning tree",
}
OF_DISTANCES = ("mean_distance", "spanning_tree")
OUTWARD = ("mean_distance", "band_depth", "spanning_tree")
DRAWN = {"laws": "Pass draws of it, Samples(law.sample(999, rng))"}


@rank_verb(predictions=("samples",), instead=DRAWN)
def joint_ranks(rows: LawRows, *, method: str = "mean_distance", scale: Any = "pooled", rng: Any = None) -> Ranked:
    r"""Rank of a vector among its draws, all coordinates at once: uniform on 0 to M if they are exchangeable.

    The outcome :math:`z_0 = y` and its draws :math:`z_1, \dots, z_M` get a score f that treats these m = M + 1 members
    alike, and the rank is :math:`\#\{j : f(z_j) < f(z_0)\}`, ties at random.

    =================  ==================================================  =======================
    method             f(z_i)                                              a high rank is
    =================  ==================================================  =======================
    ``mean_distance``  :math:`\sum_j \lVert z_i - z_j \rVert`              an outlying outcome
    ``band_depth``     :math:`-\sum_d (m - R_d)(R_d - 1)`                  an outlying outcome
    ``average``        :math:`\sum_d R_d`                                  large values
    ``multivariate``   #{j : z_j ≤ z_i in every coordinate}                large values
    ``spanning_tree``  minus the length of the shortest tree without z_i   an outlying outcome
    =================  ==================================================  =======================

    with :math:`R_d` the rank of z_i among the members in coordinate d, from 1, mean ranks for ties.

    Parameters
    ----------
    y
        Outcomes (n, D), vectors of two coordinates or more.
    prediction
        `Samples` of draws (n, M, D), those of row i in ``draws[i]``.
    method
        One of the above.
    scale
        What coordinates are divided by, for ``"mean_distance"`` and ``"spanning_tree"``; the others do not depend on
        it. ``"pooled"``: the standard deviation of all outcomes and draws of all rows; None: nothing; or an array (D,).
    rng
        Generator or seed that decides between tied scores; needed as soon as there are ties. ``"average"``,
        ``"multivariate"`` and ``"band_depth"`` have many, few draws make more.

    Returns
    -------
    ndarray of int64, shape (n,)

    Notes
    -----
    Ranks of single coordinates do not see whether their dependence is right; these do. ``summarize(joint_ranks, y,
    samples)`` makes the counts that `uniformity_test`, `ecdf_difference` and `rank_histogram` take. Outward scores
    (``mean_distance``, ``band_depth``, ``spanning_tree``): ranks that are mostly high mean draws that are too close
    together or in the wrong place, mostly low ones draws that are too far apart. They are nearly blind to a small bias.
    ``average`` sees errors of correlation best: too many extreme ranks mean that the draws have too little of it.
    Draws of the right marginal law that tell nothing about the row pass all of them.

    ``mean_distance`` costs M²D operations per row and ``spanning_tree`` M³, the others M log M and ``multivariate``
    M²D. In batches the pooled scale would be that of each batch: give `scale` as an array.

    References
    ----------
    Gneiting, Stanberry, Grimit, Held and Johnson (2008), Assessing probabilistic forecasts of multivariate quantities;
    Thorarinsdottir, Scheuerer and Heinz (2016), Assessing the calibration of high-dimensional ensemble forecasts using
    rank histograms.

    Examples
    --------
    The outcome is the far corner of a triangle with sides 3, 4 and 5, its distances add up to 5 + 4. Those of the draws
    add up to 5 + 3 and 4 + 3, less than that.

    >>> from calibrant import Samples
    >>> joint_ranks([[3.0, 4.0]], Samples([[[0.0, 0.0], [3.0, 0.0]]]), scale=None)
    array([2])
    """
    check_choice("method", method, *WORDS)
    if rows.law.shape in ((), (1,)):
        raise NotApplicableError(
            "joint_ranks judges vectors of two coordinates or more, and these outcomes have one. Use ranks"
        )
    members = Members.of(rows)
    if method not in OF_DISTANCES and isinstance(scale, str) and scale == "pooled":
        scale = None  # it would change nothing
    score = pre_rank(method, members, coordinate_scale(scale, members))
    found = member_ranks(score, members.n, rng, M=members.M, size=members.size, what=f"the {WORDS[method]}")
    return found._replace(outward=method in OUTWARD)
