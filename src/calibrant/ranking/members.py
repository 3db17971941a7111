"""An outcome and its draws as members of one set: if calibrated, any of them could be the outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.dispatch import on_threads
from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FloatArray, read_array, refuse_where
from calibrant.inputs.rows import DistributionRows
from calibrant.ranking.counting import Counts, Ranked, ranked

DRAWN = {"distributions": "Pass draws of it, Samples(distribution.sample(999, rng))"}
BLOCK = 1 << 18  # numbers in the rows that are processed together
BITS = 20  # of a scale: enough, and few enough that the order in which its sum is taken does not show


@dataclass(frozen=True, eq=False)
class Members:
    """The members z of each row, z_0 the outcome and z_1 to z_M its draws, to be had block by block."""

    y: FloatArray  # (n, D); numbers have D = 1
    draws: NDArray[Any]  # (n, M, D), as they came
    dtype: np.dtype[Any]  # the coarser of their types, in which both are meant

    @classmethod
    def of(cls, rows: DistributionRows) -> Self:
        distribution = rows.samples
        assert distribution is not None  # the only kind that verbs of members read
        held = distribution.held if distribution.finite else distribution.draws  # the second names the infinite one
        return cls(rows.y.reshape(rows.n, -1), held.reshape(rows.n, distribution.M, -1), rows.dtype)

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def M(self) -> int:
        return int(self.draws.shape[1])

    @property
    def D(self) -> int:
        return int(self.y.shape[1])

    @property
    def size(self) -> int:
        return max(1, BLOCK // ((self.M + 1) * self.D))

    def columns(self, part: slice) -> FloatArray:
        """Return z of these rows coordinate by coordinate, (D, r, M + 1)."""
        z = np.empty((self.D, len(self.y[part]), self.M + 1), self.dtype)
        with np.errstate(over="ignore"):
            z[:, :, 0] = self.y[part].T
            z[:, :, 1:] = self.draws[part].transpose(2, 0, 1)
        z = z.astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            fits = self.dtype == np.float64 or np.isfinite(z.sum()) or np.isfinite(z).all()
        if not fits:
            row = part.start + int(np.argmax(~np.isfinite(z).all(axis=(0, 2))))
            words = f"outcomes and draws are compared as {self.dtype}, and {{row}} goes beyond it. Pass both as float64"
            raise InputError(words, row=row)
        return z

    def block(self, part: slice) -> FloatArray:
        """Return z of these rows, (r, M + 1, D)."""
        return self.columns(part).transpose(1, 2, 0)


Score = Callable[[slice], NDArray[Any]]
"""From rows to the score of each of their members, (r, M + 1), that of the outcome first."""


def member_ranks(score: Score, n: int, rng: Any, *, M: int, size: int, what: str) -> Ranked:
    """Rank outcomes by their score, `size` rows at a time on all cores; ties at random."""
    less, equal = np.empty((2, n), np.int64)

    def work(part: slice) -> None:
        less[part], equal[part] = outcome_counts(score(part))

    for _ in on_threads(work, n, size=size):
        pass
    return ranked(less, equal, rng, M=M, what=f"{what} of the outcome equals that of draws")


def outcome_counts(scores: NDArray[Any]) -> tuple[Counts, Counts]:
    """Return how many draws of each row score less than the outcome, and how many the same."""
    own, others = scores[:, :1], scores[:, 1:]
    return np.count_nonzero(others < own, axis=1), np.count_nonzero(others == own, axis=1)


Scale: TypeAlias = Literal["pooled"] | ArrayLike | None


def check_scale(scale: object) -> None:
    """Refuse a word other than "pooled"; what fits the coordinates is known later."""
    if isinstance(scale, str) and scale != "pooled":
        raise InputError(f'scale must be "pooled", None or an array of shape (D,); got {shown(scale)}')


def coordinate_scale(scale: Scale, members: Members) -> FloatArray:
    """Return what each coordinate is divided by, (D,): its spread, 1 if `scale` is None, or what was given."""
    if scale is None:
        return np.ones(members.D)
    if isinstance(scale, str):
        return _pooled(members)
    given = read_array(scale, "scale")
    if given.shape != (members.D,):
        raise InputError(
            f'scale must be "pooled", None or one number per coordinate, shape ({members.D},); got shape {given.shape}'
        )
    bad = ~(np.isfinite(given) & (given > 0))
    refuse_where(bad, given, "scale must be finite and above 0", "Leave out coordinates", axes=("coordinate",))
    return given


def _pooled(members: Members) -> FloatArray:
    """Return the standard deviation of each coordinate over all members of all rows, (D,); 1 where it is constant.

    It treats outcomes and draws alike, so ranks of whatever is divided by it stay uniform. It is rounded to 20 bits:
    neither the order of the rows nor that of the draws changes it.
    """

    def ends(part: slice) -> FloatArray:
        z = members.columns(part)
        return np.stack([z.min(axis=(1, 2)), z.max(axis=(1, 2))])

    lows, highs = np.stack(list(on_threads(ends, members.n, size=members.size)), axis=1)
    low, high = lows.min(axis=0), highs.max(axis=0)
    centre, half = low / 2 + high / 2, high / 2 - low / 2  # no sum beyond float64
    unit = np.where(half > 0, half, 1.0)

    def moments(part: slice) -> FloatArray:
        u = members.columns(part)
        u -= centre[:, None, None]
        u /= unit[:, None, None]
        total = u.sum(axis=(1, 2))
        u *= u
        return np.stack([total, u.sum(axis=(1, 2))])

    first, second = sum(on_threads(moments, members.n, size=members.size), np.zeros((2, members.D)))
    count = members.n * (members.M + 1)
    variance = np.maximum(second / count - (first / count) ** 2, 0.0)  # at least 1/(2 count): both ends are members
    mantissa, exponent = np.frexp(np.sqrt(variance) * unit)
    scale = np.ldexp(np.rint(np.ldexp(mantissa, BITS)), exponent - BITS)
    return np.where((half > 0) & (scale > 0), scale, 1.0)
