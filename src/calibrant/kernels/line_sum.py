"""Exact sums of one-dimensional kernels over sorted points, in O(n) operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks, on_threads, takes_fast_body
from calibrant.inputs.arrays import FloatArray
from calibrant.kernels.gaussian_line import gaussian_product, gaussian_sum
from calibrant.kernels.line_loops import compiled_inside, compiled_through

Shape = Literal["exponential", "matern32", "matern52", "gaussian"]

CHUNK = 1 << 17  # numbers of one piece of the reference body
FAST_CHUNK = 1 << 18
MIN_PIECE_COLUMNS = 1 << 12  # of a piece: the points are then worth their decays
LEAF = 64  # rows that the compiled body sums one after the other

FAR = 1000.0  # exp(-FAR) is 0, and so is FAR times that
RATES = {"exponential": 1.0, "matern32": sqrt(3), "matern52": sqrt(5)}


def line_sum(x: NDArray[Any], e: NDArray[Any], shape: Shape, lengthscale: float) -> float | FloatArray:
    """Return Q = Σ_ij e_i e_j k(x_i, x_j), the diagonal included.

    Parameters
    ----------
    x
        Points in ascending order along the last axis: (n,), or (b, m) for b lines that have nothing to do with
        each other.
    e
        Factors: (n,), (B, n) for B replicates over the same points, or (b, m).
    shape
        Profile of the kernel in u = |x_i - x_j| / lengthscale: e^-u, (1 + √3u) e^(-√3u),
        (1 + √5u + 5u²/3) e^(-√5u), or e^(-u²/2).
    lengthscale
        A length in units of x, above 0.

    Returns
    -------
    float or array
        A float for one line, else one number per row of e.

    Examples
    --------
    >>> import numpy as np
    >>> line_sum(np.array([0.0, 1.0]), np.array([1.0, 2.0]), "exponential", 0.5)  # 1 + 4 + 2·2·e^-2
    5.54134...
    """
    x, rows = _read(x, e)
    if shape == "gaussian":
        total = gaussian_sum(x, rows, lengthscale)
    else:
        scale = Scale.of(shape, lengthscale)
        total = _line_sum(x, rows, scale, _body(rows.size, scale))
    return float(total[0]) if e.ndim == 1 else total


def line_product(x: NDArray[Any], e: NDArray[Any], shape: Shape, lengthscale: float) -> FloatArray:
    """Return K e, the sums Σ_j k(x_i, x_j) e_j for every i, in the shape of e.

    The arguments are those of `line_sum`.

    Examples
    --------
    >>> import numpy as np
    >>> line_product(np.array([0.0, 1.0]), np.array([1.0, 2.0]), "exponential", 0.5).round(4)
    array([1.2707, 2.1353])
    """
    x, rows = _read(x, e)
    if shape == "gaussian":
        product = gaussian_product(x, rows, lengthscale)
    else:
        scale = Scale.of(shape, lengthscale)
        product = _line_product(x, rows, scale, _body(rows.size, scale))
    return product.reshape(e.shape)


def _read(x: NDArray[Any], e: NDArray[Any]) -> tuple[FloatArray, NDArray[Any]]:
    return x.astype(np.float64, copy=False), e[np.newaxis] if e.ndim == 1 else e


class Step(NamedTuple):
    """A way along the line: t = rate · distance / lengthscale, and the decay g = exp(-t)."""

    t: FloatArray
    g: FloatArray


class Scale(NamedTuple):
    """A kernel: the moments it needs (order 0, 1 or 2), and how it measures distances."""

    order: int
    rate: float
    lengthscale: float

    @classmethod
    def of(cls, shape: Shape, lengthscale: float) -> Scale:
        """Return the scale of a kernel by name."""
        return cls(tuple(RATES).index(shape), RATES[shape], lengthscale)

    def step(self, begin: FloatArray, end: FloatArray) -> Step:
        """Return the steps from points to later ones."""
        with np.errstate(over="ignore", under="ignore"):
            t = end - begin
            t /= self.lengthscale
            t *= self.rate
            np.minimum(t, FAR, out=t)
            return Step(t, np.exp(-t))


class Blocks(NamedTuple):
    """Runs of neighbouring rows, each with its two ends and the moments of its rows about them.

    The moments are Σ e g, Σ e t g and Σ e t² g (as many as the order of the kernel needs, along the first axis), where
    t is the scaled distance of a row to the end of its run and g = exp(-t).
    """

    first: FloatArray  # (..., runs)
    last: FloatArray
    about_first: FloatArray  # (order + 1, rows of e, runs)
    about_last: FloatArray

    def every_second(self, start: int) -> Blocks:
        """Return the left or the right partner of each pair of neighbours; a last run without partner is left out."""
        stop = self.first.shape[-1] // 2 * 2
        return Blocks(*(column[..., start:stop:2] for column in self))


class Joint(NamedTuple):
    """What two neighbouring runs have between them."""

    firsts: Step  # from first point to first point
    lasts: Step
    rightwards: FloatArray  # moments of the left run about the first point of the right one
    leftwards: FloatArray  # moments of the right run about the last point of the left one


def shifted(moments: FloatArray, step: Step) -> FloatArray:
    """Return the moments about a point that lies one step further away from the rows."""
    t, g = step
    moved: FloatArray = moments * g
    if moved.shape[0] > 1:
        rise = t * moved[0]
        if moved.shape[0] > 2:
            moved[2] += t * (2 * moved[1] + rise)
        moved[1] += rise
    return moved


def crossing(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return Σ e_i e_j k_ij over rows i and j on two sides of a point, from their moments about it."""
    total: FloatArray = left[0] * right[0]
    if left.shape[0] > 1:
        total += left[0] * right[1] + left[1] * right[0]
    if left.shape[0] > 2:
        total += (left[0] * right[2] + 2 * (left[1] * right[1]) + left[2] * right[0]) / 3
    return total


def arriving(moments: FloatArray) -> FloatArray:
    """Return Σ e_j k_ij at the points i that the moments are about."""
    weights = (1.0, 1.0, 1 / 3)[: moments.shape[0]]
    return np.asarray(sum(weight * moment for weight, moment in zip(weights, moments, strict=True)))


def climb(blocks: Blocks, scale: Scale) -> Iterator[tuple[Blocks, Joint, Blocks]]:
    """Join neighbouring runs two by two until one is left; yield the runs, their joints and the joined runs."""
    while (count := blocks.first.shape[-1]) > 1:
        left, right = blocks.every_second(0), blocks.every_second(1)
        gap = scale.step(left.last, right.first)
        rightwards, leftwards = shifted(left.about_last, gap), shifted(right.about_first, gap)
        if blocks.first is blocks.last:  # runs of one row
            joint = Joint(gap, gap, rightwards, leftwards)
            about_first, about_last = left.about_first + leftwards, right.about_last + rightwards
        else:
            firsts, lasts = scale.step(left.first, right.first), scale.step(left.last, right.last)
            joint = Joint(firsts, lasts, rightwards, leftwards)
            about_first = left.about_first + shifted(right.about_first, firsts)
            about_last = right.about_last + shifted(left.about_last, lasts)
        above = Blocks(left.first, right.last, about_first, about_last)
        if count % 2:
            above = Blocks(*(np.concatenate([a, b[..., -1:]], axis=-1) for a, b in zip(above, blocks, strict=True)))
        yield blocks, joint, above
        blocks = above


def summed(blocks: Blocks, scale: Scale) -> tuple[Blocks, FloatArray]:
    """Return all runs as one, and Σ e_i e_j k_ij over rows i < j of different runs."""
    total = np.zeros(blocks.about_first.shape[1])
    for below, joint, above in climb(blocks, scale):
        total += crossing(joint.rightwards, below.every_second(1).about_first).sum(axis=-1)
        blocks = above
    return blocks, total


def spread(blocks: Blocks, scale: Scale, before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Hand moments down to the runs: of all rows before a run about its first point, of all after about its last.

    `before` and `after` are those of the runs taken as one.
    """
    for below, joint, _ in reversed(list(climb(blocks, scale))):
        pairs = joint.rightwards.shape[-1]
        earlier, later = np.empty_like(below.about_first), np.empty_like(below.about_first)
        earlier[..., 0::2] = before
        earlier[..., 1::2] = shifted(before[..., :pairs], joint.firsts) + joint.rightwards
        later[..., 1::2] = after[..., :pairs]
        later[..., 0 : 2 * pairs : 2] = shifted(after[..., :pairs], joint.lasts) + joint.leftwards
        later[..., 2 * pairs :] = after[..., pairs:]
        before, after = earlier, later
    return before, after


class _Rows:
    """The reference body: each row is a run."""

    chunk = CHUNK

    def __init__(self, x: FloatArray, scale: Scale) -> None:
        self.x, self.order = x, scale.order

    def blocks(self, e: FloatArray) -> tuple[Blocks, FloatArray]:
        """Return the runs, and Σ e_i e_j k_ij over the rows i, j inside of each, i = j included."""
        moments = np.zeros((self.order + 1, *e.shape))
        moments[0] = e
        return Blocks(self.x, self.x, moments, moments), e * e

    def product(self, e: FloatArray, before: FloatArray, after: FloatArray) -> FloatArray:
        """Return K e from the moments of all rows outside of each run."""
        return e + arriving(before) + arriving(after)


class _Leaves:
    """The compiled body: up to `LEAF` rows are a run, and what happens inside of it is summed row by row."""

    chunk = FAST_CHUNK

    def __init__(self, x: FloatArray, scale: Scale) -> None:
        x = np.atleast_2d(x)
        self.first, self.last = x[:, ::LEAF], x[:, np.r_[LEAF - 1 : x.shape[1] - 1 : LEAF, x.shape[1] - 1]]
        self.steps = scale.step(x[:, :-1], x[:, 1:])
        self.order = scale.order

    def blocks(self, e: FloatArray) -> tuple[Blocks, FloatArray]:
        """Return the runs, and Σ e_i e_j k_ij over the rows i, j inside of each, i = j included."""
        shape = (e.shape[0], self.first.shape[-1])
        about_first, about_last = np.empty((2, self.order + 1, *shape))
        total = np.empty(shape)
        compiled_inside(self.order)(e, *self.steps, LEAF, total, about_first, about_last)
        return Blocks(self.first, self.last, about_first, about_last), total

    def product(self, e: FloatArray, before: FloatArray, after: FloatArray) -> FloatArray:
        """Return K e from the moments of all rows outside of each run."""
        result = np.empty_like(e)
        compiled_through(self.order)(e, *self.steps, LEAF, before, after, result)
        return result


Body = type[_Rows] | type[_Leaves]


def _body(size: int, scale: Scale) -> Body:
    if not takes_fast_body(size):
        return _Rows
    compiled_inside(scale.order), compiled_through(scale.order)  # once, before threads ask for them
    return _Leaves


class _Piece(NamedTuple):
    """Some replicates or lines, and some neighbouring columns of them."""

    rows: slice
    columns: slice
    number: int  # among the pieces of the same rows

    def of(self, array: NDArray[Any]) -> FloatArray:
        """Return a copy of the piece: compiled bodies see one memory layout only."""
        return np.array(array[(self.rows, self.columns)[-array.ndim :]], dtype=np.float64, order="C")


def _pieces(shape: tuple[int, ...], size: int) -> list[_Piece]:
    """Cut an array into pieces of about `size` numbers that pay for the decays of their columns."""
    rows, columns = shape
    wide = min(columns, max(size // rows, MIN_PIECE_COLUMNS))
    return [
        _Piece(part, column, number)
        for part in chunks(rows, max(1, size // wide))
        for number, column in enumerate(chunks(columns, wide))
    ]


def _for_each(work: Callable[[_Piece], None], pieces: list[_Piece], body: Body) -> None:
    if body is _Rows:
        for piece in pieces:
            work(piece)
    else:
        list(on_threads(lambda part: work(pieces[part.start]), len(pieces), size=1))


def _condensed(x: FloatArray, e: NDArray[Any], scale: Scale, body: Body) -> tuple[Blocks, FloatArray, list[_Piece]]:
    """Return each piece as one run, the sums inside of it, and the pieces."""
    pieces = _pieces(e.shape, body.chunk)
    count = pieces[-1].number + 1
    about_first, about_last = np.empty((2, scale.order + 1, e.shape[0], count))
    total = np.empty((e.shape[0], count))

    def work(piece: _Piece) -> None:
        blocks, inside = body(piece.of(x), scale).blocks(piece.of(e))
        whole, between = summed(blocks, scale)
        total[piece.rows, piece.number] = inside.sum(axis=-1) + 2 * between
        about_first[:, piece.rows, piece.number] = whole.about_first[..., 0]
        about_last[:, piece.rows, piece.number] = whole.about_last[..., 0]

    _for_each(work, pieces, body)
    columns = [piece.columns for piece in pieces[:count]]
    first, last = x[..., [c.start for c in columns]], x[..., [c.stop - 1 for c in columns]]
    return Blocks(first, last, about_first, about_last), total, pieces


def _line_sum(x: FloatArray, e: NDArray[Any], scale: Scale, body: Body) -> FloatArray:
    if e.size == 0:
        return np.zeros(e.shape[0])
    blocks, inside, _ = _condensed(x, e, scale, body)
    _, between = summed(blocks, scale)
    return np.asarray(inside.sum(axis=-1) + 2 * between)


def _line_product(x: FloatArray, e: NDArray[Any], scale: Scale, body: Body) -> FloatArray:
    result = np.empty(e.shape)
    if e.size == 0:
        return result
    blocks, _, pieces = _condensed(x, e, scale, body)
    nothing = np.zeros((scale.order + 1, e.shape[0], 1))
    before, after = spread(blocks, scale, nothing, nothing)

    def work(piece: _Piece) -> None:
        own = piece.of(e)
        bottom = body(piece.of(x), scale)
        runs, _ = bottom.blocks(own)
        outside = (moments[:, piece.rows, piece.number, np.newaxis] for moments in (before, after))
        result[piece.rows, piece.columns] = bottom.product(own, *spread(runs, scale, *outside))

    _for_each(work, pieces, body)
    return result
