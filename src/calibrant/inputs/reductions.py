"""Reductions of class probabilities to one probability per row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.labels import read_classes
from calibrant.inputs.options import check_count
from calibrant.inputs.probabilities import Binary, Classes, read_probabilities

Pair = tuple[NDArray[np.bool_], NDArray[np.floating[Any]]]


def top_label(y: Any, prediction: Any, *, classes: Any = None) -> Pair:
    """Return whether the most probable class came true, and the probability it was given.

    Parameters
    ----------
    y
        Column numbers 0..K-1, or labels with `classes`.
    prediction
        Class probabilities of shape (n, K).
    classes
        The labels in the order of the columns.

    Returns
    -------
    correct, confidence
        A binary problem for every verb of one probability per row. Of tied classes the first wins.

    Examples
    --------
    >>> correct, confidence = top_label([0, 2], [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
    >>> correct.tolist(), confidence.tolist()
    ([True, False], [0.7, 0.6])
    """
    return _pair(_classes(y, prediction, classes, "top_label").top_label())


def one_vs_rest(y: Any, prediction: Any, k: Any, *, classes: Any = None) -> Pair:
    """Return whether class k came true, and the probability it was given.

    Parameters
    ----------
    y, prediction, classes
        As in `top_label`.
    k
        A column number, or one of `classes` when they are given.

    Examples
    --------
    >>> happened, probability = one_vs_rest([0, 2], [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]], 2)
    >>> happened.tolist(), probability.tolist()
    ([False, True], [0.1, 0.3])
    """
    rows = _classes(y, prediction, classes, "one_vs_rest")
    return _pair(rows.one_vs_rest(_column(k, rows.K, classes)))


def _column(k: Any, K: int, classes: Any) -> int:
    if np.ndim(k) != 0:
        raise InputError(f"k must be one class; got {shown(k)}")
    if classes is not None:
        names = read_classes(classes, expected=K, given_by=f"{K} columns")
        if k not in names:
            raise InputError("k must be one of {classes=names}; got {value}", names=names, value=k, option="k")
        return names.index(k)
    column = check_count("k", k, least=0)
    if column >= K:
        raise InputError(f"k must be a column number 0..{K - 1}; got {shown(k)}")
    return column


def _classes(y: Any, prediction: Any, classes: Any, verb: str) -> Classes:
    rows = read_probabilities(y, prediction, classes=classes)
    if isinstance(rows, Binary):
        raise InputError(f"{verb} reduces class probabilities of shape (n, K); got a 1-D prediction, which needs none")
    return rows


def _pair(rows: Binary) -> Pair:
    return rows.y.astype(bool), rows.p.copy()
