"""One summary per class or predicted label: the notions of calibration that look at each label by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from calibrant.errors import SummaryError
from calibrant.inputs import Binary, Classes
from calibrant.summaries.base import Summary


@dataclass(frozen=True, eq=False, repr=False)
class PerLabel(Summary):
    """Summaries of the binary problems of a notion, in the order of the labels.

    `notion` is "classwise" (class k against the rest, over all rows) or "top-label" (the rows that predict k).
    """

    notion: str
    parts: tuple[Summary, ...]

    @classmethod
    def of(cls, rows: Classes, notion: str, summarise: Callable[[Binary], Summary]) -> Self:
        """Reduce to one binary problem per label and summarise each."""
        if notion == "classwise":
            return cls(notion, tuple(summarise(rows.one_vs_rest(k)) for k in range(rows.K)))
        return cls(notion, tuple(summarise(part) for part in rows.by_predicted_label()))

    @classmethod
    def zero(cls) -> Self:
        """Return the summary of no rows, of no labels."""
        return cls("", ())

    def merged(self, other: Self) -> Self:
        """Merge label by label."""
        if not self.parts or not other.parts:
            return other if not self.parts else self
        if self.notion != other.notion or len(self.parts) != len(other.parts):
            raise SummaryError(
                f"a {self.notion} summary of {len(self.parts)} labels does not merge with "
                f"a {other.notion} summary of {len(other.parts)}"
            )
        return type(self)(self.notion, tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return any(part.grows for part in self.parts)

    @property
    def n(self) -> int:
        """Number of rows."""
        if self.notion == "classwise":
            return self.parts[0].n
        return sum(part.n for part in self.parts)

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        """Build from decoded values, reading the nested summaries."""
        parts = tuple(Summary.from_bytes(part) for part in values.get("parts", ()))
        return super()._checked({**values, "parts": parts})
