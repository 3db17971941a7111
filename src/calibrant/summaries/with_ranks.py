"""What summaries share that hold counts of ranks, and more that belongs to the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from calibrant.errors import SummaryError
from calibrant.summaries.base import Summary
from calibrant.summaries.ranks import Ranks


@dataclass(frozen=True, eq=False, repr=False)
class WithRanks(Summary):
    """Counts of ranks: of all rows together, or of parts of them."""

    parts: tuple[Ranks, ...]  # none: no rows yet

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(isinstance(part, Ranks) for part in self.parts):
            raise SummaryError(f"the parts of {type(self).__name__} must be Ranks")

    @property
    def fits(self) -> bool:
        """Whether there is one part, or none: what belongs to all rows belongs to it."""
        return len(self.parts) <= 1

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(part.n for part in self.parts)

    @property
    def ranks(self) -> Ranks:
        """The ranks of all rows."""
        return sum(self.parts, Ranks.zero())

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        """Build from decoded values, reading the nested summaries."""
        parts = tuple(Ranks.from_bytes(part) for part in values.get("parts", ()))
        return super()._checked({**values, "parts": parts})
