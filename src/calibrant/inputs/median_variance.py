"""The option that asks for median variance bins."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant.inputs.options import check_count


@dataclass(frozen=True)
class MedianVariance:
    """Bins of the simplex by median variance splits, for ``ece(notion="canonical", bins=MedianVariance())``.

    All rows are one set at first. The set with the largest variance of a component is cut at the median of that
    component, until no part could be cut without falling below `minsize` rows, or there are `maxbins` bins. So there
    are many bins where there are many predictions, whatever the number of classes. Rows are counted and their
    weights are not looked at, and equal predictions always share a bin. It needs all rows at once.

    Parameters
    ----------
    minsize
        Least number of rows in a bin, at least 1.
    maxbins
        Largest number of bins, at least 1; None for no limit.

    References
    ----------
    Widmann, Lindsten and Zachariah, Calibration tests in multi-class classification, NeurIPS 2019.

    Examples
    --------
    >>> MedianVariance(minsize=5)
    MedianVariance(minsize=5, maxbins=None)
    """

    minsize: int = 10
    maxbins: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "minsize", check_count("minsize", self.minsize))
        if self.maxbins is not None:
            object.__setattr__(self, "maxbins", check_count("maxbins", self.maxbins))
