"""Several summaries of the same rows, that travel together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from calibrant.errors import SummaryError
from calibrant.summaries.base import Summary


@dataclass(frozen=True, eq=False, repr=False)
class Several(Summary):
    """Summaries under names, each merged with that of the same name."""

    names: tuple[str, ...]
    parts: tuple[Summary, ...]

    @classmethod
    def of(cls, parts: Mapping[str, Summary]) -> Self:
        """Return these summaries as one."""
        return cls(tuple(parts), tuple(parts.values()))

    @classmethod
    def zero(cls) -> Self:
        """Return the summary of no rows, without names."""
        return cls((), ())

    def merged(self, other: Self) -> Self:
        """Merge name by name."""
        if not self.names or not other.names:
            return other if not self.names else self
        if self.names != other.names:
            raise SummaryError(f"summaries of {self.names} do not merge with summaries of {other.names}")
        return type(self)(self.names, tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    def __getitem__(self, name: str) -> Summary:
        return self.parts[self.names.index(name)]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return any(part.grows for part in self.parts)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.parts[0].n if self.parts else 0

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        """Build from decoded values, reading the nested summaries."""
        parts = tuple(Summary.from_bytes(part) for part in values.get("parts", ()))
        return super()._checked({**values, "parts": parts})
